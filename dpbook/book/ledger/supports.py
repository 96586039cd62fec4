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


def users(ledger: Mapping[str, Claim]) -> dict[str, list[str]]:
    """For each claim those that name it in ``rests_on``, in the order of the ledger."""
    found: dict[str, list[str]] = {name: [] for name in ledger}
    for claim in ledger.values():
        for support in claim.rests_on:
            found[support].append(claim.id)
    return found


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


#: How many users a row or a card names; the map names all.
_MOST = 6
_WHICH = {
    "refuted": "which is refuted",
    "false-repaired": "which is false as printed",
    "unproved": "which is unproved",
    "empty": "which is true but empty",
}


def upstream_words(claim: Claim, ledger: Mapping[str, Claim]) -> str:
    """What fails upstream of a claim, and what that means for it; empty if nothing does."""
    found = failing(claim, ledger)
    if not found:
        return ""
    up, *others = found
    which, words = _WHICH[up.state], STATES[claim.state][1]
    fail = "fail" if others[1:] else "fails"
    too = f" {len(others)} more upstream {fail}, too." * bool(others)
    if up.shielded:
        one, many = "was checked on its own and stands", "were checked on their own and stand"
        stands = one if len(up.through) == 1 else many
        said = f"Upstream: through {listed(up.through)} it rests on {up.name}, {which}"
        own = f"and so does this claim ({words})"
        own = own if claim.checked else "but this claim is not checked"
        return f"{said}; {listed(up.through)} {stands}, {own}.{too}"
    through = f"through {listed(up.through)} " if up.through else ""
    said = f"Its printed support fails: it rests {through}on {up.name}, {which}."
    if not claim.checked:
        return f"{said} The claim itself is not checked here.{too}"
    stands = "it stands by itself" if up.state == "refuted" else "with the repair it stands"
    return f"{said} The claim was checked on its own ({words}): {stands}.{too}"


def repaired_words(claim: Claim, ledger: Mapping[str, Claim]) -> str:
    """What a result of this book's own uses otherwise than printed; empty if nothing."""
    names = repaired_supports(claim, ledger)
    return f"It uses the repaired form of {listed(names)}." if names else ""


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
    more = f" and {len(users) - len(shown)} more" if len(shown) < len(users) else ""
    words = f'map<span class="visually-hidden"> around {escape(claim.id)}</span>'
    html = [
        f"<strong>Rests on</strong> {links(claim.rests_on)};",
        f"<strong>used by</strong> {links(shown)}{more};",
        f'<a href="{escape(map_uri)}">{words}</a>.',
    ]
    if told := repaired_words(claim, ledger):
        html.append(f"<span>{escape(told)}</span>")
    if up := gives_way(claim, ledger):
        told = escape(f"! {upstream_words(claim, ledger)}")
        html.append(f'<span class="claim-upstream claim-{up.state}">{told}</span>')
    return f'<span class="claim-around">{" ".join(html)}</span>'


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
