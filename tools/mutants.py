"""Would the checks notice? ``python tools/mutants.py`` makes one defect after the other.

``tests/mutants.yml`` lists them: ``id``, ``file``, ``kind``, the text ``old`` that stands there
exactly once (else the entry is stale, and told as such at the end), ``new`` in its place, ``why``
it matters, and ``by``, what must notice: a test
(``tests/test_x.py::test_y``), a page against what is kept of it (``page 17``), or a program of
the environment (``lint-imports``).  Each must pass without any defect, else it notices nothing.
With ``equivalent``, the reason why nothing can notice, it must pass with the defect, too.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import yaml

from dpbook.book.files import claim_folder, commit, write_whole

Mutant = dict[str, Any]
LIST = "tests/mutants.yml"
FIELDS = {"id", "file", "kind", "old", "new", "why", "by"}
GOOD = ("caught", "equivalent")
BAD = ("survived", "not equivalent", "stale", "nothing to catch with")
APART = (LIST, "tools/mutants.py", "book/trust/")  # no result depends on them


def load(root: Path) -> list[Mutant]:
    """The list; a ValueError if an entry has other fields, or an id stands twice."""
    mutants: list[Mutant] = yaml.safe_load((root / LIST).read_text(encoding="utf-8"))
    for number, mutant in enumerate(mutants):
        name, fields = mutant.get("id", f"entry {number}"), mutant.keys() - {"equivalent"}
        if fields != FIELDS:
            raise ValueError(f"{name}: allowed are {sorted(FIELDS)}, not {sorted(fields)}")
    if twice := [name for name, n in Counter(m["id"] for m in mutants).items() if n > 1]:
        raise ValueError(f"{twice[0]} is an id twice: allowed is once")
    return mutants


def stale(root: Path, mutant: Mutant) -> str:
    """Why an entry fits its file no longer; empty if it does."""
    path = root / mutant["file"]
    times = path.read_text(encoding="utf-8").count(mutant["old"]) if path.is_file() else None
    if times == 1:
        return ""
    words = "there is no such file" if times is None else f"{mutant['old']!r} occurs {times} times"
    return f"{mutant['id']}: {mutant['file']}: {words}"


class Copy:
    """A copy of the files, and what runs checks in it."""

    def __init__(self, root: Path, files: list[str], place: Path) -> None:
        self.place, self._server = place, None
        self._given: dict[str, Any] = {
            "cwd": place,
            "env": os.environ | {"PYTHONPATH": str(place)},
            "stderr": subprocess.DEVNULL,
        }
        for name in files:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((root / name).read_bytes())

    def write(self, file: str, text: bytes) -> None:
        """Replace a file, and forget its bytecode, which is told apart by whole seconds only."""
        path = self.place / file
        path.write_bytes(text)
        for stale in path.parent.glob(f"__pycache__/{path.stem}.*"):
            stale.unlink()

    def run(self, by: str, limit: float) -> tuple[int | None, float]:
        """The exit status, None if it took longer than the limit; and the seconds."""
        start, (first, *rest) = time.perf_counter(), shlex.split(by)
        if first.startswith("tests/"):
            status = self._test([limit, first, *rest])
        else:
            status = self._program(first, rest, limit)
        return status, round(time.perf_counter() - start, 1)

    def _test(self, line: list[Any]) -> int | None:
        if self._server is None:
            server = [sys.executable, str(Path(__file__).with_name("forked_tests.py"))]
            self._server = subprocess.Popen(server, stdin=-1, stdout=-1, **self._given)
        self._server.stdin.write(json.dumps(line).encode() + b"\n")
        self._server.stdin.flush()
        if not (answer := self._server.stdout.readline()):
            raise RuntimeError("the process that runs the tests has ended")
        return json.loads(answer)

    def _program(self, first: str, rest: list[str], limit: float) -> int | None:
        words = [str(Path(sys.executable).with_name(first)), *rest]
        if first == "page":
            words = [str(Path(sys.executable).with_name("dpbook")), "run", *rest]
            words += ["--profile", "smoke", "--no-html"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **self._given}
        with subprocess.Popen(words, start_new_session=True, **quiet) as process:
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.communicate()


def tracked(root: Path) -> list[str]:
    """The files of the project."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, stdout=-1, check=True).stdout
    return [name for name in listed.decode().split("\0") if (root / name).is_file()]


def keys(root: Path, files: list[str], mutants: list[Mutant]) -> dict[str, str]:
    """What a result depends on: the entry, its test file, and all files that are no tests."""

    def digest(text: bytes) -> str:
        return hashlib.sha256(text).hexdigest()[:16]

    own = {name: digest((root / name).read_bytes()) for name in files if not name.startswith(APART)}
    all_else = [pair for pair in own.items() if not Path(pair[0]).name.startswith("test_")]
    tests = {m["id"]: own.get(m["by"].partition("::")[0].split()[0]) for m in mutants}
    return {m["id"]: digest(json.dumps([m, tests[m["id"]], all_else]).encode()) for m in mutants}


