"""The statement that goes with a release: who is protected against what, and what is not."""

from __future__ import annotations

from math import ceil, exp

from dpbook.rank.noise import Noise
from dpbook.rank.promise import Promise
from dpbook.rank.release import STATISTICS, TOGETHER


def statement_of(
    promise: Promise, noise: Noise, listed: bool, sampler: str, people: int | None = None
) -> tuple[str, tuple[str, str]]:
    """One paragraph for those who answered, and two lines of it for a screen."""
    low, person = exp(-float(promise.epsilon)), promise.protect == "person"
    right = min(ceil(10_000 * (1 + noise.delta * low) / (1 + low)), 10_000) / 100
    who = "any one comparison, but not all answers of a person"
    who = "all answers of any one person" if person else who
    by = f"(delta = {noise.delta:.6g})" if noise.delta else "(pure, delta = 0)"
    by = f"epsilon = {promise.epsilon} {by}"
    least = "no result is more than e^epsilon times as probable with one as with the other"
    if noise.delta:
        least = "no set of results has a probability of more than e^epsilon times that with the "
        least += "other plus delta: in rare cases more may be lost"
    once = promise.relation == "add_remove"
    where, names = ": if two data sets ", ""
    if not listed:
        where = ", but it does not protect the list of items itself, which was taken from the data "
        where += "as it is: a single answer is enough to put a name on it. If two data sets name "
        where += "the same items and "
        names = "the list of items, which was taken from the data as it is; "
    parts = [
        f"This ranking of {promise.n_items} items protects {who}, by differential privacy with "
        f"{by}{where}{_change(promise)}, {least}.",
        "This epsilon protects less than the same one for a replacement, which takes away and "
        "adds: where answers become others, up to twice epsilon is lost." * once,
        "An observer who sees the result, knows everything else, and has to guess which of the two "
        f"data sets it was, is right at most {right:.6g} instead of 50 times in 100.",
        _counted(promise, sampler),
        _published(promise, noise, sampler),
        f"That {people} people were asked is public, and the ranks in all people hold, together "
        f"with probability {TOGETHER}, if those who were asked are a random sample of them."
        * (people is not None),
        "The list of items is public, and was given beforehand." * listed,
        "Not protected are: that a person took part, if this can be seen elsewhere than in these "
        "results; that the file could be read; what the answers of all people together show about "
        "people like them; how long the computation took; and the choice of epsilon"
        f"{', of the limit' * person} and of the items, if it was made after a look at the data. "
        f"Every further release of the same data adds its epsilon{' and delta' * (noise.delta > 0)}"
        " to this one. The ranks describe the people who were asked, so that it is not known how "
        "others would answer.",
    ]
    start = "A DEMONSTRATION, NOT A RELEASE. " if sampler == "repeatable" else ""
    guess = "whether they were there" if once else "at a change"
    short = (
        f"{start}Protected: {who}, with {by}: who guesses {guess} is right at most {right:.6g} "
        "times in 100.",
        f"Not protected: {names}what all answers show together; what more releases would add.",
    )
    return " ".join(filter(None, parts)), short


def _change(promise: Promise) -> str:
    """How neighbouring data sets differ."""
    person = promise.protect == "person"
    unit = "rankings" if promise.kind == "rankings" else "answers"
    if promise.relation == "add_remove":
        what = f"person, whose {unit} are" if person else "comparison, which is"
        return f"differ by one {what} in one of them and not in the other"
    what = f"the {unit} of one person" if person else "one comparison"
    others = "about these items, fewer or none" if person else "about these items, or none"
    return f"differ in {what}, which may become any other{'s' * person} {others}"


def _counted(promise: Promise, sampler: str) -> str:
    """Which answers are in the numbers."""
    limit, ranked = promise.max_answers or 1, promise.kind == "rankings"
    most = f"At most {limit} {'ranking' if ranked else 'answer'}{'s' * (limit > 1)} of each person"
    bits = "from a repeatable source" if sampler == "repeatable" else "by the operating system"
    if promise.protect == "comparison":
        text = "A person who gave k answers has a privacy loss of up to k times epsilon"
    elif promise.vouched:
        text = f"{most} were given; nobody checked this, but who ran the release vouches for it"
    else:
        text = f"{most} count{'s' * (limit == 1)}, drawn at random {bits}, whatever others answered"
        text += "; of several about one pair, one" * (not ranked and promise.repeats == "one")
        text += ". A person who appears under two names counts as two people"
    if ranked:
        left = {"below": "are below those it holds", "unknown": "are not compared"}
        text += f". Items that a ranking leaves out {left[promise.unranked]}"
    return (
        f"{text}. What is no answer about these items (a name that is not on the list, a blank, a "
        "tie that cannot be counted) is left out row by row, whatever the other rows hold."
    )


def _published(promise: Promise, noise: Noise, sampler: str) -> str:
    """What was done to the numbers, and why so."""
    bits = {
        "book": "whole numbers drawn from the randomness of the operating system",
        "opendp": "drawn by OpenDP",
        "repeatable": "drawn from a repeatable source: A DEMONSTRATION, NOT A RELEASE",
    }
    how = f"{noise.words} ({bits[sampler]})"
    if promise.only is not None:
        best = "the best item" if promise.only == 1 else f"the set of the best {promise.only} items"
        return (
            f"Nothing is published but {best} by {STATISTICS['net']}, chosen by {how}, which may "
            "take others that come close."
        )
    why = ", with delta" if noise.delta else ", even if a delta were lost, as was allowed"
    why = f"the narrowest that we have for this promise{why * (promise.delta > 0)}"
    why = f"which fits a sensitivity of {promise.l1}" if sampler == "opendp" else why
    return (
        f"The published numbers ({STATISTICS[promise.statistic]}) contain {how}, {why}; the order, "
        "the ranks and all probabilities are computed from them alone."
    )
