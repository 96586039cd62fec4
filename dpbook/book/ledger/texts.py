"""What the texts of the book say: every charge stands in the ledger, every typed number is bound.

A paragraph, box, label or caption with words of `WORDS` names, by a role or by `verdict_of`, a
claim of which the ledger says as much.  A broken privacy needs a claim of that severity, anything
else a claim with an erratum, or with a remark.

In a text of a page a number is a parameter, one that its code has, or one of the list; in an
erratum or a label it is one that the row's check recorded, one of the statement, or one of the
list.  What a run found comes from `say` and is not typed.  The list is ``book/typed.tsv``: the
page, or the row of the ledger, the number and why it stands there.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpbook.book.ledger.claims import Claim, raw_entries
from dpbook.book.pages import read_notebook

#: What is a charge even in a label of two words.
_LABEL = r"too little noise|broken promise"
_PRIVACY = (
    r"promise is broken|guarantees? (?:is|are|was|were) broken"
    r"|break(?:s|ing)? (?:a|an|the|its|their) (?:privacy )?(?:promise|guarantee)"
    r"|(?:is|are|was|were) not private"
)
_OTHER = (
    r"(?:is|are|was|were) (?:false|wrong(?! at most)|refuted|not true|in error|mistaken)"
    r"|false as printed"
    r"|(?:does|do) not hold|slips?|misprints?|mistakes?|fails? as printed"
)
#: What sounds like a verdict.
WORDS = re.compile(rf"\b(?:(?P<label>{_LABEL})|(?P<privacy>{_PRIVACY})|{_OTHER})\b", re.I)
#: What is judged: a paper, or something that a paper prints.
PAPERS = re.compile(
    r"\{cite|\b(?:AGKM|YLL|XSC|CCW2[35])\b|\b(?:the paper|authors?|printed|prints)\b"
    r"|\b(?:Algorithm|Theorem|Proposition|Lemma|Corollary|Observation|Experiment) S?\d"
)
_NAMES = re.compile(r"\{cite|\b(?:AGKM|YLL|XSC|CCW2[35])\b")
_ROLES = re.compile(r"\{(?:badge|claim-ref|verdict)\}`(?:[^`<]*<)?([\w.-]+)>?`")
_CALLS = re.compile(r"\b(?:verdict_of|check)\(\s*['\"]([\w.-]+)")


def charges(page: Path, ledger: Mapping[str, Claim]) -> Iterator[str]:
    """One line for each charge of a page, a notebook or Markdown, that the ledger does not make."""
    if page.suffix == ".ipynb":
        about, cells = PAPERS, read_notebook(page)["cells"]
    else:  # explains verdicts, too
        about, cells = _NAMES, [{"cell_type": "markdown", "source": page.read_text("utf-8")}]
    told: list[tuple[str, str, list[str]]] = []  # words, what stands around them, named claims
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            for words in _paragraphs(source):
                named = [*_ROLES.findall(words), *re.findall(r"\{claim\} (.*)", words)]
                names = [name for one in named for name in re.split(r"[,\s]+", one)]
                told += [(words, words, names)]
        elif cell["cell_type"] == "code":
            told += [(words, source, _CALLS.findall(source)) for words in _texts(source)]
    for words, around, names in told:
        claims = [ledger[name] for name in names if name in ledger]
        for sentence in re.split(r"(?<=[.!?:])\s+", words):
            found = WORDS.search(sentence)
            if not found or not about.search(around if found["label"] else sentence):
                continue
            grave = bool(found["privacy"] or found["label"])
            if not any(c.breaks_privacy if grave else c.is_erratum or c.remark for c in claims):
                kind = "whose severity is privacy" if grave else "with an erratum or a remark"
                said = " ".join(sentence.split())[:160]
                yield f"{page.stem}: {said!r} says {found[0]!r} and names no claim {kind}"


def _paragraphs(text: str) -> Iterator[str]:
    """Boxes of claims and theorems whole; all other text by paragraph and item."""
    boxes = re.split(r"(?ms)^(`{3,}\{(?:claim|prf:\w+)\}.*?^`{3,}$)", text)
    for at, part in enumerate(boxes):
        yield from [part] if at % 2 else re.split(r"\n\s*\n|\n(?=[*-] |\d+\. )", part)


def _texts(code: str) -> Iterator[str]:
    """The constant texts of a cell but for its twins, which are ours to break."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # commands of IPython
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        call.keywords = [word for word in call.keywords if word.arg != "twin"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


LIST = "book/typed.tsv"
#: Numbers that need no reason in any text: 0 to 2, and the usual confidence.
_PLAIN = {"0", "1", "2", "95", "99"}
_ERRATUM = ("heading", "wrong", "repair")
_STATED = ("says", "printed", "quote")
_PLACE = (
    "theorem|lemma|corollar(?:y|ie)|proposition|section|figure|table|algorithm|remark|assumption|"
    "observation|equation|page|part|appendix|chapter|exercise|line|step|footnote|definition|game|"
    "experiment|schedule|scheme|version|cell|row|column|claim|example|type|reduction|property|bound"
)
#: What names a place or another page, and what is code, a role, a link, an option or a year.
_PLACES = re.compile(
    rf"`[^`]*`|\{{[a-z:-]+\}}|\]\([^)]*\)|https?://\S+|^:.*$|\b\d\d-[a-z-]+|"
    rf"\b(?:{_PLACE})s?[\s~]*\(?[A-Z]?\.?\d[\d.]*(?:\s*(?:,|–|to|and|or)\s*\(?[A-Z]?\.?\d[\d.]*)*|"
    r"\b(?:19|20)\d\d\b|\([A-Z]?\.?\d+(?:\.\d+)*\)|^ *\d+\. ",
    re.IGNORECASE | re.MULTILINE,
)
_MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
_SPLIT = re.compile(r"(?<=\d)(?:,|\{,\}|\\,|[ \u202f](?=\d{3}\b))(?=\d{3})")
_NUMBER = re.compile(r"(?<![\w.^_\\-])\d+(?:\.\d+)?(?:/[1-9]\d*)?(?![\w]|\.\d)")
_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?:/[1-9]\d*)?")


