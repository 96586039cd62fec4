"""Names that people write: when two are the same, what may be shown, and what refuses a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NoReturn
from unicodedata import category, normalize

MOST_ITEMS = 10_000
ODD = re.compile("[\ud800-\udfff]")  # what stands for a byte of another encoding
JOINERS = "\u200c\u200d"  # they join letters, in Persian and in emoji, and are letters
_INVISIBLE = [c for c in map(chr, range(2**16)) if category(c) == "Cf"]
BLANKS = "".join(filter(str.isspace, map(chr, range(2**16)))) + "".join(_INVISIBLE)


class BadFile(ValueError):
    """A file that cannot be read: names the file, the lines, the values, and what is allowed.

    The message quotes the data: it is for their keeper, not for publication.
    """


def fail(name: str, what: str, allowed: str) -> NoReturn:
    """Refuse a file."""
    raise BadFile(f"{name}: {what}: allowed is {allowed}")


def clean_name(name: str) -> str:
    """A name without what cannot be seen around it, in one spelling of its accents."""
    name = name.strip(BLANKS)
    return name if name.isascii() else normalize("NFC", name)


def printable(name: str) -> bool:
    """Whether a name says something, and nothing to a terminal."""
    inside = clean_name(name)
    hidden = any(category(c) in ("Cc", "Cf", "Cs") for c in inside if c not in JOINERS)
    return bool(inside) and not hidden


def public_items(items: object) -> tuple[str, ...]:
    """Names of items that may be printed: 2 or more, all different, without control characters."""
    names = [] if isinstance(items, str | bytes) else list(items)  # type: ignore[call-overload]
    for name in names:
        if not isinstance(name, str) or not printable(name):
            allowed = "allowed are names, not empty and without control characters"
            raise ValueError(f"items contains {name!r:.60}: {allowed}")
    clean = [clean_name(name) for name in names]
    for name, times in Counter(clean).items():
        if times > 1:
            raise ValueError(f"items contains {name!r:.60} more than once: allowed is once")
    if not 2 <= len(clean) <= MOST_ITEMS:
        raise ValueError(f"items has {len(clean)} names: allowed are 2 to {MOST_ITEMS} items")
    return tuple(clean)


def alike(names: Iterable[str]) -> list[list[str]]:
    """Groups of names that differ only in case, blanks, forms of letters, or invisible signs."""
    groups: dict[str, list[str]] = {}
    for name in names:
        seen = normalize("NFKC", name).casefold()
        key = "".join(c for c in seen if c not in BLANKS)
        groups.setdefault(key, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def text_of(value: Any) -> str:
    """A value of a table as text; "" for what is missing, "7" for a whole float."""
    if isinstance(value, str):
        return value
    text = str(value)
    if text in ("None", "nan", "<NA>", "NaT"):
        return ""
    return text.removesuffix(".0")  # a column with something missing has floats


def fraction_of(text: str) -> Fraction:
    """The fraction that a text says exactly; else a ValueError, as where it would never end."""
    if len(text) > 80 or not re.fullmatch(r"[^eE]*([eE][+-]?\d\d?)?", text):
        raise ValueError
    return Fraction(text)


def short(value: str) -> str:
    """A value in quotes, without its middle where it is long."""
    if len(value) > 40:
        value = f"{value[:20]}...{value[-17:]}"
    return repr(value)


def plain(text: str) -> str:
    """What a terminal shows, and does not obey."""
    return "".join(c if c.isprintable() or c in "\n" + JOINERS else "\ufffd" for c in text)
