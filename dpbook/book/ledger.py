"""The ledger: every claim the book accounts for, read from ``book/claims.yml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import yaml
from jsonschema import Draft202012Validator

KINDS = (
    *("definition", "model", "algorithm", "privacy", "sensitivity", "inequality", "utility"),
    *("lower-bound", "construction", "experiment", "dataset"),
)
#: Kinds with nothing to break, whose checks need no broken twin.
KINDS_WITHOUT_CONTROL = ("definition", "model", "dataset")
VERDICTS = (
    *("holds", "holds-loosely", "proof-repaired", "empty", "false-repaired", "refuted"),
    *("shape-only", "definition"),
)
#: Verdicts under which the printed statement is expected to fail its check.
FAILING_VERDICTS = ("false-repaired", "refuted")
#: Verdicts that leave nothing to correct; every other verdict is an erratum.
CLEAN_VERDICTS = ("holds", "shape-only", "definition")
TIERS = ("exact", "certified", "proof", "statistical")
STATUSES = ("checked", "pending")
#: What of a claim failed, and what hangs on it, the gravest first.
FAILED = ("statement", "proof", "algorithm", "accounting", "experiment", "wording")
SEVERITIES = ("privacy", "conclusion", "proof", "constant", "wording")

_CHECKED = ("verdict", "tier")
_ERRATUM = ("heading", "printed", "wrong", "repair", "reproducer", "failed", "severity")
#: What an entry with `same_as` takes over.
_INHERITED = ("status", "notebook", *_CHECKED)


def _one_of(words: tuple[str, ...]) -> dict[str, Any]:
    return {"enum": list(words), "description": f"one of {', '.join(words)}"}


def _list_of(items: Mapping[str, Any], words: str) -> dict[str, Any]:
    return {"type": "array", "items": items, "description": f"a list of {words}"}


def _mapping_of(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    form = {"type": "object", "properties": properties, "required": required}
    words = f"a mapping of {', '.join(properties)}"
    return form | {"additionalProperties": False, "description": words}


_TEXT = {"type": "string", "pattern": r"\S", "description": "a text"}
_DATE = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$", "description": "year-month-day"}
_WITHDRAWN = {"date": _DATE, "said": _TEXT, "reason": _TEXT}

#: One entry, field by field, as JSON Schema; the descriptions say in words what is allowed.
SCHEMA = _mapping_of(
    required=["id", "paper", "where", "kind", "says"],
    properties={
        **dict.fromkeys(("id", "paper", "where", "says", "notebook", "remark", "same_as"), _TEXT),
        **dict.fromkeys(_ERRATUM, _TEXT),
        "kind": _one_of(KINDS),
        "status": _one_of(STATUSES),
        "verdict": _one_of(VERDICTS),
        "tier": _one_of(TIERS),
        "failed": _one_of(FAILED),
        "severity": _one_of(SEVERITIES),
        "report": _list_of(_TEXT, "names, each once") | {"uniqueItems": True},
        "labels": {
            "type": "object",
            "additionalProperties": _TEXT,
            "description": "for names of the report: what the number is, in plain words",
        },
        "withdrawn": _list_of(_mapping_of(_WITHDRAWN, list(_WITHDRAWN)), ", ".join(_WITHDRAWN)),
    },
)
_VALIDATOR = Draft202012Validator(SCHEMA)

#: Marks that a text of the ledger must not contain, since it becomes a part of several pages.
_NOT_IN_TEXTS = {
    "![": "an image, which could lie on another host",
    "\\href": "a link inside a formula",
    "{{": "a substitution, which other pages do not know",
}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The parser in C where there is one; dates stay texts."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class LedgerError(ValueError):
    """The ledger cannot be found or contradicts itself; the message has one line per problem."""


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger; a pending one has no verdict and no tier."""

    id: str
    paper: str
    where: str  # in the paper
    kind: str
    says: str  # in the book's words, inline Markdown
    notebook: str  # the page that checks it, or will
    status: str
    verdict: str | None = None
    tier: str | None = None
    report: tuple[str, ...] = ()  # names of the numbers that the check must report
    labels: Mapping[str, str] = field(default_factory=dict)  # these numbers in plain words
    remark: str | None = None
    # exactly for the verdicts outside `CLEAN_VERDICTS`: the erratum
    heading: str | None = None
    printed: str | None = None
    wrong: str | None = None
    repair: str | None = None
    reproducer: str | None = None  # Python, or a command
    failed: str | None = None
    severity: str | None = None
    same_as: str | None = None  # the claim whose check decides this one, too
    withdrawn: tuple[Mapping[str, str], ...] = ()  # what this book said before: date, said, reason

    def label(self, name: str) -> str:
        """What a recorded number is, in plain words, with its unit; its name without a label."""
        return self.labels.get(name, name)

    @property
    def checked(self) -> bool:
        """Whether the claim has been checked; a pending claim has no verdict."""
        return self.status == "checked"

    @property
    def needs_control(self) -> bool:
        """Whether a check must show a broken twin that it catches."""
        return self.kind not in KINDS_WITHOUT_CONTROL

    @property
    def expects_holds(self) -> bool:
        """Whether the verdict says that the printed statement passes its check."""
        return self.verdict not in FAILING_VERDICTS

    @property
    def is_erratum(self) -> bool:
        """Whether the claim has an entry of its own on the errata page."""
        return self.checked and self.verdict not in CLEAN_VERDICTS and self.same_as is None

    @property
    def breaks_privacy(self) -> bool:
        """Whether what is printed promises a privacy that it does not give."""
        return self.severity == "privacy"

    @property
    def state(self) -> str:
        """The verdict of a checked claim, ``pending`` for any other."""
        return self.verdict or "pending" if self.checked else "pending"