def unbound_numbers(
    root: Path, records: Sequence[Mapping[str, Any]], pages: Sequence[str] | None = None
) -> list[str]:
    """One line for every typed number that is bound to nothing, or is listed without need.

    Of the ledger only the rows that these records speak of, and none where pages are named, since
    a reader's parameters bind other numbers.
    """
    free: dict[tuple[str, str], str] = {}
    found = sorted((root / "notebooks").glob("*.ipynb"))
    names = {page.stem: page for page in found if pages is None or page.stem in pages}
    rows_too = _in_ledger(root, records) if pages is None else ()
    for name, number, words, known in (*_on_pages(names.values()), *rows_too):
        if not _bound(number, known):
            free[name, number] = words
    path = root / LIST
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = [line.split("\t") for line in lines]
    needs = f"{LIST}: a line needs page, number and why, got"
    told = [f"{needs} {row!r}" for row in rows if len(row) != 3 and pages is None]
    listed = {(row[0], row[1]) for row in rows if len(row) == 3 and row[2].strip()}
    told += [
        f"{name}: the typed number {number} ({free[name, number]!r}) is no parameter, no setting "
        f"and nothing that was recorded; it comes from say(), or stands in {LIST} with a reason"
        for name, number in sorted(free.keys() - listed)
    ]
    idle = sorted(one for one in listed - free.keys() if one[0] in names)
    return [*told, *(f"{name}: {LIST} lists {n}, which needs no reason" for name, n in idle)]


def _on_pages(paths: Iterable[Path]) -> Iterator[tuple[str, str, str, set[float]]]:
    """Page, number as typed, the words around it, and the numbers of the page's code."""
    for path in paths:
        cells = read_notebook(path)["cells"]
        code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        known = set(_numbers(re.sub(r"(?<=\d)_(?=\d)", "", code)))
        for cell in cells:
            shown = cell["metadata"].get("mystnb", {})
            words = (shown.get("figure", {}).get("caption"), shown.get("image", {}).get("alt"))
            markdown = cell["cell_type"] == "markdown"
            text = "".join(cell["source"]) if markdown else "\n".join(filter(None, words))
            for number, around in typed(text):
                yield path.stem, number, around, known


def _in_ledger(
    root: Path, records: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str, str, set[float]]]:
    """Row, number as typed, the words around it, and what its check recorded."""
    fields = ("report", "measured", "tried", "parameters")
    recorded: dict[str, set[float]] = {}
    for record in records:
        found = recorded.setdefault(record["id"], set())
        found.update(_numbers(json.dumps([record.get(field) for field in fields])))
    ledger = root / "book" / "claims.yml"
    for entry in raw_entries(ledger) if ledger.is_file() else []:
        if (name := str(entry["id"])) in recorded:
            known = recorded[name].union(_numbers(" ".join(str(entry.get(f)) for f in _STATED)))
            texts = [entry.get(field) or "" for field in _ERRATUM]
            for text in (*texts, *(entry.get("labels") or {}).values()):
                for number, around in typed(str(text)):
                    yield name, number, around, known


def typed(text: str) -> Iterator[tuple[str, str]]:
    """The numbers of a text with the words around; of a formula those of two digits or more."""
    text = _SPLIT.sub("", _PLACES.sub(" ", text))
    parts = [(False, _MATH.sub(" ", text)), *((True, one) for one in _MATH.findall(text))]
    for formula, part in parts:
        for found in _NUMBER.finditer(part):
            number = found.group()
            if number not in _PLAIN and not (formula and len(number) == 1):
                start = max(found.start() - 30, 0)
                yield number, " ".join(part[start : found.end() + 20].split())


def _numbers(text: str) -> Iterator[float]:
    for found in _LITERAL.findall(text):
        above, _, below = found.partition("/")
        yield from (float(above), float(above) / float(below or 1))


def _bound(number: str, known: set[float]) -> bool:
    """Whether a number, to its digits, is a known one, or that as a percentage."""
    value = float(Fraction(number))
    room = 0.5 * 10.0 ** -len(number.partition(".")[2]) if "." in number else 1e-9
    return any(abs(one * times - value) <= room * (1 + 1e-9) for one in known for times in (1, 100))
