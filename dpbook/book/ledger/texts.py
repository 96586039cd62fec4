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
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpbook.book.ledger.claims import Claim, raw_entries
from dpbook.book.pages import read_notebook

LIST = "book/typed.tsv"
#: What sounds like a verdict; a label is a charge even in two words.
WORDS = re.compile(
    r"\b(?:(?P<label>too little noise|broken promise)|(?P<privacy>"
    r"promise is broken|guarantees? (?:is|are|was|were) broken"
    r"|break(?:s|ing)? (?:a|an|the|its|their) (?:privacy )?(?:promise|guarantee)"
    r"|(?:is|are|was|were) not private)"
    r"|(?:is|are|was|were) (?:false|wrong(?! at most)|refuted|not true|in error|mistaken)"
    r"|false as printed|(?:does|do) not hold|slips?|misprints?|mistakes?|fails? as printed)\b",
    re.I,
)
_PAPERS = re.compile(r"\{cite|\b(?:AGKM|YLL|XSC|CCW2[35])\b")
#: What is judged on a page: a paper, or something that a paper prints.
_PRINTED = re.compile(
    rf"{_PAPERS.pattern}|\b(?:the paper|authors?|printed|prints)\b"
    r"|\b(?:Algorithm|Theorem|Proposition|Lemma|Corollary|Observation|Experiment) S?\d"
)
_ROLES = re.compile(r"\{(?:badge|claim-ref|verdict)\}`(?:[^`<]*<)?([\w.-]+)>?`|\{claim\} (.*)")
_CALLS = re.compile(r"\b(?:verdict_of|check)\(\s*['\"]([\w.-]+)")

#: Numbers that need no reason in any text: 0 to 2, and the usual confidence.
_PLAIN = {"0", "1", "2", "95", "99"}
_KINDS = (
    "theorem|lemma|corollar(?:y|ie)|proposition|section|figure|table|algorithm|remark|assumption|"
    "observation|equation|page|part|appendix|chapter|exercise|line|step|footnote|definition|game|"
    "experiment|schedule|scheme|version|cell|row|column|claim|example|type|reduction|property|bound"
)
#: What names a place or another page, and what is code, a role, a link, an option or a year.
_PLACES = re.compile(
    rf"`[^`]*`|\{{[a-z:-]+\}}|\]\([^)]*\)|https?://\S+|^:.*$|\b\d\d-[a-z-]+|"
    rf"\b(?:{_KINDS})s?[\s~]*\(?[A-Z]?\.?\d[\d.]*(?:\s*(?:,|–|to|and|or)\s*\(?[A-Z]?\.?\d[\d.]*)*|"
    r"\b(?:19|20)\d\d\b|\([A-Z]?\.?\d+(?:\.\d+)*\)|^ *\d+\. ",
    re.IGNORECASE | re.MULTILINE,
)
_MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
_SPLIT = re.compile(r"(?<=\d)(?:,|\{,\}|\\,|[ \u202f](?=\d{3}\b))(?=\d{3})")
_NUMBER = re.compile(r"(?<![\w.^_\\-])\d+(?:\.\d+)?(?:/[1-9]\d*)?(?![\w]|\.\d)")
_LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?:/[1-9]\d*)?")

#: A number as typed, the words around it, and the numbers that may stand there.
_Typed = tuple[str, str, set[float]]


def charges(page: Path, ledger: Mapping[str, Claim]) -> Iterator[str]:
    """One line for each charge of a page, a notebook or Markdown, that the ledger does not make."""
    if page.suffix == ".ipynb":
        about, cells = _PRINTED, read_notebook(page)["cells"]
    else:  # explains verdicts, too
        about, cells = _PAPERS, [{"cell_type": "markdown", "source": page.read_text("utf-8")}]
    for words, around, names in (text for cell in cells for text in _texts(cell)):
        claims = [ledger[name] for name in names if name in ledger]
        for sentence in re.split(r"(?<=[.!?:])\s+", words):
            verdict = WORDS.search(sentence)
            if not verdict or not about.search(around if verdict["label"] else sentence):
                continue
            grave = bool(verdict["privacy"] or verdict["label"])
            if not any(c.breaks_privacy if grave else c.is_erratum or c.remark for c in claims):
                kind = "whose severity is privacy" if grave else "with an erratum or a remark"
                said = " ".join(sentence.split())[:160]
                yield f"{page.stem}: {said!r} says {verdict[0]!r} and names no claim {kind}"


