"""The parameters that a reader may change: how a page states them, and which values they take.

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
import re
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

_SCALARS = (bool, int, float, str)
_INTERVAL = re.compile(r"([\[(])\s*([^\s,]+)\s*,\s*([^\s,]+)\s*([\])])")


class PageError(ValueError):
    """A page, or the file of profiles, is not in the form the book needs."""


class ParameterError(ValueError):
    """A parameter is unknown, or its value is of the wrong type or outside the allowed range."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a page.

    Attributes
    ----------
    name : str
        The variable that the notebook uses.
    default : bool, int, float, str, or a non-empty list of one of these
        The value in the notebook; its type is the type of the parameter.
    meaning, unit, allowed : str
        The three parts of the comment.  `allowed` is an interval such as ``(0, 10]``, a set of
        literals such as ``{"a", "b"}``, or for lists ``each in`` one of these.
    """

    name: str
    default: Any
    meaning: str
    unit: str
    allowed: str

    @property
    def kind(self) -> str:
        """The type in words: ``int``, ``float``, ``list of float`` ..."""
        if isinstance(self.default, list):
            return f"list of {_scalar_type(self.default).__name__}"
        return type(self.default).__name__

    def coerce(self, value: Any) -> Any:
        """Give `value` in the type of the default, or refuse it.

        Raises
        ------
        ValueError
            If the type is wrong or the value is not allowed; the message says what is.
        """
        if isinstance(self.default, list):
            if not isinstance(value, list | tuple) or not value:
                raise ValueError(self._wanted("is not a list with at least one element"))
            items = list(value)
        else:
            items = [value]
        inside = _membership(self.allowed.removeprefix("each in").strip())
        items = [self._coerce_scalar(item) for item in items]
        if not all(map(inside, items)):
            raise ValueError(self._wanted("is outside the allowed values"))
        return items if isinstance(self.default, list) else items[0]

    def contains(self, value: Any) -> bool:
        """Whether `value` has the right type and is allowed."""
        try:
            self.coerce(value)
        except ValueError:
            return False
        return True

    def parse(self, text: str) -> Any:
        """Read a value typed on the command line: a Python literal, else YAML.

        Text for a string parameter is taken as it stands, so that ``-p edition 1998`` is a string.
        """
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


def parse_parameters(source: str) -> dict[str, Parameter]:
    """Parse the source of a parameters cell.

    Raises
    ------
    PageError
        If a line is not ``name = literal  # meaning | unit | allowed``, or if a default is not
        among its own allowed values.
    """
    try:
        statements = ast.parse(source).body
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError) as error:
        raise PageError(f"parameters cell is not valid Python ({error})") from None
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    parameters: dict[str, Parameter] = {}
    for node in statements:
        parameter = _read_statement(node, comments)
        if parameter.name in parameters:
            raise PageError(f"parameter {parameter.name} is assigned twice")
        parameters[parameter.name] = parameter
    return parameters


def _read_statement(node: ast.stmt, comments: Mapping[int, str]) -> Parameter:
    line = ast.unparse(node)
    if not (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
    ):
        raise PageError(f"parameters cell: {line!r} is not of the form name = literal")
    try:
        default = ast.literal_eval(node.value)
    except ValueError:
        raise PageError(f"parameters cell: the value in {line!r} is not a literal") from None
    last = node.end_lineno or node.lineno
    comment = " ".join(comments[n] for n in range(node.lineno, last + 1) if n in comments)
    parts = [part.strip() for part in comment.split("|", 2)]
    if len(parts) != 3 or not all(parts):
        raise PageError(f"parameters cell: {line!r} needs a comment '# meaning | unit | allowed'")
    parameter = Parameter(node.targets[0].id, default, *parts)
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
    if not isinstance(default, list):
        types = {type(default)}
    else:
        types = {type(item) for item in default}
        if types == {int, float}:
            types = {float}
    if len(types) != 1 or not types <= set(_SCALARS):
        raise ValueError("is not a bool, int, float, str or a non-empty list of one of these")
    return types.pop()


def _membership(allowed: str) -> Callable[[Any], bool]:
    """Turn ``(0, 10]`` or ``{1, 2}`` into a test."""
    match = _INTERVAL.fullmatch(allowed)
    try:
        if match:
            opening, low, high, closing = match[1], _number(match[2]), _number(match[3]), match[4]
            if not low <= high:
                raise ValueError
        else:
            members = ast.literal_eval(allowed)
            if not isinstance(members, set):
                raise ValueError
    except (ValueError, SyntaxError):
        raise ValueError(
            f"has an unreadable range {allowed!r}; write an interval like (0, 10], "
            "a set like {1, 2}, or for lists 'each in' one of these"
        ) from None
    if not match:
        return lambda value: value in members

    def inside(value: Any) -> bool:
        if isinstance(value, str):
            return False
        above = low <= value if opening == "[" else low < value
        below = value <= high if closing == "]" else value < high
        return bool(above and below)  # false for NaN, whatever the brackets

    return inside


def _number(text: str) -> float:
    try:
        return int(text)  # exact, also beyond 2**53
    except ValueError:
        return float(text)
