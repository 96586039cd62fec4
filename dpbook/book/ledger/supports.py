"""What a claim rests on, what rests on it, and the worst verdict upstream.

The field ``rests_on`` of the ledger makes a graph: from a claim to those without which its
statement, or its printed proof, would have no support.  No more than one step is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.words import STATES

#: Every state of a claim, the gravest for what rests on it first; nowhere else is this order.
WORST_FIRST = (
    *("refuted", "false-repaired", "unproved", "empty", "undecided"),
    *("conjecture", "not-judged", "pending"),
    *("shape-only", "proof-repaired", "slip", "holds-loosely", "holds", "definition"),
)
#: The states in which a printed statement gives no support: false, unproved or without content.
GIVES_WAY = WORST_FIRST[:4]
#: The states of a claim that nobody has checked.
_OPEN = ("not-judged", "pending")
_WHICH = dict(zip(GIVES_WAY, ("refuted", "false as printed", "unproved", "vacuous"), strict=True))
#: How many users a row or a card names; the map names all.
_MOST = 6


@dataclass(frozen=True)
class Upstream:
    """A claim that another rests on, and the claims between the two, the nearest first.

    It is `shielded` if every way to it leads through a claim that was checked and stands.
    """

    name: str
    state: str
    through: tuple[str, ...] = ()
    shielded: bool = False


def users(ledger: Mapping[str, Claim]) -> dict[str, list[str]]:
    """For each claim those that name it in ``rests_on``, in the order of the ledger."""
    by: dict[str, list[str]] = {name: [] for name in ledger}
    for claim in ledger.values():
        for support in claim.rests_on:
            by[support].append(claim.id)
    return by


def gives_way(claim: Claim, ledger: Mapping[str, Claim]) -> Upstream | None:
    """The gravest claim upstream that gives no support as printed; None if there is none."""
    return next(iter(failing(claim, ledger)), None)


def failing(claim: Claim, ledger: Mapping[str, Claim]) -> list[Upstream]:
    """The claims upstream that give no support as printed, the gravest first.

    Of equals those that are not shielded, then the nearest, then the first by ``rests_on``.  None
    for a claim that gives way itself: its own verdict says more.
    """
    above = [] if claim.state in GIVES_WAY else upstream(claim, ledger)
    weak = [up for up in above if up.state in GIVES_WAY]
    return sorted(weak, key=lambda up: (WORST_FIRST.index(up.state), up.shielded))  # stable


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
    """The claims above, and those between; perhaps not past those that stand."""
    ways: dict[str, tuple[str, ...]] = {}
    todo: list[tuple[Claim, tuple[str, ...]]] = [(claim, ())]
    for here, through in todo:  # grows
        for name in here.rests_on:
            support = ledger[name]
            if name in ways or (here.paper == "BOOK" and _mended(support)):
                continue
            ways[name] = through
            if past_standing or support.state in (*GIVES_WAY, *_OPEN):
                todo.append((support, (*through, name)))
    return ways


def _mended(support: Claim) -> bool:
    """Whether a result of this book's own may use it, whatever it rests on in print."""
    ours = support.paper == "BOOK"
    return support.state in GIVES_WAY[1:] or not (ours or support.state in ("refuted", *_OPEN))


def upstream_words(claim: Claim, ledger: Mapping[str, Claim]) -> str:
    """What fails upstream of a claim, and what that means for it; empty if nothing does."""
    if not (weak := failing(claim, ledger)):
        return ""
    up, *others = weak
    words = STATES[claim.state][1]
    fail = "fail" if others[1:] else "fails"
    too = f" {len(others)} more upstream {fail}, too." * bool(others)
    it = f"{up.name}, which is {_WHICH[up.state]}"
    if up.shielded:
        one, many = "was checked on its own", "were checked on their own"
        stands = many if up.through[1:] else one
        own = f"so was this claim ({words})" if claim.checked else "this claim is not checked"
        between, but = listed(up.through), "and" if claim.checked else "but"
        return (
            f"Upstream: through {between} it rests on {it}; {between} {stands}, {but} {own}.{too}"
        )
    through = f"through {listed(up.through)} " if up.through else ""
    support = f"Its printed support fails: it rests {through}on {it}."
    if not claim.checked:
        return f"{support} The claim itself is not checked here.{too}"
    how = "without this support" if up.state == "refuted" else "with the corrected support"
    return f"{support} The claim was checked on its own ({words}), {how}.{too}"


def repaired_words(claim: Claim, ledger: Mapping[str, Claim]) -> str:
    """What a result of this book's own uses otherwise than printed; empty if nothing."""
    names = [name for name in claim.rests_on if ledger[name].state in GIVES_WAY[1:]]
    ours = names and claim.paper == "BOOK"
    return f"It uses the corrected form of {listed(names)}." if ours else ""


def around_html(
    claim: Claim,
    ledger: Mapping[str, Claim],
    users: Sequence[str],
    uri: Callable[[str], str],
    map_uri: str,
) -> str:
    """Links to the supports and to the users of a claim, in their colours, and what fails upstream.

    `uri` gives the address of a claim, `map_uri` is that of the graphic around this one.
    """

    def links(names: Sequence[str]) -> str:
        return " ".join(_link(ledger[name], uri(name)) for name in names) or "nothing listed"

    shown = users if len(users) <= _MOST else users[: _MOST - 1]
    more = f" and {len(users) - len(shown)} more" * (len(shown) < len(users))
    html = (
        f"<strong>Rests on</strong> {links(claim.rests_on)}; "
        f"<strong>used by</strong> {links(shown)}{more}; "
        f'<a href="{escape(map_uri)}">map<span class="visually-hidden"> around '
        f"{escape(claim.id)}</span></a>."
    )
    if words := repaired_words(claim, ledger):
        html += f" <span>{escape(words)}</span>"
    if up := gives_way(claim, ledger):
        words = escape(f"! {upstream_words(claim, ledger)}")
        html += f' <span class="claim-upstream claim-{up.state}">{words}</span>'
    return f'<span class="claim-around">{html}</span>'


def listed(names: Sequence[str]) -> str:
    """Names as a part of a sentence: "A, B and C"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _link(claim: Claim, uri: str) -> str:
    """The sign of the verdict and the id, with the words of the verdict for who points at it."""
    mark, words = STATES[claim.state]
    kind = f"claim-link claim-{claim.state}" + " claim-privacy" * claim.breaks_privacy
    href = f'href="{escape(uri)}" title="{escape(words)}"'
    return f'<a class="{kind}" {href}>{mark}\u00a0{escape(claim.id)}</a>'
