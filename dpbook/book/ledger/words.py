"""How a claim and the outcome of its check are shown: HTML, plain text, and the summary counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from dpbook.book.ledger.claims import Claim
from dpbook.book.ledger.findings import part_words

Record = Mapping[str, Any]

#: A mark and the words for every state of a claim; the words alone say everything.
STATES = {
    "holds": ("✓", "holds"),
    "holds-loosely": ("≈", "true, constant can improve"),
    "proof-repaired": ("⊢", "true, proof corrected"),
    "empty": ("∅", "vacuous"),
    "slip": ("✎", "slip of wording"),
    "unproved": ("⊬", "unproved"),
    "undecided": ("?", "undecided from our copy"),
    "false-repaired": ("↻", "false as printed, corrected"),
    "refuted": ("✗", "refuted"),
    "shape-only": ("~", "rate checked, constant open"),
    "conjecture": ("≟", "conjecture"),
    "definition": ("≡", "definition"),
    "pending": ("…", "pending"),
    "not-judged": ("–", "not judged"),
}
#: Levels of evidence whose name in the ledger is not the one that a reader sees.
EVIDENCE = {
    "formal": "proved by a kernel",
    "all-epsilon": "proved for every ε",
    "consistency": "consistency of formulas",
}
#: What a badge adds where a privacy guarantee is broken.
PRIVACY_MARK = "⚠ privacy guarantee broken"
#: Headings of the errata, by what hangs on what failed.
SEVERITY_HEADINGS = {
    "privacy": "A privacy guarantee is broken",
    "conclusion": "The conclusion changes",
    "proof": "The proof needs a correction",
    "constant": "A constant can be improved",
    "wording": "The wording needs a correction",
}
#: Chapters of the errata, the most serious first; what is loose, empty or a slip comes last.
CHAPTERS = SEVERITY_HEADINGS | {
    "proof": "The statement or its proof needs a correction, the conclusion does not",
    "constant": "A constant changes",
    "wording": "Right in substance, with another argument",
    "unproved": "The published argument fails, and the statement is open",
    "undecided": "Undecided: it depends on a symbol or a formula that our copy may have lost",
    "empty": "Vacuous as printed",
    "holds-loosely": "True, and a constant could be sharper",
    "slip": "Slips of wording, whose meaning is clear",
}
#: The columns of `compared`, and whether numbers stand in them.
_COMPARED = [("part", False), ("entries", True), ("slack", True), ("error", True)]
_ROLES = {"printed": "As stated", "repaired": "Corrected"}
_FAILED = {
    "holds-loosely": "What could be sharper",
    "empty": "What is vacuous",
    "slip": "Where the slip is",
    "undecided": "What depends on our copy",
}
_FINDINGS = {
    "holds": "The published statement passes this test.",
    "holds-loosely": "The published statement passes this test, although its constant can be "
    "improved.",
    "proof-repaired": "The published statement passes this test, but it needs another proof than "
    "the published one; this page has it.",
    "empty": "The published statement passes this test, but it says nothing, because its "
    "assumptions cannot be met or its conclusion is trivial.",
    "slip": "Taken literally, the words fail this test; what they mean passes it.",
    "unproved": "The published argument fails this test, so the statement stays open; what we show "
    "instead passes the test.",
    "undecided": "One reading fails this test and another passes it, and our machine-converted "
    "copy does not say which of them is printed.",
    "false-repaired": "The statement as printed fails this test, and the corrected one passes it.",
    "refuted": "The statement as printed fails this test, and we know no correction.",
    "shape-only": "The rate passes this test; we claim nothing about constants.",
    "conjecture": "What we computed agrees with this conjecture, which nobody has proved here.",
    "definition": "This is a definition, so there is nothing to test.",
}


def state_words(claim: Claim, sizes: bool = True) -> str:
    """The state in words, ``holds (exact)`` or ``pending``, and whether privacy is broken.

    Of a theorem, or a proof for every ε, with the `sizes` that it speaks of.
    """
    evidence = EVIDENCE.get(level := next(iter(claim.levels), ""), level)
    scope = claim.formal["scope"] if claim.formal else claim.scope
    evidence = f"{evidence}: {scope}" if sizes and scope else evidence
    words, privacy = f" ({evidence})" * claim.checked, f" {PRIVACY_MARK}" * claim.breaks_privacy
    rebuilt = " as rebuilt here" if claim.rebuilt and claim.checked else ""
    return STATES[claim.state][1] + rebuilt + words + privacy


def badge_words(claim: Claim) -> str:
    """The state with its mark: ``✓ holds (exact)``."""
    return f"{STATES[claim.state][0]} {state_words(claim)}"


def chapter(claim: Claim) -> str:
    """Under which heading of `CHAPTERS` an erratum stands."""
    return claim.state if claim.state in CHAPTERS else str(claim.severity)


def failure_words(claim: Claim) -> str:
    """What of a claim failed, and what hangs on it; empty for a claim that leaves no erratum."""
    words = f"{failure_head(claim)}: the {claim.failed} (severity: {claim.severity})."
    return words if claim.failed else ""


def failure_head(claim: Claim) -> str:
    """What the field ``failed`` means under the verdict of the claim."""
    return _FAILED.get(claim.state, "What failed")


def tried_words(tried: Mapping[str, Sequence[Any]]) -> str:
    """The settings of a check: smallest and largest of each quantity, or the words."""
    settings = []
    for name, values in tried.items():
        if isinstance(values[0], str):
            settings.append(f"{name}: {', '.join(values)}")
        else:
            low, high = map(format_number, values)
            settings.append(f"{name} = {low}" if low == high else f"{name} from {low} to {high}")
    return f"Tried for {'; '.join(settings)}." if settings else ""


def run_words(claim: Claim, record: Record | None) -> str:
    """What this build has to say on a claim, in a few words."""
    if not claim.checked:
        return STATES[claim.state][1]
    if record is None:
        return "not run in this build"
    return "checked" if record["applies"] else "its conditions are not met at these parameters"


def format_number(value: Any) -> str:
    """A reported value for reading: six significant digits, tables by their size."""
    if not isinstance(value, list):
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    if len(value) <= 8 and all(isinstance(item, int | float) for item in value):
        return ", ".join(map(format_number, value))
    return f"{len(value)} rows"


def findings(record: Record, claim: Claim, problems: Sequence[str]) -> list[str]:
    """The outcome of a check in a few sentences; `problems` contradict the ledger."""
    if problems:
        return ["Not as recorded in the ledger: " + "; ".join(problems) + "."]
    if not record["applies"]:
        return [f"Not tested at these parameters: {str(record['why']).rstrip('.')}."]
    outcome = _FINDINGS.get(claim.state, "")
    for printed in ("The published statement", "The statement as printed"):
        if claim.paper == "BOOK":  # what is ours was never printed elsewhere
            outcome = outcome.replace(printed, "The statement")
        elif claim.rebuilt:
            outcome = outcome.replace(printed, "The statement as rebuilt here")
    beyond = f"Beyond these settings: {claim.beyond}" if claim.beyond else ""
    certified = f"Certified for every ε: {claim.scope}." if claim.formal and claim.scope else ""
    tried = tried_words(record.get("tried", {}))
    sentences = (outcome, failure_words(claim), tried, certified, beyond)
    return [*filter(None, sentences)]


def measurements(record: Record) -> list[str]:
    """What the test measured on each subject, one line each: printed, repaired, every control."""
    asserted = record["holds"] if record["repaired"] is None else record["repaired"]
    lines = []
    for entry in record["measured"]:
        # A passing subject passes every part; of a failing one, the parts that fail say why.
        parts = [part for part in entry["parts"] if part["passes"] is entry["passes"]]
        line = "; ".join(map(part_words, parts))
        if entry["subject"] == "control":
            caught = "caught" if entry["passes"] is not asserted else "NOT caught"
            lines.append(f"Negative control ({entry['name']}): {line}: {caught}.")
        else:
            lines.append(f"{_ROLES[entry['subject']]}: {line}.")
    return lines


def card_html(
    record: Record,
    claim: Claim,
    problems: Sequence[str] = (),
    href: str | None = None,
    around: str = "",
    proof: str = "",
) -> str:
    """The card below a check, with the id ``claim-<ID>``; `href` leads to its row in the ledger.

    `around` is HTML for its end: what the claim rests on, where the whole ledger is at hand;
    `proof`, before what was measured, is about its theorem.
    """
    state, outcome = badge_words(claim), claim.state
    if problems or not record["applies"]:
        state = f"{'! ' * bool(problems)}recorded as {state_words(claim)}"
        outcome = "contradiction" if problems else "outside"
    classes = f"claim-card claim-{outcome}" + " claim-privacy" * claim.breaks_privacy
    name = escape(claim.id)
    linked = f'<a href="{escape(href)}">{name}</a>' if href else name
    certified = f' data-certificate="{name}"' * ("certificate" in record)
    first, *more = findings(record, claim, problems)
    tried = [one for one in more if one.startswith(("Tried for ", "Certified for "))]
    more = [one for one in more if one not in tried]
    said = escape(" ".join([first, *tried, *controls_words(record)]))
    html = [
        f'<div class="{classes}" id="claim-{name}"{certified}>',
        f'<p><strong>{linked}</strong>: <span class="claim-state">{escape(state)}</span></p>',
        f"<p>{said}</p>",
        *[proof] * bool(proof),
        "<details><summary>What was measured</summary>",
        *[f"<p>{escape(' '.join(more))}</p>"] * bool(more),
    ]
    if lines := [f"<li>{escape(line)}</li>" for line in measurements(record)]:
        html.append(f'<ul class="claim-measured">{"".join(lines)}</ul>')
    numbers, tables = [], []
    for key, value in record["report"].items():
        label, hint = escape(claim.label(key)), escape(key)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = [[format_number(row[head]) for head in value[0]] for row in value]
            shown = table_html([(head, False) for head in value[0]], rows, caption=claim.label(key))
            tables.append(_folded(f'<summary title="{hint}">{label}: {len(value)} rows', shown))
        else:
            number = escape(format_number(value))
            if key in record.get("bounds", {}):
                low, high = record["bounds"][key]
                number += f" <small>(proved: from {low} to {high})</small>"
            numbers.append(f'<dt title="{hint}">{label}</dt><dd>{number}</dd>')
    html += ["<dl>", *numbers, "</dl>"] if numbers else []
    if record["measured"]:
        shown = table_html(_COMPARED, compared(record), caption="what was compared")
        tables.append(_folded("<summary>how strict this check is", shown))
    around = f"<p>{around}</p>" * bool(around)
    return "\n".join([*html, *tables, *filter(None, [around]), "</details>", "</div>"])


def controls_words(record: Record) -> list[str]:
    """How many of the negative controls were caught, as a sentence."""
    asserted = record["holds"] if record["repaired"] is None else record["repaired"]
    passed = [one["passes"] for one in record["measured"] if one["subject"] == "control"]
    if not passed or not record["applies"]:
        return []
    caught = sum(one is not asserted for one in passed)
    noun = "negative control was" if len(passed) == 1 else "negative controls were"
    return [f"{caught} of {len(passed)} {noun} caught."]


def compared(record: Record) -> list[list[str]]:
    """How strictly each part of the asserted statement compares: a row for each."""
    asserted = record["measured"][record["repaired"] is not None]
    rows = []
    for part in asserted["parts"]:
        numbers = (part.get("slack"), part.get("error"))
        shown = ("–" if number is None else f"{number:.3g}" for number in numbers)
        rows.append([part["what"], str(part.get("entries", "–")), *shown])
    return rows


def _folded(summary: str, table: str) -> str:
    return f"<details>{summary}</summary>\n{table}</details>"


def table_html(
    heads: Sequence[tuple[str, bool]],
    rows: Iterable[Sequence[str]],
    *,
    caption: str | None = None,
    header: int = 1,
    name: str | None = None,
) -> str:
    """A table; a head says whether numbers stand below it, and the first `header` columns name."""
    kinds = [' class="number"' * numbers for _, numbers in heads]
    tops = zip(kinds, heads, strict=True)
    top = "".join(f'<th scope="col"{kind}>{escape(head)}</th>' for kind, (head, _) in tops)
    html = [f'<table id="t-{escape(name)}">' if name else "<table>"]
    html += [f"<caption>{escape(caption)}</caption>"] if caption else []
    html += ["<thead>", f"<tr>{top}</tr>", "</thead>", "<tbody>"]
    for row in rows:
        cells = [
            f'<th scope="row"{kind}>{escape(text)}</th>'
            if at < header
            else f"<td{kind}>{escape(text)}</td>"
            for at, (text, kind) in enumerate(zip(row, kinds, strict=True))
        ]
        html.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*html, "</tbody>", "</table>"])


def card_text(record: Record, claim: Claim, problems: Sequence[str] = ()) -> str:
    """The same card as plain text."""
    lines = [f"{claim.id}: {state_words(claim)}", *findings(record, claim, problems)]
    numbers = [f"{claim.label(key)}: {format_number(x)}" for key, x in record["report"].items()]
    return "\n  ".join([*lines, *measurements(record), *numbers])


def state_counts(claims: Iterable[Claim]) -> dict[str, int]:
    """How many claims are in each state, in the order of `STATES`; states without any are 0."""
    counts = Counter(claim.state for claim in claims)
    return {state: counts[state] for state in STATES}


def ledger_text(
    ledger: Mapping[str, Claim], records: Iterable[Record] = (), width: int = 100
) -> str:
    """The ledger for a terminal, with the last records: a line per claim, and counts."""
    by_id = {record["id"]: record for record in records}
    rows = []
    for claim in ledger.values():
        run = run_words(claim, by_id.get(claim.id))
        state = state_words(claim, False) if run in ("checked", "pending") else run
        rows.append((claim.id, state, claim.notebook or "", " ".join(claim.says.split())))
    lines = [line if len(line) <= width else line[: width - 1] + "…" for line in aligned(rows)]
    counts = state_counts(ledger.values()).items()
    summary = ", ".join(f"{count} {STATES[state][1]}" for state, count in counts if count)
    return "\n".join([*lines, "", f"{len(ledger)} claims: {summary or 'none'}"])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with columns of one width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
