"""One judge: what a page says against a paper stands in the ledger, or the build fails.

A paragraph, box, label or caption with words of `WORDS` names, by a role or by `verdict_of`, a
claim of which the ledger says as much.  A broken privacy needs a claim of that severity, anything
else a claim with an erratum, or with a remark.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from dpbook.book.ledger.claims import Claim
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
