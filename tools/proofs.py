"""Compile ``proofs/`` and have it checked again: ``make proofs``.

Each claim of the ledger with a theorem needs ``T : T_says ...`` and ``T_control : ~ T_says ...``,
perhaps for all of something, where the falsified statement refuses the proof of T.  What Rocq
prints of them is compared with ``book/trust/proofs.json``; ``--update`` writes it.
"""

import json
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from dpbook.book.files import claim_folder, read_json, write_whole
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.run.keys import digest

ROOT = Path(__file__).resolve().parents[1]
#: What compiles, orders and checks again, by the name of Rocq and by that of Coq.
PROGRAMS = (
    (["rocq", "compile"], ["rocq", "dep"], ["rocqchk"]),
    (["coqc"], ["coqdep"], ["coqchk"]),
)
MISSING = (
    "make proofs needs Rocq, 8.16 or newer, which is not installed: `apt-get install coq` on "
    "Debian and Ubuntu, `brew install coq` on macOS, or `opam install coq`"
)
HEAD = ROOT / "tools" / "said.v"
RECORD = "book/trust/proofs.json"
OURS = ["-Q", ".", "Ranking"]
#: Those of the classical real numbers in the standard library.
AXIOMS = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "Classical_Prop.classic",
    "FunctionalExtensionality.functional_extensionality_dep",
}
_UNPROVED = re.compile(r"\b(admit|give_up|Admitted|Axioms?|Parameters?|Conjectures?)\b")
_SECTIONS = re.compile(r"\b(?:(Section)|(End)|Hypothes[ei]s|Variables?|Context)\b")
_COMMENT = re.compile(r"\(\*(?:(?!\(\*|\*\)).)*\*\)", re.DOTALL)


class Refused(Exception):
    """Why the proofs are not accepted."""


