"""The pages of the book, the parameters that a reader may change, and named sets of them.

Each line of a page's parameters cell assigns a literal to a name and says in its comment what the
parameter means, its unit, and which values it may take::

    epsilon = 1.0  # privacy parameter | nats | (0, 10]
    epsilons = [0.5, 1.0]  # grid of privacy levels | nats | each in (0, 10]
    edition = "corrected"  # edition of the survey | - | {"corrected", "1998"}

The type is that of the default.  Everything is checked here, before any kernel starts.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import io
import json
import operator
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

# yaml is imported where it is needed: a page in a browser does without it.
PROFILES = "profiles.yml"
#: The type under which what a figure draws, or a table holds, lies in the outputs of a page.
SERIES_MIME = "application/vnd.dpbook.series+json"
_UNREADABLE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
_INTERVAL = re.compile(r"([\[(])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([\])])")


class PageError(ValueError):
    """A page, or the file of profiles, is not in the form the book needs."""


class ParameterError(ValueError):
    """A parameter is unknown, or its value is of the wrong type or outside the allowed range."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a page: its name, its default, and the three parts of its comment."""

    name: str
    default: Any
    meaning: str
    unit: str
    allowed: str

    @property
    def kind(self) -> str:
        """The type in words: ``int``, ``float``, ``list of float`` ..."""
        scalar = _scalar_type(self.default).__name__
        return f"list of {scalar}" if isinstance(self.default, list) else scalar

    @property
    def ends(self) -> list[Any]:
        """The ends of the range, or every member of a set of words; in a list if it is one."""
        inside = self.allowed.removeprefix("each in").strip()
        if inside.startswith("{"):
            members = sorted(ast.literal_eval(inside))
            values = members if isinstance(members[0], str) else [members[0], members[-1]]
        else:
            low, high = (float(end) for end in inside[1:-1].split(","))
            room = 1e-6 * (high - low)  # between a run and an end that is excluded
            values = [low + room * (inside[0] == "("), high - room * (inside[-1] == ")")]
        many = isinstance(self.default, list)
        return [self.coerce([value] if many else value) for value in values]

    def coerce(self, value: Any) -> Any:
        """`value` in the type of the default; a `ValueError` says what is allowed instead."""
        many, wanted = isinstance(self.default, list), _scalar_type(self.default)
        inside = _membership(self.allowed.removeprefix("each in").strip())
        try:
            if many and not (isinstance(value, list | tuple) and value):
                raise ValueError("is not a list with at least one element")
            items = [_in_type(item, wanted) for item in (value if many else [value])]
            if not all(map(inside, items)):
                raise ValueError("is outside the allowed values")
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{error}; allowed: {self.kind}, {self.allowed}") from None
        return items if many else items[0]

    def parse(self, text: str) -> Any:
        """Read a value from the command line: a Python literal, a number, YAML; else the text."""
        import yaml

        text = text.strip()
        value: Any = text
        readers: tuple[Callable[[str], Any], ...] = (ast.literal_eval, float, yaml.safe_load)
        for read in readers:
            with contextlib.suppress(*_UNREADABLE, yaml.YAMLError):
                value = read(text)
                break
        other = isinstance(self.default, str) and not isinstance(value, str)
        return text if other or value is None else value


@dataclass(frozen=True)
class Page:
    """One notebook: its name without suffix, its title, its parameters in order, its content."""

    name: str
    title: str
    parameters: dict[str, Parameter]
    notebook: dict[str, Any]

    @property
    def code_cells(self) -> list[str]:
        """Sources of the code cells, the parameters cell included."""
        cells = self.notebook["cells"]
        return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]

    @property
    def code_tags(self) -> list[list[str]]:
        """Tags of the code cells, in their order."""
        cells = self.notebook["cells"]
        return [c["metadata"].get("tags", []) for c in cells if c["cell_type"] == "code"]


