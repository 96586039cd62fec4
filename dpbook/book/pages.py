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
import io
import json
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROFILES = "profiles.yml"
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

    def coerce(self, value: Any) -> Any:
        """`value` in the type of the default; a `ValueError` says what is allowed instead."""
        many = isinstance(self.default, list)
        if many and not (isinstance(value, list | tuple) and value):
            raise ValueError(self._wanted("is not a list with at least one element"))
        inside = _membership(self.allowed.removeprefix("each in").strip())
        items = [self._coerce_scalar(item) for item in (value if many else [value])]
        if not all(map(inside, items)):
            raise ValueError(self._wanted("is outside the allowed values"))
        return items if many else items[0]

    def parse(self, text: str) -> Any:
        """Read a value from the command line: a Python literal, else YAML, text as it stands."""
        wants_text = _scalar_type(self.default) is str
        try:
            value = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            try:
                value = yaml.load(text, Loader=yaml.BaseLoader if wants_text else yaml.SafeLoader)
            except (yaml.YAMLError, ValueError):
                value = text
        if _scalar_type(self.default) is float and isinstance(value, str):
            with contextlib.suppress(ValueError):
                return float(value)  # inf and nan, which are no literals
        if wants_text and isinstance(self.default, str) and not isinstance(value, str):
            return text
        if wants_text and isinstance(value, list | tuple):
            return [item if isinstance(item, str) else str(item) for item in value]
        return value

    def _coerce_scalar(self, value: Any) -> Any:
        wanted = _scalar_type(self.default)
        if wanted is float and type(value) is int:
            try:
                return float(value)
            except OverflowError:
                raise ValueError(self._wanted("is too large for a float")) from None
        if type(value) is not wanted:
            raise ValueError(self._wanted(f"has the wrong type, {type(value).__name__}"))
        return value

    def _wanted(self, problem: str) -> str:
        return f"{problem}; allowed: {self.kind}, {self.allowed}"


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


def outputs(notebook: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every output of an executed notebook, and the data that it shows."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            yield output, output.get("data", {})


def find_pages(root: Path) -> list[Page]:
    """All pages in ``<root>/notebooks``, ordered by name; a `PageError` if one is malformed."""
    return [_read_page(path) for path in sorted((root / "notebooks").glob("*.ipynb"))]


def _read_page(path: Path) -> Page:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = [(c["cell_type"], c["metadata"], "".join(c["source"])) for c in notebook["cells"]]
        tagged = [text for _, metadata, text in cells if "parameters" in metadata.get("tags", [])]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"not a readable notebook ({type(error).__name__}: {error})"
        raise PageError(f"page {path.stem}: {why}") from None
    try:
        if len(tagged) != 1:
            raise PageError(f"{len(tagged)} cells are tagged 'parameters', one is needed")
        parameters = parse_parameters(tagged[0])
    except PageError as error:
        raise PageError(f"page {path.stem}: {error}") from None
    lines = (line for kind, _, text in cells if kind == "markdown" for line in text.splitlines())
    headings = (line[2:].strip() for line in lines if line.startswith("# "))
    return Page(path.stem, next(headings, path.stem), parameters, notebook)


def validate(page: Page, given: Mapping[str, Any]) -> dict[str, Any]:
    """Effective parameters of a page: the defaults with `given` on top, all of them checked."""
    if unknown := [name for name in given if name not in page.parameters]:
        known = ", ".join(page.parameters) or "(none)"
        words = f"no parameter {unknown[0]!r}; its parameters are {known}"
        raise ParameterError(f"page {page.name}: {words}")
    effective = {}
    for name, parameter in page.parameters.items():
        value = given.get(name, parameter.default)
        try:
            effective[name] = parameter.coerce(value)
        except ValueError as error:
            raise ParameterError(f"page {page.name}: {name} = {value!r} {error}") from None
    return effective


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
    if not all(isinstance(values, dict | None) for values in inner):
        raise PageError(f"profile {name!r}: give each page a mapping of parameter to value")
    return {page: dict(values or {}) for page, values in overrides.items()}


def _profiles(root: Path) -> dict[str, Any]:
    path = root / "notebooks" / PROFILES
    try:
        profiles = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise PageError(f"notebooks/{PROFILES} cannot be read: {error}") from None
    if not isinstance(profiles, dict):
        raise PageError(f"notebooks/{PROFILES} is not a mapping of profiles")
    profiles.setdefault("default", {})
    return profiles


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
    targets = node.targets if isinstance(node, ast.Assign) else []
    if len(targets) != 1 or not isinstance(name := targets[0], ast.Name):
        raise PageError(f"parameters cell: {line!r} is not of the form name = literal")
    try:
        default = ast.literal_eval(node.value)  # type: ignore[attr-defined]
    except ValueError:
        raise PageError(f"parameters cell: the value in {line!r} is not a literal") from None
    last = node.end_lineno or node.lineno
    comment = " ".join(comments[n] for n in range(node.lineno, last + 1) if n in comments)
    parts = [part.strip() for part in comment.split("|", 2)]
    if len(parts) != 3 or not all(parts):
        raise PageError(f"parameters cell: {line!r} needs a comment '# meaning | unit | allowed'")
    parameter = Parameter(name.id, default, *parts)
    try:
        _scalar_type(default)
        if isinstance(default, list) != parameter.allowed.startswith("each in"):
            raise ValueError("'each in' is for lists, and lists need it")
        parameter.coerce(default)
    except ValueError as error:
        raise PageError(f"parameter {parameter.name}: the default {default!r} {error}") from None
    return parameter


def _scalar_type(default: Any) -> type:
    """Type of the default, or of its elements; floats and ints mixed in a list count as floats."""
    types = {type(item) for item in default} if isinstance(default, list) else {type(default)}
    if types == {int, float}:
        return float
    if len(types) != 1 or not types <= {bool, int, float, str}:
        raise ValueError("is not a bool, int, float, str or a non-empty list of one of these")
    return types.pop()


def _membership(allowed: str) -> Callable[[Any], bool]:
    """Turn ``(0, 10]`` or ``{1, 2}`` into a test."""
    try:
        if match := _INTERVAL.fullmatch(allowed):
            low, high = _number(match[2]), _number(match[3])
            if low <= high:
                # NaN is inside no bracket
                return lambda value: (
                    not isinstance(value, str)
                    and bool(low <= value <= high)
                    and not (value == low and match[1] == "(")
                    and not (value == high and match[4] == ")")
                )
        elif isinstance(members := ast.literal_eval(allowed), set):
            return members.__contains__
    except (ValueError, SyntaxError):
        pass
    raise ValueError(
        f"has an unreadable range {allowed!r}; write an interval like (0, 10], "
        "a set like {1, 2}, or for lists 'each in' one of these"
    )


def _number(text: str) -> float:
    try:
        return int(text)  # exact, also beyond 2**53
    except ValueError:
        return float(text)
