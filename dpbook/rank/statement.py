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
    few, person = noise.delta * exp(-float(promise.epsilon)), promise.protect == "person"
    right = min(ceil(10_000 * (1 + few) / (1 + exp(-float(promise.epsilon)))), 10_000) / 100
    delta = f"delta = {noise.delta:.6g}" if noise.delta else "pure, delta = 0"
    who = "all answers of any one person" if person else "any one comparison"
    names = "" if listed else "the list of items, which was taken from the data as it is; "
    rest = "" if person else ", but not all answers of a person"
    show = "" if sampler != "repeatable" else "A DEMONSTRATION, NOT A RELEASE. "
    guarantee = (
        f"This ranking of {promise.n_items} items protects {who}{rest}, by differential privacy "
        f"with epsilon = {promise.epsilon} ({delta}){_neighbours(promise, listed)}, "
    )
    if noise.delta:
        guarantee += "no set of results has a probability of more than e^epsilon times that with "
        guarantee += "the other plus delta: in rare cases more may be lost."
    else:
        guarantee += (
            "no result is more than e^epsilon times as probable with one as with the other."
        )
    if promise.relation == "add_remove":
        guarantee += " This epsilon protects less than the same one for a replacement, which takes "
        guarantee += "away and adds: where answers become others, up to twice epsilon is lost."
    guess = (
        "An observer who sees the result, knows everything else, and has to guess which of the two "
        f"data sets it was, is right at most {right:.6g} instead of 50 times in 100."
    )
    sampled = (
        f"That {people} people were asked is public, and the ranks in all people hold, together "
        f"with probability {TOGETHER}, if those who were asked are a random sample of them."
    )
    parts = [guarantee, guess, _counted(promise, sampler), _published(promise, noise, sampler)]
    parts += [] if people is None else [sampled]
    parts += ["The list of items is public, and was given beforehand."] if listed else []
    short = (
        f"{show}Protected: {who}{rest}, with epsilon = {promise.epsilon} ({delta}): who guesses "
        f"{'whether they were there' if promise.relation == 'add_remove' else 'at a change'} is "
        f"right at most {right:.6g} times in 100.",
        f"Not protected: {names}what all answers show together; what more releases would add.",
    )
    return " ".join([*parts, _open(promise, noise)]), short


def _neighbours(promise: Promise, listed: bool) -> str:
    """Which data sets cannot be told apart; of a list that is no secret, first of all."""
    unit = "rankings" if promise.kind == "rankings" else "answers"
    person = promise.protect == "person"
    if promise.relation == "add_remove":
        change = f"by one person, whose {unit} are" if person else "by one comparison, which is"
        change += " in one of them and not in the other"
    elif person:
        change = f"in the {unit} of one person, which may become any others about these items, "
        change += "fewer or none"
    else:
        change = "in one comparison, which may become any other about these items, or none"
    if listed:
        return f": if two data sets differ {change}"
    return (
        ", but it does not protect the list of items itself, which was taken from the data as it "
        "is: a single answer is enough to put a name on it. If two data sets name the same items "
        f"and differ {change}"
    )


def _counted(promise: Promise, sampler: str) -> str:
    """Which answers are in the numbers."""
    what = ("ranking" if promise.kind == "rankings" else "answer") + "s" * (promise.limit > 1)
    verb = "count" if promise.limit > 1 else "counts"
    if promise.protect == "comparison":
        text = "A person who gave k answers has a privacy loss of up to k times epsilon."
    elif promise.vouched:
        text = f"At most {promise.limit} {what} of each person were given; nobody checked this, "
        text += "but who ran the release vouches for it."
    else:
        bits = "from a repeatable source" if sampler == "repeatable" else "by the operating system"
        text = f"At most {promise.limit} {what} of each person {verb}, drawn at random {bits}, "
        text += "whatever others answered" + ("; of several about one pair, one" * promise.once)
        text += ". A person who appears under two names counts as two people."
    return (
        f"{text} What is no answer about these items (a name that is not on the list, a blank, a "
        "tie that cannot be counted) is left out row by row, whatever the other rows hold."
    )


def _published(promise: Promise, noise: Noise, sampler: str) -> str:
    """What was done to the numbers, and why so."""
    drawn = {
        "book": "whole numbers drawn from the randomness of the operating system",
        "opendp": "drawn by OpenDP",
        "repeatable": "drawn from a repeatable source: A DEMONSTRATION, NOT A RELEASE",
    }[sampler]
    if promise.only is not None:
        best = "the best item" if promise.only == 1 else f"the set of the best {promise.only} items"
        return (
            f"Nothing is published but {best} by {STATISTICS['net']}, chosen by {noise.words} "
            f"({drawn}), which may take others that come close."
        )
    why = "the narrowest that we have for this promise"
    if sampler == "opendp":
        why = f"which fits a sensitivity of {promise.l1}"
    elif noise.delta or promise.delta:
        why += ", with delta" if noise.delta else ", even if a delta were lost, as was allowed"
    return (
        f"The published numbers ({STATISTICS[promise.statistic]}) contain {noise.words} ({drawn}), "
        f"{why}; the order, the ranks and all probabilities are computed from them alone."
    )


def _open(promise: Promise, noise: Noise) -> str:
    """What is not protected."""
    limit = "" if promise.max_answers is None else ", of the limit"
    return (
        "Not protected are: that a person took part, if this can be seen elsewhere than in these "
        "results; that the file could be read; what the answers of all people together show about "
        "people like them; how long the computation took; and the choice of epsilon"
        f"{limit} and of the items, if it was made after a look at the data. Every further release "
        f"of the same data adds its epsilon{' and delta' if noise.delta else ''} to this one. The "
        "ranks describe the people who were asked, so that it is not known how others would answer."
    )
