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
    number = sum(map(_number, parts))
    what = "rankings" if answers.kind == "rankings" else "answers"
    yield f"Line 1 is read so: {answers.read.words}."
    yield f"{answers.kind}: {number} {what} on {len(answers.items)} items"
    if answers.has_persons:
        each = np.concatenate([part.answers_of_each() for part in parts])
        yield f"{each.size} people, {each.min(initial=number)} to {each.max(initial=0)} {what} each"
        if limit:
            more = each[each > limit] - limit
            lost = f"{more.sum()} {what} would be left out"
            yield f"{more.size} people gave more than {limit}: {lost}"
    if found.found.number:
        yield from ("This would be left out:", *str(found.found).splitlines())
    unlisted = [f"{short(name)} {count}" for name, count in found.found.unlisted.most_common(20)]
    if unlisted:
        yield f"Not on the list of items: {', '.join(unlisted)}"
    yield from (f"These differ only in case or blanks: {names}" for names in found.alike)
    named = np.sum([_named(part) for part in parts], axis=0).tolist()
    who = "people" if answers.has_persons else "answers"
    every = [f"{item} {count}" for item, count in zip(answers.items, named, strict=True)]
    rare = [words for words, count in zip(every, named, strict=True) if count < FEW]
    yield f"The items, and how many {who} name each: {', '.join(every)}"
    yield f"Named by fewer than {FEW} {who}: {', '.join(rare) or 'none'}"


def _number(answers: Answers) -> int:
    """How many answers, or rankings."""
    if answers.kind == "counts":
        return int(answers.data.sum())
    return answers.data.shape[answers.kind == "comparisons"]


def _named(answers: Answers) -> Ints:
    """How many people, or answers where nobody knows of whom, name each item."""
    n, data, person = len(answers.items), answers.data, answers.person
    if answers.kind == "counts":
        return np.asarray(data.sum(axis=0) + data.sum(axis=1))
    if person is None:
        return np.bincount(data.ravel(), minlength=n)
    who = np.unique(person, return_inverse=True)[1]
    if answers.kind == "comparisons":
        named = np.concatenate([who * n + row for row in data])
    else:
        placed = (data >= 0) & (data < data.max(axis=1, keepdims=True))
        named = (who[:, None] * n + np.arange(n))[placed]
    return np.bincount(np.unique(named) % n, minlength=n)
