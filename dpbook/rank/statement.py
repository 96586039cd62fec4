"""The statement that goes with a release: which sentences of ``statement.txt`` are said of it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from math import ceil, exp

from dpbook.rank.answers import Read
from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise

TOGETHER = 0.95  # probability with which all ranges of ranks hold at once
STATISTICS = {
    "net": "net wins: wins minus losses of each item",
    "pairs": "how often each item won against each other item",
}
_ARRAYS = Read()
_BITS = {
    "book": "whole numbers drawn from the randomness of the operating system",
    "opendp": "drawn by OpenDP",
    "repeatable": "drawn from a repeatable source: A DEMONSTRATION, NOT A RELEASE",
}


@cache
def _sentences() -> dict[str, list[tuple[str, str]]]:
    """When each sentence is said, and the sentence, by sections."""
    text = files("dpbook.rank").joinpath("statement.txt").read_text(encoding="utf-8")
    found: dict[str, list[tuple[str, str]]] = {}
    for part in text.split("\n## ")[1:]:
        head, *lines = part.strip().splitlines()
        pairs = [line.partition(" | ") for line in lines if line]
        found[head] = [(when.strip(), sentence) for when, _, sentence in pairs]
    return found


def statement_of(
    promise: Promise,
    noise: Noise,
    *,
    listed: bool,
    sampler: str,
    people: int | None = None,
    read: Read = _ARRAYS,
) -> tuple[str, tuple[str, str]]:
    """What those who answered may read, and two lines of it for a screen."""
    person = promise.protect == "person"
    true = {
        promise.protect,
        promise.relation,
        promise.kind,
        promise.unranked,
        "listed" if listed else "",
        "vouched" if promise.vouched else "",
        "drawn" if person and not promise.vouched else "",
        "delta" if noise.delta else "",
        "people" if people is not None else "",
        "file" if read != _ARRAYS else "",
        {None: "numbers", 1: "one"}.get(promise.only, "several"),
    }
    values = _values(promise, noise, sampler) | {"people": people}
    values["read"] = read.words + "".join(f", {option}" for option in read.typed)

    def said(section: str) -> list[str]:
        return [
            sentence.format(**values)
            for when, sentence in _sentences()[section]
            if all(_holds(word.strip(), true) for word in when.split(",") if word)
        ]

    first, second = said("short")
    return " ".join(said("statement")), (first, second)


def _holds(word: str, true: set[str]) -> bool:
    if word.startswith("not "):
        return word.removeprefix("not ") not in true
    return word in true


def _values(promise: Promise, noise: Noise, sampler: str) -> dict[str, object]:
    """What stands in braces."""
    person = promise.protect == "person"
    ranked = promise.kind == "rankings"
    there = promise.relation == "add_remove"
    low = exp(-float(promise.epsilon))
    right = min(ceil(10_000 * (1 + noise.delta * low) / (1 + low)), 10_000) / 100
    limit = promise.max_answers or 1
    unit = "ranking" if ranked else "answer"
    by = f"(delta = {noise.delta:.6g})" if noise.delta else "(pure, delta = 0)"
    bound = "no result is more than e^epsilon times as probable with one as with the other"
    if noise.delta:
        bound = (
            "no set of results has a probability of more than e^epsilon times that with the other "
            "plus delta: in rare cases more may be lost"
        )
    who = "any one comparison, but not all answers of a person"
    if person:
        who = "all answers of any one person"
    bits = "from a repeatable source" if sampler == "repeatable" else "by the operating system"
    one_pair = not ranked and promise.repeats == "one"
    return {
        "demonstration": "A DEMONSTRATION, NOT A RELEASE. " if sampler == "repeatable" else "",
        "who": who,
        "by": f"epsilon = {promise.epsilon} {by}",
        "guess": "whether they were there" if there else "at a change",
        "right": f"{right:.6g}",
        "n_items": promise.n_items,
        "differ": _differ(promise, unit),
        "bound": bound,
        "limit": f"{limit} {unit}{'s' if limit > 1 else ''}",
        "s": "" if limit > 1 else "s",
        "bits": bits,
        "of_a_pair": "; of several about one pair, one" if one_pair else "",
        "only": promise.only,
        "statistic": STATISTICS["net" if promise.only else promise.statistic],
        "noise": f"{noise.words} ({_BITS[sampler]})",
        "why": _why(promise, noise, sampler),
        "together": TOGETHER,
    }


def _differ(promise: Promise, unit: str) -> str:
    """How neighbouring data sets differ."""
    person = promise.protect == "person"
    if promise.relation == "add_remove":
        what = f"person, whose {unit}s are" if person else "comparison, which is"
        return f"differ by one {what} in one of them and not in the other"
    if person:
        others = "which may become any others about these items, fewer or none"
        return f"differ in the {unit}s of one person, {others}"
    return "differ in one comparison, which may become any other about these items, or none"


def _why(promise: Promise, noise: Noise, sampler: str) -> str:
    """Why the noise is as it is."""
    if sampler == "opendp":
        return f"which fits a sensitivity of {promise.l1}"
    why = "the narrowest that we have for this promise"
    if promise.delta:
        why += ", with delta" if noise.delta else ", even if a delta were lost, as was allowed"
    return why
