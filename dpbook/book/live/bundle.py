"""Put what reruns a page in the reader's browser beside the built book: CPython for WebAssembly.

Nothing is committed but hashes (``runtime/pins.json``), those of the official lock of Pyodide.
The files come from a folder named by ``DPBOOK_PYODIDE``, else from the package that carries them;
every one is compared with its hash, and what no page needs is left out of the archives.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpbook.book.files import git, plain_entry, sole_build, write_whole
from dpbook.book.ledger.claims import entries_of, raw_entries
from dpbook.book.pages import Page, PageError, find_pages
from dpbook.book.run.editions import EDITIONS, page_of, place
from dpbook.book.run.keys import reached, refuse_stale

FOLDER = "live"  # in the HTML
MANIFEST = "_static/live-manifest.js"
_OURS = Path(__file__).with_name("runtime")  # apart: no page depends on what lies there
_PINS = json.loads((_OURS / "pins.json").read_text(encoding="utf-8"))
_CORE = ("pyodide.asm.js", "pyodide.asm.wasm", "pyodide.mjs", "python_stdlib.zip")
# Tests, headers, stubs, other backends and fonts, data for examples: a third of the bytes.
_LEFT_OUT = re.compile(
    r"(^|/)(tests?|sample_data|docs?|examples|include|distutils|misc|_pyinstaller|datasets|odr"
    r"|_fast_matrix_market|signal|cluster|fftpack|f2py|afm|pdfcorefonts|plot_directive|mpl-data/images)/"
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
    refuse_stale(root, out, edition)
    with sole_build(root, out), tempfile.TemporaryDirectory(dir=out, prefix="staging-") as made:
        new = Path(made, FOLDER)
        (new / "runtime").mkdir(parents=True)
        (new / "pages").mkdir()
        _pack(root, new / "runtime" / "dpbook.zip")
        sizes = _runtime(new / "runtime", _source(out / "runtime"))
        shutil.copy2(_OURS / "worker.mjs", new)
        for page in find_pages(root):
            held = bundle(page_of(page, edition), root)
            text = json.dumps(held, separators=(",", ":"), ensure_ascii=False)
            (new / "pages" / f"{page.name}.json").write_text(text, encoding="utf-8")
        names = sorted(path for path in new.rglob("*") if path.is_file())
        build = hashlib.sha256(b"".join(hashlib.sha256(p.read_bytes()).digest() for p in names))
        about = {"build": build.hexdigest()[:16], "pyodide": _PINS["pyodide"], "bytes": sizes}
        known = {"integrity": {p.relative_to(new).as_posix(): integrity(p) for p in names}}
        (new / "build.json").write_text(json.dumps(about | known), encoding="utf-8")
        shutil.rmtree(html / FOLDER, ignore_errors=True)
        new.rename(html / FOLDER)
        write_whole(html / MANIFEST, f"window.dpbookLive = {json.dumps(about)};\n")
    print(f"pages of {html} can be rerun in the browser; to see it: dpbook serve")
    return 0


def integrity(path: Path) -> str:
    """The digest of a file in the words of the browser."""
    digest = base64.b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
    return f"sha256-{digest}"


def bundle(page: Page, root: Path) -> dict[str, Any]:
    """What the browser needs of a page: its cells, its glued numbers, its entries of the ledger."""
    entries = raw_entries(root / "book" / "claims.yml")
    fields = ("reproducer", "withdrawn", "printed", "quote", "wrong", "repair", "rests_on")
    return {
        "name": page.name,
        "cells": page.code_cells,
        "parameters": next(at for at, found in enumerate(page.code_tags) if "parameters" in found),
        "glued": glued(page),
        "ledger": [
            {key: value for key, value in entry.items() if key not in fields}
            for entry in entries_of(page.name, "\n".join(page.code_cells), entries)
        ],
    }


def packages(page: Page, root: Path) -> list[str]:
    """What a page loads: scipy only if it, or a module that it reaches, imports it at once.

    What is imported within a function is loaded when it is missed, and the page begins again.
    """
    sources = [*page.code_cells]
    sources += [path.read_text(encoding="utf-8") for path in reached(page.code_cells, root)]
    found = any(re.search(r"(?m)^(from|import) scipy\b", source) for source in sources)
    return ["numpy", "matplotlib", *["scipy"] * found]


def glued(page: Page) -> list[tuple[str, str]]:
    """Name and format of every number in the sentences of a page, in their order."""
    found = []
    for cell in page.notebook["cells"]:
        if cell["cell_type"] == "markdown":
            for role in re.findall(r"\{glue:text\}`([^`]+)`", "".join(cell["source"])):
                name, colon, form = role.rpartition(":")
                found.append((name, form) if colon else (form, "s"))
    return found


def _source(cache: Path) -> Path:
    """A folder that holds the files, whatever they are worth."""
    if named := os.environ.get("DPBOOK_PYODIDE"):
        if not Path(named).is_dir():
            raise PageError(f"DPBOOK_PYODIDE is {named!r}; it must be a folder with the runtime")
        return Path(named)
    place = cache / _PINS["carrier"]
    if not place.is_dir():
        print(f"fetching the runtime (pip download {_PINS['carrier']}) ...", flush=True)
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as made:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", made]
            # A wheel only: the script of a source would run before any hash is compared.
            pip += ["--only-binary", ":all:", "--disable-pip-version-check", _PINS["carrier"]]
            done = subprocess.run(pip, capture_output=True, text=True, check=False)
            wheels = [*Path(made).glob("*.whl")]
            if done.returncode or not wheels:
                why = done.stderr.strip().splitlines()[-1:]
                advice = "name a folder with the files in DPBOOK_PYODIDE"
                raise PageError(f"the runtime cannot be fetched ({' '.join(why)}); {advice}")
            kept = Path(made, "kept")
            kept.mkdir()
            with zipfile.ZipFile(wheels[0]) as wheel:
                for name in _PINS["files"]:
                    try:
                        (kept / name).write_bytes(wheel.read(f"{_PINS['folder']}/{name}"))
                    except KeyError:
                        raise PageError(f"{_PINS['carrier']} does not carry {name}") from None
            kept.rename(place)
    return place


def verified(folder: Path, name: str) -> bytes:
    """The content of a file of the runtime; `PageError` if it is missing or not the pinned one."""
    try:
        content = (folder / name).read_bytes()
    except OSError:
        raise PageError(f"the runtime lacks {name} in {folder}") from None
    found, pinned = hashlib.sha256(content).hexdigest(), _PINS["files"][name]
    if found != pinned:
        shown = f"its SHA-256 begins {found[:12]}, the pinned one {pinned[:12]}"
        raise PageError(f"{folder / name} is not the file of Pyodide {_PINS['pyodide']}: {shown}")
    return content


def _runtime(place: Path, source: Path) -> dict[str, int]:
    """Write core and trimmed packages with a lock of their own; bytes by name."""
    for name in _CORE:
        (place / name).write_bytes(verified(source, name))
    lock = json.loads(verified(source, "pyodide-lock.json"))
    for name in _PINS["packages"]:
        path = place / lock["packages"][name]["file_name"]
        path.write_bytes(verified(source, path.name))
        _trim(path)
    _precompile([*place.glob("*.whl"), *place.glob("*.zip")])
    sizes = {name: (place / name).stat().st_size for name in _CORE}
    sizes["dpbook"] = (place / "dpbook.zip").stat().st_size
    kept = {}
    for name in _PINS["packages"]:
        entry = dict(lock["packages"][name])
        path = place / entry["file_name"]
        entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        entry["depends"] = [other for other in entry["depends"] if other in _PINS["packages"]]
        kept[name] = entry
        sizes[name] = path.stat().st_size
    text = json.dumps({"info": lock["info"], "packages": kept})
    (place / "pyodide-lock.json").write_text(text, encoding="utf-8")
    notice = "Pyodide and the packages beside it are not ours: see the licence in each archive.\n"
    notice += f"Pyodide {_PINS['pyodide']} is published under the MPL-2.0.\n"
    (place / "NOTICE.txt").write_text(notice, encoding="utf-8")
    return sizes


def _trim(path: Path) -> None:
    """The same archive without what no page needs."""
    slim = path.with_suffix(".slim")
    with zipfile.ZipFile(path) as full, zipfile.ZipFile(slim, "w", zipfile.ZIP_DEFLATED) as kept:
        for item in full.infolist():
            if not _LEFT_OUT.search(item.filename) and not item.is_dir():
                kept.writestr(plain_entry(item.filename), full.read(item), compresslevel=9)
    slim.replace(path)


def _precompile(archives: Sequence[Path]) -> None:
    """Bytecode in place of sources, if a Python of the runtime's version is here.

    Compiling the libraries takes a browser as long as running a page.
    """
    version = _PINS["python"]
    kept = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")
    for command in (sys.executable, shutil.which(f"python{version}"), *map(str, sorted(kept))):
        if command is not None:
            words = [command, "-I", str(_OURS / "precompile.py"), _PINS["magic"]]
            words += map(str, sorted(archives))
            environment = os.environ | {"PYTHONHASHSEED": "0"}
            done = subprocess.run(words, capture_output=True, check=False, env=environment)
            if done.returncode == 0:
                return
    print(f"no Python {version} is here: a browser compiles the libraries itself, once a build")


def _pack(root: Path, path: Path) -> None:
    """The package itself, as it lies here: of a repository, what is tracked."""
    files = [file for file in (root / "dpbook").rglob("*") if "__pycache__" not in file.parts]
    if (root / ".git").exists():
        if not (told := git(root, "ls-files", "-z", "--", "dpbook")):
            raise PageError(f"git does not say which files of {root / 'dpbook'} belong to the book")
        files = [root / name for name in told.split("\0") if name]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as kept:
        for file in sorted(filter(Path.is_file, files)):
            entry = plain_entry(file.relative_to(root).as_posix())
            kept.writestr(entry, file.read_bytes(), compresslevel=9)
