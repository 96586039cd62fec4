"""The statement that goes with a release: which sentences of ``statement.txt`` are said of it."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from importlib.resources import files
from math import ceil, exp
from typing import Any

from dpbook.rank.answers import Read

TOGETHER = 0.95  # probability with which all ranges of ranks hold at once


@cache
def _sentences() -> list[tuple[str, list[str], str]]:
    """The section, the words that must be true, and the sentence."""
    text = files("dpbook.rank").joinpath("statement.txt").read_text(encoding="utf-8")
    found = []
    section = ""
    for line in text.splitlines():
        when, bar, sentence = line.partition("| ")
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif bar:
            words = [word.strip() for word in when.split(",")]
            found.append((section, words, sentence))
    return found


def statement_of(release: Any) -> tuple[str, str, str]:
    """What those who answered may read, and two lines of it for a screen."""
    promise = release.promise
    noise = release.noise
    cases = {
        "": True,
        "listed": release.listed,
        "known": promise.has_persons,
        "once": promise.repeats == "one" and promise.kind != "rankings",
        "delta": noise.delta > 0,
        "people": release.people is not None,
        "file": release.read != Read(),
        "one": promise.only == 1,
        "numbers": promise.only is None,
    }
    true = {word for word, holds in cases.items() if holds}
    true |= {promise.protect, promise.relation, promise.kind, promise.unranked}
    true |= {promise.statistic, release.sampler}
    said: dict[str, Any] = defaultdict(str)
    said |= vars(promise) | {
        "delta": noise.delta,
        "right": _right(float(promise.epsilon), noise.delta),
        "people": release.people,
        "noise": noise.words,
        "l1": promise.l1,
        "together": TOGETHER,
        "read": ", ".join([release.read.words, *release.read.typed]),
    }
    for section, words, sentence in _sentences():
        if all(_holds(word, true) for word in words):
            before = said[section]
            said[section] = f"{before} {sentence.format_map(said)}".strip()
    return said["statement"], said["protected"], said["not protected"]


def _holds(word: str, true: set[str]) -> bool:
    return (word.removeprefix("not ") in true) != word.startswith("not ")


def _right(epsilon: float, delta: float) -> float:
    """How often in 100 a guess between two data sets is right, rounded up."""
    low = exp(-epsilon)
    share = (1 + delta * low) / (1 + low)
    return min(ceil(10_000 * share), 10_000) / 100
