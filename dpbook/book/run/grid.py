"""The grid of a sweep: a file of YAML that names pages, parameters and lists of their values.

profile: smoke            # may be absent; the values below go on top of it
pages:
  04-noisy-counts:        # every combination of these values
    epsilon: [0.5, 1.0]
    n_items: [4, 6]
  17:                     # or one setting after the other
    - {epsilon: 0.5}
    - {epsilon: 1.0, people: 100}
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.pages import (
    Page,
    PageError,
    ParameterError,
    find_page,
    find_pages,
    load_profile,
    validate,
)
from dpbook.book.run.keys import page_keys


@dataclass(frozen=True)
class Task:
    """One page at one setting; `given` is what the grid says, `parameters` are all of them."""

    page: Page
    given: dict[str, Any]
    parameters: dict[str, Any]
    key: str

    @property
    def name(self) -> str:
        return f"{self.page.name}-{self.key[:16]}"

    @property
    def words(self) -> str:
        return " ".join([self.page.name, *(f"{key}={value}" for key, value in self.given.items())])


def plan(root: Path, grid: Path) -> list[Task]:
    """The tasks of a grid, each once; a `PageError` has a line for everything that is wrong."""
    try:
        asked = yaml.safe_load(grid.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise PageError(f"{grid} cannot be read: {' '.join(str(error).split())}") from None
    wanted = asked.get("pages") if isinstance(asked, dict) else None
    if not isinstance(wanted, dict) or not wanted:
        raise PageError(f"{grid}: needs `pages`, a mapping of pages to parameters and their values")
    others = sorted(map(str, asked.keys() - {"pages", "profile"}))
    problems = [f"unknown entry {name!r}; allowed are pages and profile" for name in others]
    profile: dict[str, dict[str, Any]] = {}
    try:
        profile = load_profile(root, str(asked.get("profile", "default")))
    except PageError as error:
        problems.append(str(error))
    tasks: dict[str, Task] = {}
    pages: dict[str, Page] = {}
    for name, values in wanted.items():
        try:
            pages = pages or {page.name: page for page in find_pages(root)}
            page = pages.get(name) or find_page(root, str(name))
            settings = list(_settings(page, values, problems))
            if not problems:
                own = profile.get(page.name, {})
                effective = [validate(page, own | given) for given in settings]
                keys = page_keys(page, effective, root)
                for given, parameters, key in zip(settings, effective, keys, strict=True):
                    tasks.setdefault(key, Task(page, given, parameters, key))
        except PageError as error:
            problems.append(str(error))
    if problems:
        raise PageError("\n  ".join([f"{grid}: nothing was run", *problems]))
    return list(tasks.values())


def _settings(page: Page, values: Any, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The settings that an entry of the grid asks for, and into `problems` what is wrong."""
    if isinstance(values, list) and values and all(isinstance(one, dict) for one in values):
        settings = values
    elif values is None or isinstance(values, dict):
        axes: dict[str, list[Any]] = {}
        for name, axis in (values or {}).items():
            if isinstance(axis, list) and axis:
                axes[str(name)] = axis
            else:
                problems.append(f"page {page.name}: {name} = {axis!r} is not a list of values")
        settings = [dict(zip(axes, one, strict=True)) for one in itertools.product(*axes.values())]
    else:
        allowed = "allowed: parameters with lists of values, or a list of settings"
        problems.append(f"page {page.name}: {values!r}; {allowed}")
        return
    for setting in settings:
        for name, value in setting.items():
            try:
                validate(page, {str(name): value})
            except ParameterError as error:
                if str(error) not in problems:
                    problems.append(str(error))
        yield {str(name): value for name, value in setting.items()}
