"""Mutants drawn at random: ``python tools/random_mutants.py --seed 1 --sample 100``.

The operators are those of cosmic-ray.  A site is a place where one kind applies; annotations,
docstrings, ``raise`` statements and ``__all__`` are left out.  Sites are drawn without replacement,
each module in proportion to its sites, and one mutant of each site.  A mutant is tried by the tests
that run its line, the fastest first, in forks of one process that has collected them; its functions
get the mutated code.  What no test notices there is imported anew and tried again.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cosmic_ray.ast import Visitor, ast_nodes, get_ast
from cosmic_ray.operators.provider import OperatorProvider
from scipy.stats import beta

sys.path.insert(0, str(Path(__file__).parent))
from mutant_session import QUIET, Session, compiled

from dpbook.book.about import commit
from dpbook.book.output import claim_folder, write_whole

CORE = OperatorProvider()
OPERATORS = [name for name in CORE if not name.startswith("Variable")]  # those take arguments
NEVER = {"name", "newline", "string", "endmarker", "fstring", "fstring_string"}
EXPLAINED = "book/trust/random_mutants.yml"
Mutant = dict[str, Any]


def left_out(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans without sites: annotations, raise statements, docstrings, ``__all__``, overloads."""
    spans: list[Any] = []
    for node in ast.walk(ast.parse(source)):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        type_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        listed = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Raise) or type_only or listed or text:
            parts.append(node)
        parts += [d for d in getattr(node, "decorator_list", []) if ast.unparse(d) == "overload"]
        spans += [((p.lineno, p.col_offset), (p.end_lineno, p.end_col_offset)) for p in parts if p]
    return spans


class Once(Visitor):
    """Applies one operator to the node of one number."""

    def __init__(self, operator: Any, number: int, index: int) -> None:
        self.operator, self.number, self.index, self.seen = operator, number, index, -1

    def visit(self, node: Any) -> Any:
        self.seen += 1
        return self.operator.mutate(node, self.index) if self.seen == self.number else node


def sites(source: str) -> list[list[Mutant]]:
    """The mutants of a module, those of one place and one kind together."""
    spans, found = left_out(source), {}
    operators = [(name, CORE[name]()) for name in OPERATORS]
    for number, node in enumerate(ast_nodes(get_ast(source))):
        if node.type in NEVER or getattr(node, "value", "") in tuple("()[]{}:,.="):
            continue
        for name, operator in operators:
            for index, (start, _) in enumerate(operator.mutation_positions(node)):
                if not any(low <= tuple(start) < high for low, high in spans):
                    place = {"operator": name, "number": number, "index": index, "line": start[0]}
                    kind = (name.partition("_")[0], start)
                    found.setdefault(kind, []).append(place | {"column": start[1]})
    return list(found.values())


def mutated(source: str, mutant: Mutant) -> str:
    """The source with one mutant."""
    once = Once(CORE[mutant["operator"]](), mutant["number"], mutant["index"])
    return once.walk(get_ast(source)).get_code()


def draw(sources: dict[str, str], sample: int, seed: int) -> tuple[list[Mutant], int]:
    """A stratified sample of sites in random order, one mutant of each; and all sites."""
    everywhere = {file: sites(source) for file, source in sources.items()}
    total, drawn = sum(map(len, everywhere.values())), []
    for file, there in everywhere.items():
        rng = random.Random(f"{seed} {file}")
        share = sample * len(there) / total
        wanted = min(int(share) + (rng.random() < share % 1), len(there))
        for mutant in (rng.choice(site) for site in rng.sample(there, wanted)):
            changed = mutated(sources[file], mutant)
            try:
                compiled(changed, file)
            except SyntaxError:  # no program, so nothing to notice
                continue
            old, new = sources[file].splitlines(), changed.splitlines()
            old, new = old[mutant["line"] - 1 :], new[mutant["line"] - 1 :]
            gone = mutant["operator"] == "RemoveDecorator"
            texts = {"old": old[0].strip(), "new": "" if gone else new[0].strip()}
            drawn.append({"file": file} | mutant | texts)
    random.Random(seed).shuffle(drawn)
    return drawn, total


def summary(tried: list[Mutant], why: list[dict[str, str]], **more: Any) -> dict[str, Any]:
    """What the book shows: shares with exact lower bounds at 95 %, and who survived, and why."""
    reasons = {(one["file"], one["old"], one["new"]): one["why"] for one in why}
    rows = [m | {"why": reasons.get((m["file"], m["old"], m["new"]), "")} for m in tried]
    left = [row for row in rows if row["state"] == "survived"]
    counts = {"tried": len(rows), "killed": len(rows) - len(left)}
    counts["explained"] = sum(bool(row["why"]) for row in left)
    bounds = {}
    for name, k in (
        ("killed", counts["killed"]),
        ("either", counts["killed"] + counts["explained"]),
    ):
        bounds[name] = float(beta.ppf(0.05, k, len(rows) - k + 1)) if k else 0.0
    modules: dict[str, Any] = {}
    for row in rows:
        module = modules.setdefault(row["file"], {"tried": 0, "killed": 0, "explained": 0})
        module["tried"] += 1
        module["killed"] += row["state"] != "survived"
        module["explained"] += bool(row["why"])
    keep = ("file", "line", "operator", "old", "new", "why")
    survivors = [{key: row[key] for key in keep} for row in left]
    return more | {"counts": counts, "at least": bounds, "modules": modules, "survivors": survivors}


def main(arguments: list[str] | None = None) -> int:
    """Try a sample; status 1 if a survivor has no explanation, 2 if nothing was tried."""
    parser = argparse.ArgumentParser(description="Would a mutant drawn at random be noticed?")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample", type=int, default=400, metavar="N")
    parser.add_argument("--minutes", type=float, default=600, help="stop after so many")
    parser.add_argument("--of", nargs="+", default=["privacy", "mechanisms", "rankers"])
    parser.add_argument("--package", default="dpbook", help="the folder above")
    parser.add_argument("--tests", nargs="+", default=["tests/test_*.py"], metavar="GLOB")
    parser.add_argument("--slow", type=float, default=2, help="leave out tests of more CPU seconds")
    parser.add_argument("--summary", type=Path, metavar="JSON", help="what the book shows")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    given = parser.parse_args(arguments)
    root = given.root
    files = sorted(f for part in given.of for f in (root / given.package / part).glob("*.py"))
    sources = {str(f.relative_to(root)): f.read_text(encoding="utf-8") for f in files}
    drawn, total = draw(sources, given.sample, given.seed)
    tests = sorted(str(path) for glob in given.tests for path in root.glob(glob))
    claim_folder(root / "_build")
    session = Session(root, sources, drawn, mutated, given)
    status = pytest.main([*QUIET, "--rootdir", str(root), *tests], plugins=[session])
    if status != 0 or not session.tried:
        print(f"nothing is written: pytest ended with {status}, {len(session.tried)} mutants tried")
        return 2
    path = root / EXPLAINED
    why = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else []
    facts = {"commit": commit(root), "seed": given.seed, "sample": len(drawn)}
    facts |= {"sites": total, "of": given.of, "slow": given.slow}
    facts |= {"tests": len(session.seconds), "left out": session.left_out}
    found = summary(session.tried, why or [], **facts)
    print(json.dumps(found["counts"] | {"at least": found["at least"]}))
    if given.summary:
        text = json.dumps(found, indent=1, ensure_ascii=False)
        write_whole(root / given.summary, text + "\n")
    return int(any(not one["why"] for one in found["survivors"]))


if __name__ == "__main__":
    sys.exit(main())