def load_ledger(path: str | Path) -> dict[str, Claim]:
    """The claims of a ledger by id, in its order; a `LedgerError` has a line per broken rule."""
    path = Path(path)
    if not path.is_file():
        raise LedgerError(f"no ledger at {path}; expected a file such as book/claims.yml")
    return dict(_loaded(path, *_version(path)))


def raw_entries(path: Path) -> list[Any]:
    """The entries of the ledger as they stand there; raises `LedgerError` if it is not a list."""
    return _parsed(path, *_version(path))


def _version(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _parsed(path: Path, changed: int, size: int) -> list[Any]:
    try:
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except yaml.YAMLError as error:
        raise LedgerError(f"{path.name} is not valid YAML: {error}") from error
    if not isinstance(entries, list):
        raise LedgerError(f"{path.name} must be a list of entries, got {type(entries).__name__}")
    return entries


@lru_cache(maxsize=4)
def _loaded(path: Path, changed: int, size: int) -> dict[str, Claim]:
    problems: list[str] = []
    good: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(_parsed(path, changed, size), start=1):
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name.strip():
            problems.append(f"entry {number} of {path.name}: needs an id, got {entry!r:.80}")
            continue
        found = [*_broken_fields(entry), *_broken_rules(entry)]
        found += ["the id occurs twice"] * (name in good)
        problems += [f"{name}: {problem}" for problem in found]
        if not found:
            good[name] = entry
    ledger = {}
    for name, entry in good.items():
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        plain: dict[str, Any] = entry | lists
        if "same_as" in entry:
            other = good.get(entry["same_as"], entry)
            if "same_as" in other:
                words = f"same_as is {entry['same_as']!r}, must be a claim with its own check"
                problems.append(f"{name}: {words}")
                continue
            plain |= {key: other[key] for key in _INHERITED if key in other}
        ledger[name] = Claim(**plain)
    if problems:
        raise LedgerError("\n".join(problems))
    return ledger


def find_ledger(start: str | Path | None = None) -> Path:
    """``book/claims.yml`` in a folder or above it, or beside this package; else `LedgerError`."""
    begin = Path(start or Path.cwd()).resolve()
    for folder in (begin, *begin.parents, Path(__file__).resolve().parents[2]):
        candidate = folder / "book" / "claims.yml"
        if candidate.is_file():
            return candidate
    raise LedgerError(f"no book/claims.yml in {begin} or in a folder above it")


def _broken_fields(entry: Mapping[str, Any]) -> Iterator[str]:
    """What the schema finds: the field, its value and what is allowed."""
    for error in _VALIDATOR.iter_errors(entry):
        where = error.json_path.removeprefix("$").removeprefix(".")
        before = f"{where}: " if where else ""
        if error.validator == "required":
            name = error.message.split("'")[1]
            yield f"{before}needs {name}, {error.schema['properties'][name]['description']}"
        elif error.validator == "additionalProperties":
            for name in error.instance.keys() - error.schema["properties"].keys():
                yield f"{before}unknown field {name!r}"
        else:
            yield f"{where} is {error.instance!r:.80}, must be {error.schema['description']}"


def _broken_rules(entry: Mapping[str, Any]) -> Iterator[str]:
    """What the fields say about each other."""
    for key, words in entry.items():
        for mark, why in _NOT_IN_TEXTS.items():
            if isinstance(words, str) and mark in words and key != "reproducer":
                yield f"{key} contains {mark!r}, {why}"
    if "same_as" in entry:
        for key in (*_INHERITED, *_ERRATUM):
            if key in entry:
                yield f"has no check and no erratum of its own, so it cannot have {key}"
        return
    for key in entry.get("labels", {}).keys() ^ entry.get("report", ()):
        yield f"labels and report must have the same names; {key!r} is in one of them"
    status, verdict = entry.get("status"), entry.get("verdict")
    checked = status == "checked"
    for key in ("notebook", "status", *(_CHECKED if checked else ())):
        if key not in entry:
            yield f"needs {key}, {SCHEMA['properties'][key]['description']}"
    if status == "pending":
        for key in (key for key in _CHECKED if key in entry):
            yield f"is pending, so it cannot have a {key} yet"
    elif checked and verdict in VERDICTS:
        for key in _ERRATUM:
            if verdict in CLEAN_VERDICTS and key in entry:
                yield f"has no erratum of its own, so it cannot have {key}"
            elif verdict not in CLEAN_VERDICTS and key not in entry:
                allowed = SCHEMA["properties"][key]["description"]
                yield f"has verdict {verdict}, so it needs {key}, {allowed}"
