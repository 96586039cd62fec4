"""What a file holds, for the eyes of its keeper alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbook._typing import Ints
from dpbook.rank.answers import Answers
from dpbook.rank.names import alike, short
from dpbook.rank.rows import Collector


def facts(found: Collector, limit: int | None) -> Iterator[str]:
    """In sentences: how line 1 was read, how many answers and people, and what is left out."""
    answers = found.answers
    what = "answers"
    who = "answers"
    size = answers.size
    if answers.kind == "rankings":
        what = "rankings"
    if answers.kind == "counts":
        size = int(answers.data.sum())
    yield f"Line 1 is read so: {answers.read.words}."
    yield f"{answers.kind}: {size} {what} on {len(answers.items)} items"
    if answers.person is not None:
        who = "people"
        each = answers.answers_of_each()
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
    for group in alike([*answers.items, *found.found.unlisted]):
        yield f"These differ only in case or blanks: {' and '.join(map(short, group))}"
    if people := sum(map(len, alike(found.people))):
        yield f"These differ only in case or blanks: {people} names of people"
    named = sorted(zip(_named(answers).tolist(), answers.items, strict=True))
    some = ", ".join(f"{item} {count}" for count, item in named)
    yield f"How many {who} name each item, the rarest first: {some}"


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
        last = data.max(axis=1, keepdims=True)
        row, item = np.nonzero((data >= 0) & (data < last))
        named = who[row] * n + item
    else:
        named = (who * n + data).ravel()
    items = np.unique(named) % n
    return np.bincount(items.astype(np.intp), minlength=n)
