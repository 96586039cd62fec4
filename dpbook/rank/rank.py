"""A private ranking of real answers: exact noise, and places with what they leave open."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from numbers import Rational
from os import PathLike
from typing import Any

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import Answers
from dpbook.rank.ledger import charge, fingerprint
from dpbook.rank.noise import Noise, SystemBits
from dpbook.rank.places import ranked
from dpbook.rank.promise import Promise
from dpbook.rank.reading import answers_of, names_of
from dpbook.rank.release import Release
from dpbook.rank.shards import Shards
from dpbook.rank.statement import TOGETHER


class AfterTheDraw(RuntimeError):
    """Something failed when the noise had been drawn; the message has what was released."""


def rank_privately(
    source: Any,
    *,
    epsilon: str | float | Rational,
    protect: str,
    max_answers: int | None = None,
    relation: str = "replace",
    delta: str | float | Rational = 0,
    statistic: str = "net",
    only: int | None = None,
    vouched: bool = False,
    people: int | None = None,
    sampler: str = "book",
    ledger: str | PathLike[str] | None = None,
    budget: str | float | Rational | None = None,
    rng: np.random.Generator | None = None,
    **how: Any,
) -> Release:
    """Rank the items by answers under differential privacy, fit for a release.

    Parameters
    ----------
    source : path or paths, DataFrame or mapping of columns, Answers
        What `read_answers`, `from_frame` or the constructor of `Answers` take or make.
    statistic : {"net", "pairs"}
        Wins minus losses; or the table of pairs, to which strengths are fitted, with more noise,
        for data that ask about some items far more often. This and the rest as of `Promise`.
    people : int, optional
        How many were asked, if that is public: gives places in all whom they are a sample of.
    sampler : {"book", "opendp"}
        Who draws the noise, either from the randomness of the operating system.
    ledger, budget
        A file to which the release is added before its noise is drawn, and what it may not pass.
    rng : numpy.random.Generator, optional
        Another source, to repeat a demonstration. What it gives cannot be written as a release.
    **how
        For a path or a table: ``items``, ``columns`` and the rest of `read_answers`; and
        ``scheduler``, the address of a Dask cluster that reads and counts.

    Examples
    --------
    >>> votes = Answers("counts", ("coffee", "tea"), np.array([[0, 900], [100, 0]]))
    >>> release = rank_privately(votes, epsilon="1/2", protect="comparison")
    >>> release.noise.scale, release.ranking[0].item  # the other order has a chance of e^-400
    (Fraction(4, 1), 'coffee')
    """
    if rng is not None and sampler != "book":
        raise ValueError(f"rng is given with sampler = {sampler!r}: allowed is 'book'")
    if budget is not None and ledger is None:
        raise ValueError(f"budget = {budget!r:.60}: allowed is with a ledger, which adds up")
    data = None
    if ledger is not None and isinstance(source, str | PathLike | list | tuple):
        data = fingerprint(names_of(source))
    answers = answers_of(source, relation=relation, **how)
    if relation != "replace" and isinstance(answers, Shards):
        given = "relation = 'add_remove' with people who are known by a hash"
        raise ValueError(f"{given}: allowed is 'replace'")
    promise = Promise.about(
        answers,
        protect=protect,
        epsilon=epsilon,
        delta=delta,
        relation=relation,
        max_answers=max_answers,
        statistic=statistic,
        only=only,
        vouched=vouched,
    )
    noise = promise.noise(sampler)
    sample = None
    if people is not None:
        sample = promise.sample_width(people, (1 - TOGETHER) / 2)
    who = sampler if rng is None else "repeatable"
    if not noise.delta:  # what is not used is not spent
        promise = replace(promise, delta=Fraction(0))
    # An epsilon that is not written down is not spent.
    spent = None
    if ledger is not None:
        spent = charge(ledger, promise, budget=budget, data=data)
    drawn = _drawn(answers, promise, noise, rng)
    try:
        release = Release(
            ranking=ranked(answers.items, drawn, promise, noise, sample=sample),
            items=answers.items,
            listed=answers.listed,
            released=drawn if only is None else None,
            promise=promise,
            noise=noise,
            sampler=who,
            people=people,
            read=answers.read,
            spent=spent,
        )
    except BaseException as error:
        what = f"{drawn.tolist()} of {dict(enumerate(answers.items))}, with {noise.words}"
        raise AfterTheDraw(f"after the noise was drawn: {error!r}. It is spent: {what}") from error
    return release


def _drawn(
    answers: Answers, promise: Promise, noise: Noise, rng: np.random.Generator | None
) -> Ints:
    """The exact numbers with noise, or the chosen items; whatever fails says nothing about them."""
    failed: Exception = ValueError(
        "the release failed after its noise was asked for, and nothing came of it; why is not "
        "said, since it may tell of the answers: look at the data with --check"
    )
    bits = SystemBits() if rng is None else rng
    random = getattr(rng, "bytes", None)
    try:
        numbers = np.array(answers.exact(promise.statistic, promise.max_answers, random))
        if promise.only is not None:
            return noise.choose(numbers, promise.only, bits)
        moving = np.ones(numbers.shape, dtype=bool)
        if promise.statistic == "pairs":
            np.fill_diagonal(moving, False)
        numbers[moving] += noise.draw(bits)
        return numbers
    except MemoryError:
        failed = MemoryError("the answers do not fit into memory")
    except Exception:
        pass
    raise failed  # here, so that it carries no other
