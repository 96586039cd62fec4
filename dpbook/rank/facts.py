"""What a file holds, for the eyes of its keeper alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import Answers
from dpbook.rank.names import short
from dpbook.rank.reading import Look

FEW = 10  # people who name an item


def facts(found: Look, limit: int | None) -> Iterator[str]:
    """In sentences: how line 1 was read, how many answers and people, and what is left out."""
    answers = found.answers
    parts = list(answers.in_parts())
    named = np.sum([_named(part) for part in parts], axis=0).tolist()
    what = "answers"
    who = "answers"
    if answers.kind == "rankings":
        what = "rankings"
    yield f"Line 1 is read so: {answers.read.words}."
    yield f"{answers.kind}: {sum(map(_number, parts))} {what} on {len(answers.items)} items"
    if answers.has_persons:
        who = "people"
        each = np.concatenate([part.answers_of_each() for part in parts])
        yield f"{each.size} people, {each.min()} to {each.max()} {what} each"
        if limit:
            more = each[each > limit] - limit
            lost = f"{more.sum()} {what} would be left out"
            yield f"{more.size} people gave more than {limit}: {lost}"
    if found.found.number:
        yield f"This would be left out:\n{found.found}"
    unlisted = [f"{short(name)} {count}" for name, count in found.found.unlisted.most_common(20)]
    if unlisted:
        yield f"Not on the list of items: {', '.join(unlisted)}"
    for names in found.alike:
        yield f"These differ only in case or blanks: {names}"
    every = dict(zip(answers.items, named, strict=True))
    some = ", ".join(f"{item} {count}" for item, count in every.items())
    rare = ", ".join(f"{item} {count}" for item, count in every.items() if count < FEW)
    yield f"The items, and how many {who} name each: {some}"
    yield f"Named by fewer than {FEW} {who}: {rare or 'none'}"


def _number(answers: Answers) -> int:
    """How many answers, or rankings."""
    if answers.kind == "counts":
        return int(answers.data.sum())
    return answers.size


def _named(answers: Answers) -> Ints:
    """How many people, or answers where nobody knows of whom, name each item."""
    n = len(answers.items)
    data = answers.data
    if answers.kind == "counts":
        return np.asarray(data.sum(axis=0) + data.sum(axis=1))
    who = np.arange(answers.size)
    if answers.person is not None:
        who = np.unique(answers.person, return_inverse=True)[1]
    if answers.kind == "rankings":
        row, item = np.nonzero((data >= 0) & (data < data.max(axis=1, keepdims=True)))
        named = who[row] * n + item
    else:
        named = (who * n + data).ravel()
    return np.bincount(np.unique(named) % n, minlength=n)