def _texts(cell: Mapping[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    """The texts of a cell, what stands around each, and the claims that it names.

    Of Markdown boxes of claims and theorems whole, all else by paragraph and item; of code the
    constants but for its controls, which are ours to break.
    """
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        boxes = re.split(r"(?ms)^(`{3,}\{(?:claim|prf:\w+)\}.*?^`{3,}$)", source)
        for at, part in enumerate(boxes):
            for words in [part] if at % 2 else re.split(r"\n\s*\n|\n(?=[*-] |\d+\. )", part):
                names = " ".join(map(" ".join, _ROLES.findall(words)))
                yield words, words, re.split(r"[,\s]+", names)
    elif cell["cell_type"] == "code":
        with suppress(SyntaxError):  # commands of IPython
            tree = ast.parse(source)
            for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
                call.keywords = [word for word in call.keywords if word.arg != "control"]
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value, source, _CALLS.findall(source)


def unbound_numbers(
    root: Path, records: Sequence[Mapping[str, Any]], pages: Sequence[str] | None = None
) -> list[str]:
    """One line for every typed number that is bound to nothing, or is listed without need.

    Of the ledger only the rows that these records speak of, and none where pages are named, since
    a reader's parameters bind other numbers.
    """
    paths = sorted((root / "notebooks").glob("*.ipynb"))
    texts = {path.stem: [*_on_page(path)] for path in paths if pages is None or path.stem in pages}
    names = {*texts}
    if pages is None:
        texts |= _in_ledger(root / "book" / "claims.yml", records)
    free = {
        (name, number): words
        for name, numbers in texts.items()
        for number, words, known in numbers
        if not _bound(number, known)
    }
    path = root / LIST
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = [line.split("\t") for line in lines]
    listed = {(row[0], row[1]) for row in rows if len(row) == 3 and row[2].strip()}
    problems = [
        f"{name}: the typed number {number} ({free[name, number]!r}) is no parameter, no setting "
        f"and nothing that was recorded; it comes from say(), or stands in {LIST} with a reason"
        for name, number in sorted(free.keys() - listed)
    ]
    idle = sorted(one for one in listed - free.keys() if one[0] in names)
    return [*problems, *(f"{name}: {LIST} lists {n}, which needs no reason" for name, n in idle)]


def _on_page(path: Path) -> Iterator[_Typed]:
    cells = read_notebook(path)["cells"]
    code = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    known = set(_numbers(re.sub(r"(?<=\d)_(?=\d)", "", code)))
    for cell in cells:
        shown = cell["metadata"].get("mystnb", {})
        words = (shown.get("figure", {}).get("caption"), shown.get("image", {}).get("alt"))
        markdown = cell["cell_type"] == "markdown"
        text = "".join(cell["source"]) if markdown else "\n".join(filter(None, words))
        yield from _typed(text, known)


def _in_ledger(path: Path, records: Iterable[Mapping[str, Any]]) -> dict[str, list[_Typed]]:
    """For each claim with a record the numbers of its erratum and its labels."""
    recorded: dict[str, set[float]] = {}
    for record in records:
        fields = [record.get(name) for name in ("report", "measured", "tried", "parameters")]
        recorded.setdefault(record["id"], set()).update(_numbers(json.dumps(fields)))
    texts = {}
    for entry in raw_entries(path) if path.is_file() else []:
        if (name := str(entry["id"])) in recorded:
            stated = " ".join(str(entry.get(field)) for field in ("says", "printed", "quote"))
            words = [entry.get(field) or "" for field in ("heading", "wrong", "repair")]
            words += (entry.get("labels") or {}).values()
            known = recorded[name].union(_numbers(stated))
            texts[name] = [one for text in words for one in _typed(str(text), known)]
    return texts


def _typed(text: str, known: set[float]) -> Iterator[_Typed]:
    """The numbers of a text; of a formula those of two digits or more."""
    text = _SPLIT.sub("", _PLACES.sub(" ", text))
    parts = [(False, _MATH.sub(" ", text)), *((True, one) for one in _MATH.findall(text))]
    for formula, part in parts:
        for match in _NUMBER.finditer(part):
            number = match.group()
            if number not in _PLAIN and not (formula and len(number) == 1):
                start = max(match.start() - 30, 0)
                yield number, " ".join(part[start : match.end() + 20].split()), known


def _numbers(text: str) -> Iterator[float]:
    for literal in _LITERAL.findall(text):
        above, _, below = literal.partition("/")
        yield from (float(above), float(above) / float(below or 1))


def _bound(number: str, known: set[float]) -> bool:
    """Whether a number, to its digits, is a known one, or that as a percentage."""
    value = float(Fraction(number))
    room = 0.5 * 10.0 ** -len(number.partition(".")[2]) if "." in number else 1e-9
    return any(abs(one * times - value) <= room * (1 + 1e-9) for one in known for times in (1, 100))
