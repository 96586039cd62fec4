"""For tools/random_mutants.py: a plugin of pytest that tries mutants instead of running tests."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import coverage
import hypothesis
import pytest
from _pytest.runner import runtestprotocol

from dpbook.book.output import write_whole

hypothesis.settings.register_profile("calm", deadline=None, derandomize=True, database=None)
QUIET = ["-q", "-s", "-p", "no:cacheprovider", "--hypothesis-seed=0", "-o", "time_limit=0"]
QUIET += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
MEMORY = 4 << 30
BUDGET = 10  # CPU seconds that the tests of one mutant take without it


class TimeUp(BaseException):
    """A test took longer than it may."""


def in_fork(work: Callable[[], Any], seconds: float) -> Any:
    """What `work` answers in a fork, or ``None`` if it dies or takes more CPU time than given.

    Raises RuntimeError if `work` itself is at fault: that must not pass for a noticed mutant.
    """
    read, write = os.pipe()
    if not (child := os.fork()):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        try:
            text = json.dumps(["answer", work()])
        except BaseException:
            text = json.dumps(["fault", traceback.format_exc()])
        with os.fdopen(write, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    kind, answer = json.loads(told or '["answer", null]')
    if kind == "fault":
        raise RuntimeError(answer)
    return answer


def compiled(source: str, path: str) -> CodeType:
    """The code of a module; Python may find a mutant odd (``1 is 0``), which is no error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source, path, "exec")


def codes(code: CodeType) -> list[tuple[tuple[str, int], CodeType]]:
    """The functions of a module and its classes, not those inside functions; bodies as well."""
    found = [((code.co_qualname, code.co_firstlineno), code)]
    if not code.co_flags & CO_OPTIMIZED:  # the body of a module or a class
        for constant in code.co_consts:
            found += codes(constant) if isinstance(constant, CodeType) else []
    return found


def same(a: CodeType, b: CodeType) -> bool:
    """Whether nothing changed; of a body, apart from the functions in it."""
    if a.co_flags & CO_OPTIMIZED:
        return a == b
    one, two = ([repr(c) for c in x.co_consts if not isinstance(c, CodeType)] for x in (a, b))
    return a.co_code == b.co_code and a.co_names == b.co_names and one == two


def patch(path: str, before: str, after: str) -> bool:
    """Give living functions the mutated code; False if more than functions has changed."""
    old, new = (codes(compiled(text, path)) for text in (before, after))
    if [name for name, _ in old] != [name for name, _ in new] or len(dict(old)) < len(old):
        return False
    changed = {name: b for (name, a), (_, b) in zip(old, new, strict=True) if not same(a, b)}
    living: dict[tuple[str, int], list[FunctionType]] = {name: [] for name in changed}
    for function in [o for o in gc.get_objects() if isinstance(o, FunctionType)]:
        code = function.__code__
        if code.co_filename == path:
            living.get((code.co_qualname, code.co_firstlineno), []).append(function)
    if not changed or not all(living.values()):
        return False
    for name, code in changed.items():
        for function in living[name]:
            function.__code__ = code
    return True


class Note:
    """Remembers which test failed."""

    failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = report.nodeid if report.failed else self.failed


