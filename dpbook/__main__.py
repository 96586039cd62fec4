"""``python -m dpbook``, and the command ``dpbook``."""

from __future__ import annotations

import sys

from dpbook import __version__


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
        advice = f"{error}; for the book: pip install '.[book]' in the sources"
        if {*sys.argv[1:]} - {"-h", "--help", "--version"}:
            sys.exit(f"dpbook: {advice}")
        print(f"dpbook {__version__}\ndpbook rank --help: rank your own data privately\n({advice})")
        return 0


if __name__ == "__main__":
    sys.exit(main())
