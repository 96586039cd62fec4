"""What a claim rests on and what rests on it, in words and links: for cards, rows and maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.supports import failing, gives_way, repaired_supports
from dpbook.book.ledger.words import STATES

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
