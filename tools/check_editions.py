"""Is there any solution in the student's edition?  Reads all that was built, archives included.

    python tools/check_editions.py [OUTPUT]

OUTPUT (``_build``) holds both editions: ``dpbook build`` and ``dpbook build --edition student``.
Looked for is every line of every solution, code or text, that nothing else in the book says.  As a
control, most of them must be found in the teacher's edition, or the search finds nothing at all.
"""

from __future__ import annotations

import html
import io
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpbook.book.editions import FOR_TEACHERS, page_of, place
from dpbook.book.pages import Page, PageError, find_pages

ROOT = Path(__file__).parents[1]
ARCHIVES = (".zip", ".whl")
TEXTS = (".html", ".js", ".json", ".ipynb", ".md", ".txt", ".py", ".yml", ".csv", ".svg")
#: Letters and digits below which a line may stand elsewhere by chance.
LONG = 30


def plain(text: str, name: str = "") -> str:
    """Letters and digits alone, so that marks, escapes and the tags of a page do not matter."""
    if name.endswith((".html", ".svg")):
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return re.sub(r"[\W_]+", "", text.replace("\\n", " ")).lower()


def lines_of(pages: Iterable[Page]) -> Iterator[str]:
    """The lines of some pages, one by one."""
    for page in pages:
        for cell in page.notebook["cells"]:
            yield from "".join(cell["source"]).splitlines()


def secrets(pages: list[Page], public: str = "") -> list[str]:
    """Lines that stand in solutions, and neither elsewhere on the pages nor in `public`."""
    shown = lines_of(page_of(page, "student") for page in pages)
    return distinctive(lines_of(pages), "\n".join([*shown, public]))


def distinctive(lines: Iterable[str], public: str) -> list[str]:
    """Those of some lines that are long enough to be told from all that is public."""
    shown = plain(public)
    # Roles and directives become other words, and headings have some added.
    lines = [line for line in dict.fromkeys(lines) if not re.search(r"^[:`#]|\{[\w:-]+\}`", line)]
    return [line for line in lines if len(plain(line)) >= LONG and plain(line) not in shown]


def texts(data: bytes, name: str) -> Iterator[tuple[str, str]]:
    """Name and content of what can be read in a file, in an archive each file by itself."""
    if name.endswith(ARCHIVES):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for inside in archive.namelist():
                yield from texts(archive.read(inside), f"{name}/{inside}")
    elif name.endswith(TEXTS):
        yield name, data.decode("utf-8", "replace")


def leaks(folder: Path, wanted: list[str]) -> dict[str, str]:
    """Those of the wanted lines that are found below a folder, with the first place of each."""
    needles, found = {plain(line): line for line in wanted}, {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        for name, text in texts(path.read_bytes(), str(path.relative_to(folder))):
            content = plain(text, name)
            for needle, line in needles.items():
                if line not in found and needle in content:
                    found[line] = name
    return found


def main(argv: list[str]) -> int:
    """Compare both editions; the exit status is 1 if the student's holds a solution."""
    out = Path(argv[0]) if argv else ROOT / "_build"
    folders = [place(out, edition) / "html" for edition in ("teacher", "student")]
    if missing := [folder for folder in folders if not (folder / "index.html").is_file()]:
        raise PageError(f"no book at {missing[0]}; run `make book` for both values of EDITION")
    teaching = [ROOT / f"{name}.md" for name in FOR_TEACHERS]
    others = [*(ROOT / "dpbook").rglob("*.py"), *(ROOT / "book").glob("*.yml")]
    others += [path for path in (ROOT / "book").glob("*.md") if path not in teaching]
    public = "\n".join(path.read_text("utf-8") for path in others)
    told = [line for path in teaching for line in path.read_text("utf-8").splitlines()]
    wanted = [*secrets(find_pages(ROOT), public), *distinctive(told, public)]
    in_teachers, in_students = (leaks(folder, wanted) for folder in folders)
    print(f"{len(wanted)} lines are in solutions, or on pages for teachers, alone.")
    print(
        f"The teacher's edition has {len(in_teachers)} of them, the student's {len(in_students)}."
    )
    for line, where in in_students.items():
        print(f"  {where}: {line}", file=sys.stderr)
    if len(in_teachers) < len(wanted) / 2:
        print("too few are found in the teacher's edition: the search is blind", file=sys.stderr)
    return int(bool(in_students) or len(in_teachers) < len(wanted) / 2)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except PageError as error:
        sys.exit(f"check_editions: {error}")