class Session:
    """Maps lines to tests, then tries one mutant after the other."""

    def __init__(self, root: Path, sources: Any, drawn: Any, mutated: Any, given: Any) -> None:
        self.root, self.sources, self.drawn, self.mutated = root, sources, drawn, mutated
        self.slow, self.until = given.slow, time.monotonic() + 60 * given.minutes
        self.tried: list[dict[str, Any]] = []
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, dict[str, list[str]]] = {file: {} for file in sources}
        self.left_out, self.sound = 0, dict[str, bool]()

    def pytest_configure(self) -> None:
        hypothesis.settings.load_profile("calm")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        kept = self.root / "_build" / "random_mutants_map.json"
        known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        for path in dict.fromkeys(item.path for item in session.items):
            text = path.read_text(encoding="utf-8") + json.dumps([self.sources, self.slow])
            key = hashlib.sha256(text.encode()).hexdigest()[:16]
            here = [item for item in session.items if item.path == path]
            if key not in known:
                known[key] = in_fork(lambda here=here: self.map(here), 600)
                write_whole(kept, json.dumps(known))
                print(f"mapped {path.name}", flush=True)
            for name, one in (known[key] or {}).items():
                self.seconds[name] = one["seconds"]
                for file, line in one["lines"]:
                    self.lines[file].setdefault(str(line), []).append(name)
        self.left_out = len(self.items) - len(self.seconds)
        tests = sorted({item.path.read_text(encoding="utf-8") for item in session.items})
        of = hashlib.sha256(json.dumps([self.sources, tests, self.slow]).encode()).hexdigest()[:16]
        output = self.root / "_build" / "random_mutants.json"
        done = json.loads(output.read_text(encoding="utf-8")) if output.is_file() else {}
        done = {of: done.get(of, {})}  # what was found with other code or tests is no longer known
        for mutant in self.drawn:
            if time.monotonic() > self.until:
                break
            name = json.dumps(mutant)
            if name not in done[of]:
                done[of][name] = self.verdict(mutant)
                write_whole(output, json.dumps(done))
                words = f"{mutant['file']}:{mutant['line']}: {mutant['old']} -> {mutant['new']}"
                print(*done[of][name], words, sep=" | ", flush=True)
            state, by = done[of][name]
            self.tried.append(mutant | {"state": state, "by": by})
        return True

    def fails(self, name: str, limit: float = 1e6) -> bool:
        """Whether a test fails, or takes longer than its limit of CPU seconds."""

        def up(*_: object) -> None:
            raise TimeUp

        signal.signal(signal.SIGPROF, up)
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            reports = runtestprotocol(self.items[name], log=False, nextitem=None)
        except TimeUp:
            return True
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return any(report.failed for report in reports)

    def map(self, items: list[pytest.Item]) -> dict[str, Any]:
        """Seconds and lines of each test that passes in time."""
        place = [str(self.root / file) for file in self.sources]
        found, names = {}, {str(self.root / file): file for file in self.sources}
        cover = coverage.Coverage(data_file=None, include=place, config_file=False)
        # a file of tests may well run nothing of these packages
        cover.set_option("run:disable_warnings", ["no-data-collected"])
        cover.start()
        for item in items:
            cover.switch_context(item.nodeid)
            start = time.process_time()
            if not self.fails(item.nodeid, self.slow):
                seconds = time.process_time() - start
                found[item.nodeid] = {"seconds": round(seconds, 3), "lines": []}
        cover.stop()
        data = cover.get_data()
        for path in data.measured_files():
            for line, contexts in data.contexts_by_lineno(path).items():
                for name in set(contexts) & found.keys():
                    found[name]["lines"].append([names[path], line])
        return found

    def verdict(self, mutant: dict[str, Any]) -> tuple[str, str]:
        """Killed or survived, and the test that killed."""
        file, path = mutant["file"], str(self.root / mutant["file"])
        before, after = self.sources[file], self.mutated(self.sources[file], mutant)
        tests = self.lines[file].get(str(mutant["line"])) or sorted(
            {name for names in self.lines[file].values() for name in names}
        )
        tests, spent = sorted(tests, key=self.seconds.__getitem__), 0.0
        tests = [n for n in tests if self.sound.get(n, True)]
        chosen = [n for n in tests if (spent := spent + self.seconds[n]) <= BUDGET] or tests[:1]
        limit = 10 + 5 * sum(self.seconds[n] for n in chosen)

        def quick() -> str:
            if not patch(path, before, after):
                return "anew"
            return next((n for n in chosen if self.fails(n)), "")

        if not chosen:
            return "survived", "no test"
        by = in_fork(quick, limit)
        fresh = by in ("", "anew")
        if fresh:
            by = in_fork(lambda: self.anew(path, after, chosen), limit + 30)
        if by is None:
            return "killed", "the time limit"
        # a test that fails by itself kills nothing; nor do imports that fail anyway
        if by and (by not in self.sound or by not in self.items):
            alone = [by] if by in self.items else chosen
            if fresh:
                self.sound[by] = in_fork(lambda: self.anew(path, before, alone), limit + 60) == ""
            else:
                self.sound[by] = in_fork(lambda: self.fails(by), 60) is False
            if not self.sound[by]:
                if by not in self.items:
                    raise RuntimeError(f"{alone} cannot be imported without a mutant")
                return self.verdict(mutant)
        return ("killed", by) if by else ("survived", f"{len(chosen)} of {len(tests)} tests")

    def anew(self, path: str, source: str, names: list[str]) -> str:
        """The test that fails when all is imported again, one file with another source."""
        usual, note = SourceFileLoader.get_code, Note()

        def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
            return compiled(source, path) if loader.path == path else usual(loader, name)

        for name, module in list(sys.modules.items()):
            file = str(getattr(module, "__file__", None) or "")
            if file.startswith(f"{self.root}/") and name != __name__ and ".venv" not in file:
                del sys.modules[name]
        SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
        words = [*QUIET, "-x", "--rootdir", str(self.root)]
        status = pytest.main([*words, *(f"{self.root}/{name}" for name in names)], plugins=[note])
        if status not in (0, 1, 2, 4):  # 4: a test of this name is not there, or its module fails
            raise RuntimeError(f"pytest ended with {status} for {names}")
        return "" if status == 0 else note.failed or "an import"
