"""``python -m dpbook``, and the command ``dpbook``."""

from __future__ import annotations

import sys


def main() -> int:
    """Hand over to the book's command line; say what to install if it cannot start.

    ``dpbook rank`` needs no book, and none of its tools.
    """
    if sys.argv[1:2] == ["rank"]:
        from dpbook.rank.command import main as rank

        return rank(sys.argv[2:])
    try:
        from dpbook.book.cli import main as run

        return run()
    except ModuleNotFoundError as error:
        sys.exit(f"dpbook: {error}; install the book's tools: pip install 'dpbook[book]'")


if __name__ == "__main__":
    sys.exit(main())