def outputs(notebook: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every output of an executed notebook, and the data that it shows."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            yield output, output.get("data", {})


def read_notebook(path: Path) -> dict[str, Any]:
    """The content of a notebook."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _paths(root: Path) -> list[Path]:
    return sorted((root / "notebooks").glob("*.ipynb"))


def executed_pages(root: Path, out: Path) -> list[Path]:
    """The executed copies in a build of the pages that there are."""
    places = (out / "executed" / "notebooks" / path.name for path in _paths(root))
    return [path for path in places if path.is_file()]


def find_pages(root: Path) -> list[Page]:
    """All pages in ``<root>/notebooks``, ordered by name; a `PageError` if one is malformed."""
    return [read_page(path) for path in _paths(root)]


def read_page(path: Path) -> Page:
    """One notebook as a page; a `PageError` if it is malformed."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [(c["cell_type"], c["metadata"], "".join(c["source"])) for c in notebook["cells"]]
        tagged = [text for _, metadata, text in cells if "parameters" in metadata.get("tags", [])]
        if len(tagged) != 1:
            raise PageError(f"{len(tagged)} cells are tagged 'parameters', one is needed")
        parameters = parse_parameters(tagged[0])
    except PageError as error:
        raise PageError(f"page {path.stem}: {error}") from None
    except (OSError, KeyError, AttributeError, *_UNREADABLE) as error:
        why = f"not a readable notebook ({type(error).__name__}: {error})"
        raise PageError(f"page {path.stem}: {why}") from None
    text = "\n".join(text for kind, _, text in cells if kind == "markdown")
    heading = re.search(r"(?m)^# (.*)$", text)
    return Page(path.stem, heading[1].strip() if heading else path.stem, parameters, notebook)


def select(pages: Sequence[Page], only: Sequence[str]) -> list[Page]:
    """The pages that match a glob in `only`, all when it is empty; a glob must match something."""
    names = [page.name for page in pages]
    for glob in only:
        if not fnmatch.filter(names, glob):
            raise PageError(f"no page matches {glob}; the pages are {', '.join(names) or '(none)'}")
    return [p for p in pages if not only or any(fnmatch.fnmatch(p.name, glob) for glob in only)]


def find_page(root: Path, name: str) -> Page:
    """The page with this name, a path to it, its number (``4``, ``04``), or a part of the name."""
    stem, names = Path(name).name.removesuffix(".ipynb"), [path.stem for path in _paths(root)]
    globs = [f"{int(stem):02d}-*"] if stem.isdecimal() else [stem, f"{stem}*", f"*{stem.lower()}*"]
    fits = next(filter(None, (fnmatch.filter(names, glob) for glob in globs)), [])
    if len(fits) == 1:
        return read_page(root / "notebooks" / f"{fits[0]}.ipynb")
    what = "fits several pages" if fits else "fits no page"
    raise PageError(f"{name!r} {what}; the pages are {', '.join(fits or names) or '(none)'}")


def validate(page: Page, given: Mapping[str, Any]) -> dict[str, Any]:
    """Effective parameters of a page: the defaults with `given` on top, all of them checked."""
    known = page.parameters
    try:
        _refuse_unknown(known, given)
        return _checked(known, {name: p.default for name, p in known.items()} | dict(given))
    except ParameterError as error:
        raise ParameterError(f"page {page.name}: {error}") from None


def _refuse_unknown(known: Mapping[str, Parameter], given: Iterable[str]) -> None:
    if unknown := next((name for name in given if name not in known), None):
        raise ParameterError(f"no parameter {unknown!r}; there are {', '.join(known)}")


def _checked(known: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    checked = {}
    for name, parameter in known.items():
        try:
            checked[name] = parameter.coerce(values[name])
        except ValueError as error:
            raise ParameterError(f"{name} = {values[name]!r} {error}") from None
    return checked


def refuse_out_of_range(names: Mapping[str, Any]) -> None:
    """Hold the globals of a notebook to what its parameters cell, in ``In``, allows.

    For plain papermill, which checks nothing, as ``dpbook run`` does before anything runs; the
    cell that it injects may assign no other name.
    """
    for source, injected in pairwise([*names.get("In", ()), ""]):
        with contextlib.suppress(PageError):  # another cell
            if known := parse_parameters(source):
                _checked(known, names)
                if injected.startswith("# Parameters"):
                    _refuse_unknown(known, re.findall(r"(?m)^(\w+) = ", injected))


def named_parameters(root: Path) -> dict[str, list[dict[str, Any]]]:
    """By page, the parameters that the book itself runs it at: defaults and every profile's."""
    profiles = [load_profile(root, name) for name in _profiles(root)]
    return {
        page.name: [validate(page, values.get(page.name, {})) for values in profiles]
        for page in find_pages(root)
    }


def load_profile(root: Path, name: str) -> dict[str, dict[str, Any]]:
    """Overrides of a profile in ``notebooks/profiles.yml``: ``{page: {parameter: value}}``."""
    profiles = _profiles(root)
    if name not in profiles:
        raise PageError(f"no profile {name!r}; notebooks/{PROFILES} has {', '.join(profiles)}")
    overrides = profiles[name] or {}
    inner = overrides.values() if isinstance(overrides, dict) else [overrides]
    if not all(isinstance(values, dict) for values in inner):
        raise PageError(f"profile {name!r}: give each page a mapping of parameter to value")
    return dict(overrides)


def _profiles(root: Path) -> dict[str, Any]:
    import yaml

    try:
        profiles = yaml.safe_load((root / "notebooks" / PROFILES).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PageError(f"notebooks/{PROFILES} cannot be read: {error}") from None
    if not isinstance(profiles or {}, dict):
        raise PageError(f"notebooks/{PROFILES} must map names of profiles to pages")
    return {"default": {}} | (profiles or {})


def parse_parameters(source: str) -> dict[str, Parameter]:
    """The parameters in a cell of lines ``name = literal  # meaning | unit | allowed``."""
    try:
        statements = ast.parse(source).body
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError) as error:
        raise PageError(f"parameters cell is not valid Python ({error})") from None
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    parameters: dict[str, Parameter] = {}
    for parameter in (_read_statement(node, comments) for node in statements):
        if parameters.setdefault(parameter.name, parameter) is not parameter:
            raise PageError(f"parameter {parameter.name} is assigned twice")
    return parameters


def _read_statement(node: ast.stmt, comments: Mapping[int, str]) -> Parameter:
    line = ast.unparse(node)
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case _:
            raise PageError(f"parameters cell: {line!r} is not of the form name = literal")
    try:
        default = ast.literal_eval(value)
    except ValueError:
        raise PageError(f"parameters cell: the value in {line!r} is not a literal") from None
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    comment = " ".join(comments[number] for number in lines if number in comments)
    parts = [part.strip() for part in comment.split("|", 2)]
    if len(parts) != 3 or not all(parts):
        raise PageError(f"parameters cell: {line!r} needs a comment '# meaning | unit | allowed'")
    parameter = Parameter(name, default, *parts)
    try:
        parameter.coerce(default)
        if isinstance(default, list) != parameter.allowed.startswith("each in"):
            raise ValueError("'each in' is for lists, and lists need it")
    except ValueError as error:
        raise PageError(f"parameter {name}: the default {default!r} {error}") from None
    return parameter


def _scalar_type(default: Any) -> type:
    """Type of the default, or of its elements; floats and ints mixed in a list count as floats."""
    types = {type(item) for item in default} if isinstance(default, list) else {type(default)}
    if types == {int, float}:
        return float
    if len(types) != 1 or not types <= {bool, int, float, str}:
        raise ValueError("is not a bool, int, float, str or a non-empty list of one of these")
    return types.pop()


def _in_type(value: Any, wanted: type) -> Any:
    if wanted is float and type(value) is int:
        return float(value)
    if wanted is int and type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not wanted:
        raise ValueError(f"has the wrong type, {type(value).__name__}")
    return value


def _membership(allowed: str) -> Callable[[Any], bool]:
    """Turn ``(0, 10]`` or ``{1, 2}`` into a test."""
    with contextlib.suppress(ValueError, SyntaxError):
        if match := _INTERVAL.fullmatch(allowed):
            low, high = float(match[2]), float(match[3])
            above = operator.lt if match[1] == "(" else operator.le
            below = operator.lt if match[4] == ")" else operator.le
            if low <= high:  # NaN is inside no bracket, and no text is
                return lambda x: not isinstance(x, str) and above(low, x) and below(x, high)
        elif isinstance(members := ast.literal_eval(allowed), set):
            return members.__contains__
    raise ValueError(
        f"has an unreadable range {allowed!r}; write an interval like (0, 10], "
        "a set like {1, 2}, or for lists 'each in' one of these"
    )
