"""Is there any solution in the student's edition?  Reads all that was built, archives included.

    python tools/check_editions.py [OUTPUT]

OUTPUT (``_build``) holds both editions: ``dpbook build`` and ``dpbook build --edition student``.
Solutions are found in the sources, not by what the edition leaves out: all between their marks and
after these, up to the next heading or exercise, and every answer wherever it stands.  Looked for is
every line of them that no other code says; that a hint or a sentence says it makes it no less
secret.  As a control, most must be found in the teacher's edition, or the search is blind.
"""

from __future__ import annotations

import html
import io
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpbook.book.pages import Page, PageError, find_pages
from dpbook.book.run.editions import FOR_TEACHERS, place

ROOT = Path(__file__).parents[1]
ARCHIVES = (".zip", ".whl")
TEXTS = (".html", ".js", ".json", ".ipynb", ".md", ".txt", ".py", ".yml", ".csv", ".svg")
#: Letters and digits below which a line may stand elsewhere by chance, and signs of an answer.
LONG, SHORT = 30, 6
_START, _END, _ANSWER, _TRY = (
    re.compile(rf"^[`:]{{3,}}\{{{name}\}}")
    for name in ("solution-start", "solution-end", "answer", "try")
)
_NEXT = re.compile(r"^(#+ |[`:]{3,}\{exercise\})")


def plain(text: str, name: str = "") -> str:
    """Letters and digits alone, so that marks, escapes and the tags of a page do not matter."""
    if name.endswith((".html", ".svg")):
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
    return re.sub(r"[\W_]+", "", text.replace("\\n", " ")).lower()


def code(text: str, name: str = "") -> str:
    """All signs but white space and quotes, and no comment at the end."""
    if name.endswith((".html", ".svg")):
        text = html.unescape(re.sub(r"<[^>]*>", "", text))
    elif not name:
        text = re.sub(r"\s#\s.*", "", text)
    return re.sub(r"[\s\\\"'`]+", "", text.replace("\\n", " "))


def parts(page: Page) -> Iterator[tuple[str, str]]:
    """Every line of a page, and what it is: answer, solution, code or text."""
    solving, closed, fence, kind = False, True, "", ""
    for cell in page.notebook["cells"]:
        text = cell["cell_type"] == "markdown"
        for line in "".join(cell["source"]).splitlines():
            if (
                text and fence
            ):  # inside an answer, or a template, which shows what it asks to change
                yield ("text" if line.startswith(":") else kind), line
                fence = "" if line.startswith(fence) else fence
            elif text and (_ANSWER.match(line) or _TRY.match(line)):
                fence, kind = line[:3], "answer" if _ANSWER.match(line) else "code"
            elif text and _START.match(line):
                solving, closed = True, False
            elif text and _END.match(line):
                closed = True
            else:
                solving = solving and not (text and closed and _NEXT.match(line))
                yield "solution" if solving else "text" if text else "code", line


def secrets(pages: Iterable[Page], public: str = "") -> list[str]:
    """Lines of solutions that stand neither in other code on the pages nor in `public`."""
    found = [part for page in pages for part in parts(page)]
    shown = [line for kind, line in found if kind == "code"]
    return distinctive(
        (line for kind, line in found if kind in ("answer", "solution")),
        "\n".join([*shown, public]),
    )


def answers(pages: Iterable[Page], public: str = "") -> list[str]:
    """Lines of the answers, short ones as well, that no other code on the pages says."""
    found = [part for page in pages for part in parts(page)]
    shown = "".join(code(line) for kind, line in found if kind == "code") + code(public, "public")
    told = dict.fromkeys(line for kind, line in found if kind == "answer")
    return [line for line in told if len(code(line)) >= SHORT and code(line) not in shown]


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


def leaks(folder: Path, wanted: Iterable[str], answers: Iterable[str] = ()) -> dict[str, str]:
    """Those of the wanted lines that are found below a folder, with the first place of each."""
    needles = [(plain, plain(line), line) for line in wanted]
    needles += [(code, code(line), line) for line in answers]
    found: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        for name, text in texts(path.read_bytes(), str(path.relative_to(folder))):
            content = {how: how(text, name) for how in (plain, code)}
            for how, needle, line in needles:
                if line not in found and needle in content[how]:
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
    pages = find_pages(ROOT)
    wanted = [*secrets(pages, public), *distinctive(told, public)]
    short = [line for line in answers(pages, public) if line not in wanted]
    in_teachers, in_students = (leaks(folder, wanted, short) for folder in folders)
    wanted += short
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
