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
    who = "all answers of any one person" if person else "any one comparison"
    who += "" if person else ", but not all answers of a person"
    by = f"epsilon = {promise.epsilon} "
    by += f"(delta = {noise.delta:.6g})" if noise.delta else "(pure, delta = 0)"
    least = "no result is more than e^epsilon times as probable with one as with the other"
    if noise.delta:
        least = "no set of results has a probability of more than e^epsilon times that with the "
        least += "other plus delta: in rare cases more may be lost"
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
        "adds: where answers become others, up to twice epsilon is lost.",
        "An observer who sees the result, knows everything else, and has to guess which of the two "
        f"data sets it was, is right at most {right:.6g} instead of 50 times in 100.",
        _counted(promise, sampler),
        _published(promise, noise, sampler),
        f"That {people} people were asked is public, and the ranks in all people hold, together "
        f"with probability {TOGETHER}, if those who were asked are a random sample of them.",
        "The list of items is public, and was given beforehand.",
        "Not protected are: that a person took part, if this can be seen elsewhere than in these "
        "results; that the file could be read; what the answers of all people together show about "
        "people like them; how long the computation took; and the choice of epsilon"
        f"{', of the limit' * person} and of the items, if it was made after a look at the data. "
        f"Every further release of the same data adds its epsilon{' and delta' * (noise.delta > 0)}"
        " to this one. The ranks describe the people who were asked, so that it is not known how "
        "others would answer.",
    ]
    once = promise.relation == "add_remove"
    said = True, once, True, True, True, people is not None, listed, True
    start = "A DEMONSTRATION, NOT A RELEASE. " if sampler == "repeatable" else ""
    guess = "whether they were there" if once else "at a change"
    short = (
        f"{start}Protected: {who}, with {by}: who guesses {guess} is right at most {right:.6g} "
        "times in 100.",
        f"Not protected: {names}what all answers show together; what more releases would add.",
    )
    return " ".join(part for part, is_so in zip(parts, said, strict=True) if is_so), short


def _change(promise: Promise) -> str:
    """How neighbouring data sets differ."""
    unit = "rankings" if promise.kind == "rankings" else "answers"
    if promise.relation == "add_remove":
        person = f"person, whose {unit} are"
        what = person if promise.protect == "person" else "comparison, which is"
        return f"differ by one {what} in one of them and not in the other"
    if promise.protect == "comparison":
        change = "comparison, which may become any other about these items, or none"
    else:
        change = f"the {unit} of one person, which may become any others about these items, fewer "
        return f"differ in {change}or none"
    return f"differ in one {change}"


def _counted(promise: Promise, sampler: str) -> str:
    """Which answers are in the numbers."""
    what = ("ranking" if promise.kind == "rankings" else "answer") + "s" * (promise.limit > 1)
    if promise.protect == "comparison":
        text = "A person who gave k answers has a privacy loss of up to k times epsilon"
    elif promise.vouched:
        text = f"At most {promise.limit} {what} of each person were given; nobody checked this, "
        text += "but who ran the release vouches for it"
    else:
        bits = "from a repeatable source" if sampler == "repeatable" else "by the operating system"
        verb = "count" if promise.limit > 1 else "counts"
        text = f"At most {promise.limit} {what} of each person {verb}, drawn at random {bits}, "
        text += "whatever others answered" + "; of several about one pair, one" * promise.once
        text += ". A person who appears under two names counts as two people"
    return (
        f"{text}. What is no answer about these items (a name that is not on the list, a blank, a "
        "tie that cannot be counted) is left out row by row, whatever the other rows hold."
    )


def _published(promise: Promise, noise: Noise, sampler: str) -> str:
    """What was done to the numbers, and why so."""
    how = f"{noise.words} (whole numbers drawn from the randomness of the operating system)"
    if sampler == "opendp":
        how = f"{noise.words} (drawn by OpenDP)"
    elif sampler == "repeatable":
        how = f"{noise.words} (drawn from a repeatable source: A DEMONSTRATION, NOT A RELEASE)"
    if promise.only is not None:
        best = "the best item" if promise.only == 1 else f"the set of the best {promise.only} items"
        return (
            f"Nothing is published but {best} by {STATISTICS['net']}, chosen by {how}, which may "
            "take others that come close."
        )
    why = ", with delta" if noise.delta else ", even if a delta were lost, as was allowed"
    why = f"the narrowest that we have for this promise{why if promise.delta else ''}"
    why = f"which fits a sensitivity of {promise.l1}" if sampler == "opendp" else why
    return (
        f"The published numbers ({STATISTICS[promise.statistic]}) contain {how}, {why}; the order, "
        "the ranks and all probabilities are computed from them alone."
    )
