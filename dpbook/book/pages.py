"""The pages of the book, each with one cell tagged ``parameters``, and named parameter sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.parameters import PageError, Parameter, ParameterError, parse_parameters

__all__ = [
    "Page",
    "PageError",
    "Parameter",
    "ParameterError",
    "find_pages",
    "load_profile",
    "named_parameters",
    "parse_parameters",
    "read_page",
    "validate",
]

PROFILES = "profiles.yml"


@dataclass(frozen=True)
class Page:
    """One notebook of the book.

    Attributes
    ----------
    name : str
        File name without suffix, ``03-noisy-counts``.
    path : Path
        The committed notebook.
    title : str
        Its first heading.
    parameters : dict of str to Parameter
        In the order of the parameters cell.
    code_cells : tuple of str
        Sources of the code cells, the parameters cell included.
    """

    name: str
    path: Path
    title: str
    parameters: dict[str, Parameter]
    code_cells: tuple[str, ...]


def find_pages(root: Path) -> list[Page]:
    """Read all pages in ``<root>/notebooks``, ordered by name.

    Raises
    ------
    PageError
        If a notebook cannot be read, or has not exactly one well-formed parameters cell.
    """
    return [read_page(path) for path in sorted((Path(root) / "notebooks").glob("*.ipynb"))]


def read_page(path: Path) -> Page:
    """Read one page; raises `PageError` as `find_pages` does."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        sources = [(cell, "".join(cell["source"])) for cell in cells]
        tagged = [s for cell, s in sources if "parameters" in cell["metadata"].get("tags", [])]
        kinds = [cell["cell_type"] for cell in cells]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise PageError(
            f"page {path.stem}: not a readable notebook ({type(error).__name__}: {error})"
        ) from None
    if len(tagged) != 1:
        raise PageError(
            f"page {path.stem}: {len(tagged)} cells are tagged 'parameters', one is needed"
        )
    try:
        parameters = parse_parameters(tagged[0])
    except PageError as error:
        raise PageError(f"page {path.stem}: {error}") from None
    headings = (
        line[2:].strip()
        for kind, (_, source) in zip(kinds, sources, strict=True)
        if kind == "markdown"
        for line in source.splitlines()
        if line.startswith("# ")
    )
    code = tuple(s for kind, (_, s) in zip(kinds, sources, strict=True) if kind == "code")
    return Page(path.stem, path, next(headings, path.stem), parameters, code)


def validate(page: Page, given: Mapping[str, Any]) -> dict[str, Any]:
    """Effective parameters of a page: the defaults with `given` on top.

    Raises
    ------
    ParameterError
        Naming the page, the parameter, the value and what is allowed.
    """
    unknown = [name for name in given if name not in page.parameters]
    if unknown:
        known = ", ".join(page.parameters) or "(none)"
        raise ParameterError(
            f"page {page.name}: no parameter {unknown[0]!r}; its parameters are {known}"
        )
    effective = {}
    for name, parameter in page.parameters.items():
        value = given.get(name, parameter.default)
        try:
            effective[name] = parameter.coerce(value)
        except ValueError as error:
            raise ParameterError(f"page {page.name}: {name} = {value!r} {error}") from None
    return effective


def named_parameters(root: Path) -> dict[str, list[dict[str, Any]]]:
    """By page, the parameters that the book itself runs it at: its defaults, and every profile's.

    Raises
    ------
    PageError, ParameterError
        As `find_pages`, `load_profile` and `validate` do.
    """
    profiles = [load_profile(root, name) for name in _profiles(root)]
    return {
        page.name: [validate(page, values.get(page.name, {})) for values in profiles]
        for page in find_pages(root)
    }


def load_profile(root: Path, name: str) -> dict[str, dict[str, Any]]:
    """Overrides of a profile, by page: ``{page: {parameter: value}}``.

    Raises
    ------
    PageError
        If ``notebooks/profiles.yml`` is missing or malformed, or has no such profile.
    """
    profiles = _profiles(root)
    if name not in profiles:
        raise PageError(f"no profile {name!r}; notebooks/{PROFILES} has {', '.join(profiles)}")
    overrides = profiles[name] or {}
    if not isinstance(overrides, dict) or not all(
        isinstance(values, dict | None) for values in overrides.values()
    ):
        raise PageError(f"profile {name!r}: give each page a mapping of parameter to value")
    return {page: dict(values or {}) for page, values in overrides.items()}


def _profiles(root: Path) -> dict[str, Any]:
    path = Path(root) / "notebooks" / PROFILES
    try:
        profiles = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        raise PageError(f"notebooks/{PROFILES} cannot be read: {error}") from None
    if not isinstance(profiles, dict):
        raise PageError(f"notebooks/{PROFILES} is not a mapping of profiles")
    profiles.setdefault("default", {})
    return profiles
