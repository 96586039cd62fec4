"""Rank your own data: read a file, bound what each person adds, release with exact noise.

Nothing here takes a seed, and no floating point touches the data: counts are whole numbers, the
noise is drawn in whole numbers from the bits of the operating system, and its scale is a fraction.
The command ``dpbook rank`` is this package on the command line.
"""

from dpbook.rank.answers import Answers
from dpbook.rank.names import BadFile
from dpbook.rank.promise import Promise
from dpbook.rank.rank import rank_privately
from dpbook.rank.reading import from_frame, read_answers
from dpbook.rank.release import Release

__all__ = [
    "Answers",
    "BadFile",
    "Promise",
    "Release",
    "from_frame",
    "rank_privately",
    "read_answers",
]
