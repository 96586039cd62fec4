"""What a claim rests on, what rests on it, and the worst verdict upstream.

The field ``rests_on`` of the ledger makes a graph: from a claim to those without which its
statement, or its printed proof, would have no support.  No more than one step is written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import compress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the ledger asks this module whether its graph is one
    from dpbook.book.ledger.claims import Claim

#: Every state of a claim, the gravest for what rests on it first; nowhere else is this order.
WORST_FIRST = (
    *("refuted", "false-repaired", "unproved", "empty", "undecided", "not-judged", "pending"),
    *("shape-only", "proof-repaired", "slip", "holds-loosely", "holds", "definition"),
)
#: The states in which a printed statement gives no support: false, unproved or without content.
GIVES_WAY = WORST_FIRST[:4]
#: The states of a claim that nobody has checked.
_OPEN = ("not-judged", "pending")


@dataclass(frozen=True)
class Upstream:
    """A claim that another rests on, and the claims between the two, the nearest first.

    It is `shielded` if every way to it leads through a claim that was checked and stands.
    """

    name: str
    state: str
    through: tuple[str, ...] = ()
    shielded: bool = False


def graph_problems(rests: Mapping[str, Sequence[str]], file: str) -> Iterator[str]:
    """One line for each name that is unknown, its own or said twice; else one for a circle."""
    found = False
    for name, supports in rests.items():
        for at, support in enumerate(supports):
            wrong = {
                "is the claim itself": support == name,
                "must be the id of another claim of this file": support not in rests,
                "is named twice": support in supports[:at],
            }
            if complaint := next(compress(wrong, wrong.values()), ""):
                found = True
                yield f"{name}: rests_on in {file}: {support!r} {complaint}"
    if not found:
        try:
            TopologicalSorter(rests).prepare()
        except CycleError as error:
            circle = error.args[1][::-1]  # each rests on the next
            first = min(map(list(rests).index, circle[:-1]))
            start = circle.index(list(rests)[first])
            circle = [*circle[start:-1], *circle[: start + 1]]
            yield f"{circle[0]}: rests_on in {file} goes in a circle: {' → '.join(circle)}"


def users(ledger: Mapping[str, Claim]) -> dict[str, list[str]]:
    """For each claim those that name it in ``rests_on``, in the order of the ledger."""
    found: dict[str, list[str]] = {name: [] for name in ledger}
    for claim in ledger.values():
        for support in claim.rests_on:
            found[support].append(claim.id)
    return found


def own_names(
    supports: Iterable[str], paper: str, rows: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """The supports of a repeated claim, by the names that they have in its own paper, if any."""
    twins: dict[str, str] = {}
    for name, row in rows.items():
        if row.get("same_as") and row["paper"] == paper:
            twins.setdefault(row["same_as"], name)
    return list(dict.fromkeys(twins.get(support, support) for support in supports))


def gives_way(claim: Claim, ledger: Mapping[str, Claim]) -> Upstream | None:
    """The gravest claim upstream that gives no support as printed; None if there is none."""
    return next(iter(failing(claim, ledger)), None)


def failing(claim: Claim, ledger: Mapping[str, Claim]) -> list[Upstream]:
    """The claims upstream that give no support as printed, the gravest first.

    Of equals those that are not shielded, then the nearest, then the first by ``rests_on``.  None
    for a claim that gives way itself: its own verdict says more.
    """
    if claim.state in GIVES_WAY:
        return []
    found = [up for up in upstream(claim, ledger) if up.state in GIVES_WAY]

    def grave(up: Upstream) -> tuple[int, bool]:
        return WORST_FIRST.index(up.state), up.shielded

    return sorted(found, key=grave)  # stable


def upstream(claim: Claim, ledger: Mapping[str, Claim]) -> list[Upstream]:
    """All that a claim rests on by printed statements, the nearest first.

    The proofs of this book's own results stand on its pages and use other statements as they were
    checked there, in the repaired form if there is one: from such a result no way leads on by
    them, but for a refuted or a pending one.
    """
    bare = _walk(claim, ledger, past_standing=False)
    every = _walk(claim, ledger, past_standing=True)
    return [
        Upstream(name, ledger[name].state, bare.get(name, through), name not in bare)
        for name, through in every.items()
    ]


def _walk(
    claim: Claim, ledger: Mapping[str, Claim], *, past_standing: bool
) -> dict[str, tuple[str, ...]]:
    """What is found going up, and between which claims; perhaps not past those that stand."""
    found: dict[str, tuple[str, ...]] = {}
    todo: list[tuple[Claim, tuple[str, ...]]] = [(claim, ())]
    for here, through in todo:  # grows
        for name in here.rests_on:
            support = ledger[name]
            if name in found or (here.paper == "BOOK" and _mended(support)):
                continue
            found[name] = through
            if past_standing or support.state in (*GIVES_WAY, *_OPEN):
                todo.append((support, (*through, name)))
    return found


def repaired_supports(claim: Claim, ledger: Mapping[str, Claim]) -> list[str]:
    """The claims that a result of this book's own uses in their repaired form."""
    ours = claim.paper == "BOOK"
    return [n for n in claim.rests_on if ours and ledger[n].state in GIVES_WAY[1:]]


def _mended(support: Claim) -> bool:
    """Whether a result of this book's own may use it, whatever it rests on in print."""
    ours = support.paper == "BOOK"
    return support.state in GIVES_WAY[1:] or not (ours or support.state in ("refuted", *_OPEN))
