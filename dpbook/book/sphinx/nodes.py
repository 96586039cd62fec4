"""What all parts of the extension share: the ledger of a build, links, badges, tables."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from jinja2 import Environment, PackageLoader
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from dpbook.book.files import ABOUT
from dpbook.book.ledger import words as report
from dpbook.book.ledger.claims import Claim, load_ledger
from dpbook.book.ledger.supports import around_html, users

#: The page with a row for every claim.
LEDGER = "book/ledger"
TEMPLATES = Environment(
    loader=PackageLoader(__package__), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
_log = logging.getLogger(__name__)
#: The cells of a row: text, or nodes.
Row = Sequence[str | list[nodes.Node]]


def rendered(template: str, **shown: Any) -> str:
    """A template of this folder, filled in; text stays text."""
    return TEMPLATES.get_template(f"{template}.j2").render(shown)


def output_dir(srcdir: str | Path) -> Path:
    """Where the staged tree has what the pages found."""
    return Path(srcdir, "_build")


def ledger_of(env: BuildEnvironment, *, reading: bool = True) -> dict[str, Claim]:
    """The ledger; the page being read depends on it."""
    path = Path(env.srcdir, "book", "claims.yml")
    if reading:
        env.note_dependency(str(path))
    return load_ledger(path)


#: What the ledger shortens, in full for a heading.
_WORDS = {
    "Thm": "Theorem", "Thms": "Theorems", "Prop.": "Proposition", "Props": "Propositions",
    "Cor.": "Corollary", "Cors": "Corollaries", "Def.": "Definition", "Defs": "Definitions",
    "Fig.": "Figure", "Figs": "Figures", "Exp.": "Experiment", "Algs": "Algorithms",
    "eq.": "equation", "eqs": "equations",
}  # fmt: skip


def place(claim: Claim) -> str:
    """Paper and place in it: "CCW25, Theorem 3.3"; for a result of ours its name."""
    if claim.paper == "BOOK":
        return claim.id
    words = " ".join(_WORDS.get(word, word) for word in claim.where.split())
    return f"{claim.paper}, {words.split(', proof')[0]}"


def place_uri(env: BuildEnvironment, there: str, anchor: str) -> str:
    """The address of a place on a page, from the page being read."""
    return f"{env.app.builder.get_relative_uri(env.docname, there)}#{anchor}"


def row_uri(env: BuildEnvironment, name: str) -> str:
    return place_uri(env, LEDGER, f"ledger-{name}")


def map_uri(env: BuildEnvironment, claim: Claim) -> str:
    """The address of the graphic around a claim."""
    return place_uri(env, f"book/map/{claim.group.split()[0].lower()}", f"map-{claim.id}")


def around(env: BuildEnvironment, claim: Claim) -> str:
    """What a claim rests on and what rests on it, with links to the rows of the ledger."""
    ledger = ledger_of(env)
    mine = users(ledger)[claim.id]
    return around_html(claim, ledger, mine, lambda name: row_uri(env, name), map_uri(env, claim))


def theorem(env: BuildEnvironment, claim: Claim) -> str:
    """What ``make proofs`` recorded of the theorem of a claim, folded; empty if there is none."""
    path = Path(env.srcdir, "book", "trust", "proofs.json")
    if not claim.formal or not (record := read_json(env, path)):
        return ""
    name = claim.formal["theorem"]
    uri = "../" * env.docname.count("/") + f"downloads/proofs/{name.partition('.')[0]}.v"
    return rendered("proof.html", told=record["theorems"][name], uri=uri, **record, **claim.formal)


def read_json(env: BuildEnvironment, path: Path) -> Any:
    """The JSON in a file that the page being read depends on; None if there is no file."""
    if path.is_file():  # a missing file would make the page out of date for ever
        env.note_dependency(str(path))
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def unknown(
    role: SphinxRole, name: str, words: str
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """What a role shows for a name that nobody knows: the name itself, and a warning."""
    message = role.inliner.reporter.warning(words, line=role.lineno)
    return [nodes.literal(text=name)], [message]


def labelled(label: str, children: Sequence[nodes.Node] = ()) -> nodes.paragraph:
    return nodes.paragraph("", "", nodes.strong(text=label), *children)


def block(text: str | None, language: str) -> nodes.literal_block:
    code = (text or "").rstrip()
    return nodes.literal_block(code, code, language=language)


def link_to(text: str, uri: str, **attributes: Any) -> nodes.reference:
    return nodes.reference("", text, refuri=uri, internal=True, **attributes)


def badge_of(claim: Claim, uri: str) -> nodes.reference:
    """The id and the state of a claim, as a link."""
    text = f"{claim.id} {report.badge_words(claim)}"
    return link_to(text, uri, classes=badge_classes(claim), reftitle=claim.says)


def badge_ref(claim: Claim) -> addnodes.pending_xref:
    """The same, to be resolved by the domain of claims."""
    words = nodes.inline(text=claim.id)
    at = {"refdomain": "claim", "reftype": "badge", "reftarget": claim.id, "refexplicit": False}
    return addnodes.pending_xref("", words, **at)


def badge_classes(claim: Claim) -> list[str]:
    return ["claim-badge", f"claim-{claim.state}", *["claim-privacy"] * claim.breaks_privacy]


def mark_of(claim: Claim, uri: str = "") -> nodes.Element:
    """The state of a claim, perhaps as a link."""
    text, classes = report.badge_words(claim), badge_classes(claim)
    return link_to(text, uri, classes=classes) if uri else nodes.inline(text, text, classes=classes)


def chapter(name: str, heading: Sequence[nodes.Node] | str, *inside: nodes.Node) -> nodes.section:
    """A section with an id."""
    words = [nodes.Text(heading)] if isinstance(heading, str) else heading
    title = nodes.title("", "", *words)
    return nodes.section("", title, *inside, ids=[name], names=[name.lower()])


def facts_of(claim: Claim, anchor: str = "") -> nodes.raw:
    """What the filters of book/_static/ledger.js read of a claim, and a place to link to."""
    facts = {"claim": claim.id, "paper": claim.group, "kind": claim.kind, "verdict": claim.state}
    facts |= {"verdict-words": report.STATES[claim.state][1], "evidence": "|".join(claim.levels)}
    if claim.severity:
        heading = report.SEVERITY_HEADINGS[claim.severity]
        facts |= {"severity": claim.severity, "severity-words": heading}
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in facts.items())
    anchor = anchor and f' id="{escape(anchor)}"'
    return nodes.raw("", f'<span class="target"{anchor}{attributes}></span>', format="html")


def table_of(
    head: Sequence[str], rows: Sequence[Row], kind: str = "", caption: str = ""
) -> nodes.table:
    """A table; its caption is no title, which Sphinx would number."""

    def row(cells: Row) -> nodes.row:
        inside = ([nodes.Text(cell)] if isinstance(cell, str) else cell for cell in cells)
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in inside))

    columns = [nodes.colspec(colwidth=1) for _ in head]
    body = nodes.tbody("", *map(row, rows))
    group = nodes.tgroup("", *columns, nodes.thead("", row(head)), body, cols=len(head))
    words = [nodes.raw("", f"<caption>{caption}</caption>", format="html")] * bool(caption)
    return nodes.table("", *words, group, classes=[*kind.split(), "colwidths-auto"])


def warn(message: str, env: BuildEnvironment, subtype: str) -> None:
    """Warn of what has not run, if this is a build of the whole book."""
    if (output_dir(env.srcdir) / ABOUT).is_file():
        _log.warning(message, location=env.docname, type="dpbook", subtype=subtype)


def grouped(number: int) -> str:
    """A count, in groups of three digits."""
    return f"{number:,}".replace(",", "\u202f")


#: An index or a power, after a symbol; or what Markdown would read as something else.
_MARKUP = re.compile(
    r"(?<![a-z]{2})([_^])(\((?:[^()]|\([^()]*\))*\)|\{[^}]*\}|\w+(?:\.\d+)?)|[*_<\[]"
)


def _meant(found: re.Match[str]) -> str:
    if not found[1]:
        return f"\\{found[0]}"
    brackets = "({" if found[1] == "^" else "{"
    inside = found[2][1:-1] if found[2][0] in brackets else found[2]
    return f"{{{'sub' if found[1] == '_' else 'sup'}}}`{inside}`"


class ClaimsDirective(SphinxDirective):
    """What the pages on claims share: the ledger and the records of the build."""

    def load(self) -> tuple[dict[str, Claim], dict[str, dict[str, Any]]]:
        """The ledger, and the records of this build by id."""
        records = read_json(self.env, output_dir(self.env.srcdir) / "claims.json")
        if records is None:
            warn("no claims.json: execute the book first", self.env, "missing")
        return ledger_of(self.env), {record["id"]: record for record in records or ()}

    def inline(self, text: str | None) -> list[nodes.Node]:
        """Parse inline Markdown; outside math and code, text means itself; N_i has an index."""
        pieces = re.split(r"(\$[^$]+\$|`[^`]+`)", " ".join((text or "").split()))
        plain = [_MARKUP.sub(_meant, p) if i % 2 == 0 else p for i, p in enumerate(pieces)]
        children, messages = self.state.inline_text("".join(plain), self.lineno)
        return [*children, *messages]

    def objections(self, more: str = "") -> str:
        """The address of the form for objections; empty if the book has no repository."""
        url = self.config.html_theme_options.get("repository_url")
        return f"{url}/issues/new?template=objection.yml{more}" if url else ""

    def evidence(self, claim: Claim, record: dict[str, Any] | None) -> list[nodes.Node]:
        """Where the check of this claim stands: a link to its cell, or why there is none."""
        if claim.same_as is not None:
            uri = row_uri(self.env, claim.same_as)
            return [nodes.Text("decided by "), link_to(claim.same_as, uri)]
        words = report.run_words(claim, record)
        if record is None:
            planned = f"planned: {claim.notebook}" if claim.notebook else "no page yet"
            return [nodes.Text(f"{claim.notebook} ({words})" if claim.checked else planned)]
        page = record["notebook"]
        uri = place_uri(self.env, f"notebooks/{page}", f"claim-{claim.id}")
        told = [f" ({words})"] * (words != "checked")
        return [link_to(page, uri), *map(nodes.Text, told)]