def run(where: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode:
        raise Refused(f"{' '.join(command)}:\n{said.strip()[-2000:]}")
    return said


def unproved(text: str) -> list[str]:
    """The words of a file, outside comments, that leave something without a proof."""
    while (shorter := _COMMENT.sub(" ", text)) != text:
        text = shorter
    found, depth = _UNPROVED.findall(text), 0
    for word in _SECTIONS.finditer(text):
        depth += bool(word[1]) - bool(word[2])
        found += [word[0]] * (not word[1] and not word[2] and depth == 0)
    return found


def printed(where: Path, compiles: list[str], asked: dict[str, str]) -> dict[str, str]:
    """What Rocq prints under each name for the commands that stand there."""
    modules = " ".join(sorted(path.stem for path in where.glob("*.vo")))
    parts = (f'Goal True. idtac "@@ {name}". Abort.\n{words}\n' for name, words in asked.items())
    folder = where / "said"  # apart, so that it is no module of ours
    folder.mkdir(exist_ok=True)
    text = HEAD.read_text(encoding="utf-8") + f"From Ranking Require {modules}.\n"
    text += "".join(parts) + 'Goal True. idtac "@@ ". Abort.\n'
    (folder / "Said.v").write_text(text, encoding="utf-8")
    found = re.split(r"(?m)^@@ (.*)\n", run(where, *compiles, *OURS, "said/Said.v"))[1:]
    said = dict(zip(found[::2], found[1::2], strict=True))  # after the last, any warnings
    return {name: said[name].strip() for name in asked}


def statements(where: Path, compiles: list[str], theorems: list[str]) -> dict[str, Any]:
    """Of each theorem its statement, its control and its axioms; and the definitions in them."""
    asked, stems = {}, {}
    for name, text in printed(where, compiles, {one: f"Check {one}." for one in theorems}).items():
        stem, says_so, _ = text.split()[2].partition("_says")
        if not says_so:
            raise Refused(f"{name} does not say T_says: {text}")
        stems[name] = stem
        says, control = f"constr:(@{stem}_says)", f"{stem}_control"
        asked[name] = f"Goal True. let P := type of {name} in says {says} P. Abort. Check {name}."
        asked[control] = f"Goal True. falsified {name} {says} {control}. Abort. Check {control}."
        both = f"both_{len(asked)}"
        asked[f"@{name}"] = f"Definition {both} := conj {name} {control}. Print Assumptions {both}."
    said = printed(where, compiles, asked)
    ours = re.compile(rf"\b(?:{'|'.join(path.stem for path in where.glob('*.vo'))})(?:\.[\w']+)+")
    definitions: dict[str, str] = {}
    while todo := {f"{stem}_says" for stem in stems.values()}.union(
        *map(ours.findall, definitions.values())
    ) - {*definitions}:
        found = printed(where, compiles, {name: f"Print {name}." for name in sorted(todo)})
        ends = r"\n     : |\n\nArguments"  # its type, and how its arguments are written
        definitions |= {name: re.split(ends, text)[0] for name, text in found.items()}
    told = {}
    for name, stem in stems.items():
        uses = [f"{stem}_says"]
        for one in uses:  # which grows
            uses += [x for x in dict.fromkeys(ours.findall(definitions[one])) if x not in uses]
        axioms = {*re.findall(r"(?m)^(?!Axioms:|Closed under)(\S+)", said[f"@{name}"])}
        if axioms - AXIOMS:
            raise Refused(f"{name} rests on {', '.join(sorted(axioms - AXIOMS))}")
        shown = [" ".join(said[one].split()) for one in (name, f"{stem}_control")]
        told[name] = {"shown": shown, "axioms": sorted(axioms), "uses": uses}
    return {"theorems": told, "definitions": dict(sorted(definitions.items()))}


def checked(
    root: Path, compiles: list[str], orders: list[str], checks: list[str], update: bool
) -> str:
    """Compile all, check all again, and compare with what is kept; the outcome in a sentence."""
    start, sources = time.monotonic(), sorted((root / "proofs").glob("*.v"))
    for path in sources:
        if words := unproved(path.read_text(encoding="utf-8")):
            raise Refused(f"{path.name} leaves something without a proof: {', '.join(words)}")
    where = claim_folder(root / "_build") / "rocq"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    exported = (root / "_build" / "proofs").glob("*.v")  # certificates of the book that is there
    names = [shutil.copy2(path, where / path.name).name for path in (*sources, *exported)]
    lines = re.findall(r"(?m)^(\w+)\.vo\b[^:]*:(.*)", run(where, *orders, *OURS, *names))
    needs = {name: {*re.findall(r"(\w+)\.vo\b", rest)} & {*dict(lines)} for name, rest in lines}
    order = TopologicalSorter(needs)
    order.prepare()
    with ThreadPoolExecutor(2) as pool:
        while group := order.get_ready():
            [*pool.map(lambda name: run(where, *compiles, *OURS, f"{name}.v"), group)]
            order.done(*group)
        ours = (f"Ranking.{name}" for name in needs)
        again = pool.submit(run, where, *checks, "-silent", "-o", *OURS, *ours)
        ledger = load_ledger(root / "book" / "claims.yml").values()
        theorems = sorted({claim.formal["theorem"] for claim in ledger if claim.formal})
        now = statements(where, compiles, theorems)
    if assumed := re.findall(r"Ranking\.\S+", again.result()):
        raise Refused(f"assumed without a proof: {', '.join(assumed)}")
    name = re.search(r"(Coq|Rocq)\D+([\d.]*\d)", run(where, *compiles, "--version"))
    version = " ".join(name.groups())
    seconds = round(time.monotonic() - start)
    now = {"version": version, "seconds": seconds, "digest": digest(root, sources), **now}
    text = json.dumps(now, indent=1, ensure_ascii=False) + "\n"
    kept = read_json(root / RECORD) or {}
    # another version may print the same statement otherwise
    same = ("digest", "definitions", "theorems")[: 1 + 2 * (kept.get("version") == version)]
    if update:
        write_whole(root / RECORD, text)
    elif moved := [name for name in same if kept.get(name) != now[name]]:
        raise Refused(
            f"{RECORD} has other {', '.join(moved)}; if every statement still says what its claim "
            "says: make proofs ARGS=--update, and read `git diff`"
        )
    write_whole(where / "proofs.json", text)
    return f"{version}: {len(theorems)} theorems in {len(names)} files, {seconds} s"


def main(root: Path = ROOT, update: bool = False) -> int:
    ready = (names for names in PROGRAMS if all(shutil.which(program[0]) for program in names))
    if not (programs := next(ready, None)):
        print(MISSING, file=sys.stderr)
        return 1
    try:
        print(checked(root, *programs, update))
    except Refused as why:
        print(f"the proofs are refused: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(update="--update" in sys.argv[1:]))
