"""Before any test: `full_data` takes DPBOOK_DATA away, so that no test sees it by chance."""

import full_data  # noqa: F401