def run_all(root: Path, mutants: list[Mutant], output: Path, jobs: int) -> dict[str, Any]:
    """Results by id; `output` is written after each one, and what it holds is not run again."""
    files = tracked(root)
    wanted, copies = keys(root, files, mutants), SimpleQueue[Copy]()
    found = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
    done = {n for n, r in found.items() if r["key"] == wanted.get(n) and r["state"] in GOOD}
    todo: dict[str, list[Mutant]] = {}
    for mutant in (m for m in mutants if m["id"] not in done and not stale(root, m)):
        todo.setdefault(mutant["by"].partition("::")[0], []).append(mutant)

    def try_one(mutant: Mutant, copy: Copy, usual: float) -> tuple[str, float]:
        before = (root / mutant["file"]).read_bytes()
        copy.write(mutant["file"], before.replace(mutant["old"].encode(), mutant["new"].encode()))
        status, seconds = copy.run(mutant["by"], max(60.0, 5 * usual))
        copy.write(mutant["file"], before)
        noticed = status in (1, None)
        if "equivalent" in mutant:
            return "not equivalent" if noticed else "equivalent", seconds
        return "caught" if noticed else "survived", seconds

    def group(file: str) -> None:
        copy = copies.get()
        try:
            run_group(todo[file], copy)
        finally:
            copies.put(copy)

    def run_group(group: list[Mutant], copy: Copy) -> None:
        by = list(dict.fromkeys(mutant["by"] for mutant in group))
        controls = dict.fromkeys(by, copy.run(" ".join(by), 600))  # those of one file together
        if controls[by[0]][0] != 0 and len(by) > 1:
            controls = {one: copy.run(one, 600) for one in by}
        for mutant in group:
            name, state, (status, seconds) = mutant["id"], BAD[-1], controls[mutant["by"]]
            if status == 0:
                state, seconds = try_one(mutant, copy, seconds)
            found[name] = {"state": state, "seconds": seconds, "key": wanted[name]}
            write_whole(output, json.dumps(found, indent=1) + "\n")
            print(f"{state} in {seconds:.1f} s: {name}, by {mutant['by']}", flush=True)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        for number in range(min(jobs, len(todo))):
            copies.put(Copy(root, files, Path(folder, str(number))))
        try:
            list(pool.map(group, todo))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        while not copies.empty():
            copies.get().close()
    return found


def summary(root: Path, mutants: list[Mutant], found: dict[str, Any]) -> dict[str, Any]:
    """What the book says: how many came out in each way."""
    wanted = keys(root, tracked(root), mutants)
    states: Counter[str] = Counter()
    for mutant in mutants:
        kept = found.get(mutant["id"], {})
        state = kept["state"] if kept.get("key") == wanted[mutant["id"]] else "not run"
        states[state] += 1
    told = ", ".join(f"{states[one]} {one}" for one in (*GOOD, *BAD, "not run") if states[one])
    return {"sentence": f"Of {len(mutants)} seeded defects: {told}.", "commit": commit(root)}


def main(arguments: list[str] | None = None) -> int:
    """Run the list; status 1 if a defect was not noticed."""
    parser = argparse.ArgumentParser(description="Would the checks notice?")
    parser.add_argument("--only", action="append", default=[], metavar="GLOB", help="ids or files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--output", type=Path, default=Path("_build/mutants.json"))
    parser.add_argument("--summary", type=Path, metavar="JSON", help="what the book draws")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    given = parser.parse_args(arguments)
    root, listed = given.root, load(given.root)
    names = {m["id"]: [m["id"], m["file"]] for m in listed}
    asked = {i for i, n in names.items() if any(fnmatch.filter(n, g) for g in given.only or "*")}
    mutants = [m for m in listed if m["id"] in asked]
    if given.output.parts[0] == "_build":
        claim_folder(root / "_build")  # so that a later build of the book may use it
    found = run_all(root, mutants, root / given.output, given.jobs)
    old = [words for m in mutants if (words := stale(root, m))]
    print(*(f"stale: {words}" for words in old), sep="\n", end="\n" * bool(old))
    states = Counter(found[m["id"]]["state"] for m in mutants if not stale(root, m))
    states["stale"] = len(old)
    print(", ".join(f"{states[state]} {state}" for state in (*GOOD, *BAD) if states[state]))
    if given.summary:
        text = json.dumps(summary(root, listed, found), indent=1, ensure_ascii=False)
        write_whole(root / given.summary, text + "\n")
    return int(any(states[state] for state in BAD))


if __name__ == "__main__":
    sys.exit(main())
