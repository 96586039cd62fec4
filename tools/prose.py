"""Measure the prose of pages, and name what a reader stumbles over: ``prose.py FILE...``.

A page passes if its sentences have 15 to 21 words in the mean and at most 17 % have eight or fewer;
if people act in them (*we*, *you*: at least 18 in 100 sentences) for reasons (*because*, *so that*,
*although*: at least 18); if it has at most four words of our own, no listed pattern, its first
figure within 400 words, and captions whose first sentence has a verb.  The numbers find pages for
an editor's eye, which decides.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

#: Contents that are no running text.
_NO_PROSE = {"try", "answer", "list-table", "math", "claim", "prf:algorithm", "bash", "code-block"}
_NO_PROSE |= {"solution-start", "solution-end", "raw", "claims-map", "reading-plan", "eval-rst"}
_OWN = r"""\b(twins?|islands?|bundles?|rails|cards?|tiers?|shape\ only|ladders?|crowds?|rankers?|
    contests?|helpers?|camps?|ledger|laws?(?!\ of\ large))\b"""
_ODD = r"""\b(in\ the\ place\ of|who(so)?ever|somebody\ who|by\ lot|at\ hand|so\ read|defeats|
    less\ th(e|ose)|turn(s|ed)?\ (\w+\ )?round|mend(s|ed|ing)?|told\ apart|none\ does|
    dearer|as\ surely|stands?(?!\ for|\ out|\ still)|for\ ever|upside\ down|but\ for)\b|
    charge[sd](?!\ of)\b|^(Ours|Judged|To\ be)\b"""
_WHY = r"""\b(because|since|so\ that|although|though|whereas|while|therefore|however|thus|hence|
    unless|for\ (example|instance)|in\ (other\ words|particular|order\ to)|that\ is,|as\ a\ result|
    instead|which\ means|even\ if|otherwise)\b|(^|,\ )so\b|^(But|Yet)\b"""
_VERB = r"""\b(is|are|was|were|has|have|had|can(not)?|may|must|do(es)?|[a-z]+(s|es|ed)|stay|need|
    cost|change|find|beat|fall|rise|lose|move|keep|show|win|err|reach|grow|differ|hold|give|make|take|meet|
    decide|agree|follow|lie|become|help|remain|approach|leave|cover|share|add|begin|miss)\b"""
_WE = r"\b(we|our|us|you|your)\b"
_PARSER = create_md_parser(
    MdParserConfig(
        enable_extensions={"dollarmath", "amsmath", "colon_fence", "deflist", "tasklist"}
    ),
    RendererHTML,
)


def text_of(markdown: str) -> str:
    """The running text: paragraphs apart; a formula, code or a number is one word."""
    pieces, silent = [], 0
    for token in _PARSER.parse(re.sub(r"(?m)^(\W*)\*\*[^*\n]+[.:?]\*\*\s", r"\1", markdown)):
        silent += token.nesting * (token.type[:5] in ("headi", "table"))
        if token.type in ("fence", "colon_fence"):
            name = re.match(r"\{([\w:-]+)\}", token.info.strip())
            if name and name[1] not in _NO_PROSE:
                pieces.append(text_of(re.sub(r"(?m)\A(:[\w-]+:.*\n)+", "", token.content)))
            pieces.append("\n\n")
        elif token.type.startswith(("math_block", "amsmath")):
            pieces[-1:] = [" Formula" + "." * token.content.strip().endswith(".") + " "]
        elif token.type == "inline" and not silent:
            pieces += ["".join(map(_word, token.children or ())), "\n\n"]
    return "".join(pieces)


def _word(token: Any) -> str:
    if token.type == "myst_role":
        name = token.meta["name"]
        return "" if name in ("cite:p", "badge") else re.sub(r" *<.*>", "", token.content)
    if token.type in ("math_inline", "code_inline"):
        return "Formula"
    return " " if token.type.endswith("break") else token.content


def sentences(text: str) -> Iterator[str]:
    """The sentences; heads and items of lists that end without a stop are none."""
    text = re.sub(r"\b(e\.g|i\.e|et al|cf|vs)\.|(?<=\d)\.(?=\d)", r"\1", text)
    for paragraph in text.split("\n\n"):
        for one in re.split(
            r"(?<=[.!?])[\"”)]*\s+(?=[\"“(]?[A-Z0-9])", " ".join(paragraph.split())
        ):
            if re.search(r"[.!?:][\"”)]*$", one) and len(one.split()) > 1:
                yield one


def faults(path: Path) -> list[str]:
    """What a page misses, a line each."""
    source, notebook = path.read_text("utf-8"), path.suffix == ".ipynb"
    page: dict[str, Any] = {"cell_type": "markdown", "source": source}
    cells: list[dict[str, Any]] = json.loads(source)["cells"] if notebook else [page]
    text, before, captions = "", [0], []
    for cell in cells:
        if cell["cell_type"] == "markdown":
            text += text_of("".join(cell["source"])) + "\n\n"
        elif figure := cell.get("metadata", {}).get("mystnb", {}).get("figure"):
            captions.append(figure["caption"])
            before.append(len(text.split()))
    mute = [c for c in captions if not _found(_VERB, re.split(r"(?<=[.:])\s", c)[0])]
    wrong = [f"a caption begins without a verb: {caption[:60]}" for caption in mute]
    if before[1:] and before[1] > 400:
        wrong.append(f"{before[1]} words before the first figure; allowed are 400")
    said = [*sentences(text)]
    wrong += [f"[{odd}] {one[:90]}" for one in said + captions for odd in _found(_ODD, one)]
    if not notebook or not said:
        return wrong
    lengths = [len(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", one)) for one in said]
    each = 100 / len(said)
    own = {word.lower().rstrip("s") for word in _found(_OWN, " ".join(said + captions))}
    for words, value, least, most in (
        ("words in a sentence", sum(lengths) / len(said), 15, 21),
        ("% of sentences have at most 8 words", each * sum(n <= 8 for n in lengths), 0, 17),
        ("we and you in 100 sentences", each * len(_found(_WE, "\n".join(said))), 18, 999),
        ("reasons in 100 sentences", each * len(_found(_WHY, "\n".join(said))), 18, 999),
        ("words of our own", len(own), 0, 4),
    ):
        if not least <= value <= most:
            wrong.append(f"{value:.1f} {words}; allowed are {least} to {most}")
    return wrong


def _found(pattern: str, text: str) -> list[str]:
    return [hit[0] for hit in re.finditer(f"(?mix){pattern}", text)]


if __name__ == "__main__":
    problems = [f"{name}: {one}" for name in sys.argv[1:] for one in faults(Path(name))]
    print("\n".join([*problems, f"{len(problems)} places for an editor's eye"]))
    raise SystemExit(bool(problems))
