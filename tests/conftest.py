"""Before any test: `full_data` takes DPBOOK_DATA away, so that no test sees it by chance.

No property is tested against a clock: a busy machine, or a library that loads, takes its time.
"""

import full_data  # noqa: F401
from hypothesis import HealthCheck, settings

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
