"""The ledger: every claim the book accounts for, read from ``book/claims.yml``.

``claims.schema.yml`` beside this module says what an entry must look like.  Where a page runs
without YAML, in a browser, its entries come from ``book/ledger.json``, which a build has written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

# yaml and jsonschema are imported where a ledger is parsed: a page in a browser has neither.

#: The papers that the book judges whole; results of its own stand under BOOK.
FIVE = ("CCW25", "CCW23", "XSC", "AGKM", "YLL")
#: How every sentence counts them.
PAPERS = "five papers, two of them versions of one"
#: Where the claims of all other papers are shown; their keys stand in ``book/references.bib``.
SINCE = "Since the five papers"
#: The verdicts under which the printed statement is expected to fail its check.
FAILING_VERDICTS = ("slip", "unproved", "undecided", "false-repaired", "refuted")
#: What an entry with `same_as` takes over.
_INHERITED = ("status", "notebook", "verdict", "evidence", "scope", "rests_on", "rebuilt", "formal")


class LedgerError(ValueError):
    """The ledger cannot be found or contradicts itself; the message has one line per problem."""


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger; a pending one has no verdict and no evidence."""

    id: str
    paper: str
    where: str  # in the paper
    kind: str
    says: str  # in the book's words, inline Markdown
    notebook: str | None  # the page that checks it, or would; a pending one may have none
    status: str
    verdict: str | None = None
    evidence: str | None = None
    report: Sequence[str] = ()  # names of the numbers that the check must report
    labels: Mapping[str, str] = field(default_factory=dict)  # these numbers in plain words
    remark: str | None = None
    # the erratum, for verdicts that leave something to correct
    heading: str | None = None
    printed: str | None = None
    wrong: str | None = None
    repair: str | None = None
    reproducer: str | None = None  # Python
    failed: str | None = None
    severity: str | None = None
    quote: str | None = None  # the words of the paper on which the erratum turns
    reconsider: str | None = None  # what would decide it, or change our mind
    consequence_of: str | None = None  # the claim whose mistake this one only carries on
    scope: str | None = None  # the sizes that a certificate speaks of
    formal: Mapping[str, Any] | None = None  # the theorem that a kernel checks, see `make proofs`
    beyond: str | None = None  # what was found outside the settings of the check
    rebuilt: str | None = None  # whether our copy has lost the formula, so that it was rebuilt
    same_as: str | None = None  # the claim whose check decides this one, too
    withdrawn: Sequence[Mapping[str, str]] = ()  # what this book said before: date, said, reason
    rests_on: Sequence[str] = ()  # what its statement or its printed proof needs

    def label(self, name: str) -> str:
        """What a recorded number is, in plain words, with its unit; its name without a label."""
        return self.labels.get(name, name)

    @property
    def group(self) -> str:
        """One of the five papers or BOOK; all others stand under one heading."""
        return self.paper if self.paper in (*FIVE, "BOOK") else SINCE

    @property
    def checked(self) -> bool:
        """Whether the claim has been checked; any other has no verdict."""
        return self.status == "checked"

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels of evidence that it has, the strongest first."""
        return (*["formal"] * bool(self.formal), *filter(None, [self.evidence]))

    @property
    def needs_control(self) -> bool:
        """Whether there is something to break, so that a check must catch a negative control."""
        return self.kind != "dataset"

    @property
    def expects_holds(self) -> bool:
        """Whether the verdict says that the printed statement passes its check."""
        return self.verdict not in FAILING_VERDICTS

    @property
    def is_erratum(self) -> bool:
        """Whether the claim has an entry of its own on the errata page."""
        return self.checked and self.heading is not None

    @property
    def is_mistake(self) -> bool:
        """Whether a statement or its proof is shown to be wrong, here or in what it carries on."""
        return self.verdict in ("false-repaired", "refuted", "proof-repaired")

    @property
    def breaks_privacy(self) -> bool:
        """Whether what is printed promises a privacy that it does not give."""
        return self.severity == "privacy"

    @property
    def state(self) -> str:
        """The verdict of a checked claim, else ``pending`` or ``not-judged``."""
        return self.verdict or "pending" if self.checked else self.status


def load_ledger(path: str | Path) -> dict[str, Claim]:
    """The claims of a ledger by id, in its order; a `LedgerError` has a line per broken rule."""
    path = Path(path)
    if not path.is_file():
        raise LedgerError(f"no ledger at {path}; expected a file such as book/claims.yml")
    return dict(_loaded(path, _version(path)))


def raw_entries(path: Path) -> list[Any]:
    """The entries of the ledger as they stand there; raises `LedgerError` if it is not a list."""
    return _parsed(path, _version(path))


def entries_of(page: str, code: str, entries: Sequence[Any]) -> list[dict[str, Any]]:
    """The entries that a page checks, and those that its code names, to ask for their verdict."""
    good = [entry for entry in entries if isinstance(entry, dict)]
    named = set(re.findall(r"""['"]([\w.-]+)['"]""", code))
    return [e for e in good if e.get("notebook") == page or e.get("id") in named]


def find_ledger() -> Path:
    """Where ``book/claims.yml`` is: here or in a folder above, or else beside this package."""
    here = Path.cwd()
    folders = (here, *here.parents, Path(__file__).resolve().parents[3])
    names = ("claims.yml", "ledger.json")
    paths = [folder / "book" / name for folder in folders for name in names]
    return next(filter(Path.is_file, paths), paths[0])


def _version(path: Path) -> tuple[int, int]:
    return path.stat().st_mtime_ns, path.stat().st_size


@lru_cache(maxsize=4)
def _parsed(path: Path, version: tuple[int, int]) -> list[Any]:
    if path.suffix == ".json":
        return list(json.loads(path.read_text(encoding="utf-8")))
    import yaml

    try:  # the parser in C where there is one; whatever stands in the ledger is text, dates too
        text = path.read_text(encoding="utf-8")
        entries = yaml.load(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        kind = "YAML" if isinstance(error, yaml.YAMLError) else "UTF-8"
        raise LedgerError(f"{path.name} is not valid {kind}: {error}") from error
    if not isinstance(entries, list):
        raise LedgerError(f"{path.name} must be a list of entries, got {type(entries).__name__}")
    return entries


@lru_cache(maxsize=4)
def _loaded(path: Path, version: tuple[int, int]) -> dict[str, Claim]:
    written = path.suffix == ".json"  # by a build, for a browser: valid, and of one page alone
    problems: list[str] = []
    good: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(_parsed(path, version), start=1):
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name.strip():
            problems.append(f"entry {number} of {path.name}: needs an id, got {entry!r:.80}")
            continue
        complaints = [] if written else [*_complaints(entry)]
        complaints += ["the id occurs twice"] * (name in good)
        problems += [f"{name}: {complaint}" for complaint in complaints]
        if not complaints:
            good[name] = entry
    ledger = {}
    for name, entry in good.items():
        other = good.get(entry["same_as"], entry) if "same_as" in entry else {}
        if "same_as" in other:
            words = f"same_as is {entry['same_as']!r}, must be a claim with its own check"
            problems.append(f"{name}: {words}")
            continue
        taken = {key: other[key] for key in _INHERITED if key in other and key not in entry}
        if "rests_on" in taken:
            taken["rests_on"] = _own_names(taken["rests_on"], entry["paper"], good)
        ledger[name] = claim = Claim(**({"notebook": None} | entry | taken))
        if not written and claim.consequence_of not in (None, *good):
            words = f"consequence_of is {claim.consequence_of!r}, must be another claim"
            problems.append(f"{name}: {words}")
    if not written and not problems:
        problems += _graph_problems({c.id: c.rests_on for c in ledger.values()}, path.name)
    if problems:
        raise LedgerError("\n".join(problems))
    return ledger


@lru_cache(maxsize=1)
def _validator() -> Draft202012Validator:
    import yaml
    from jsonschema import Draft202012Validator, FormatChecker

    schema = yaml.safe_load(Path(__file__).with_name("claims.schema.yml").read_text("utf-8"))
    formats = FormatChecker(())
    formats.checks("python", SyntaxError)(lambda code: compile(str(code), "reproducer", "exec"))
    return Draft202012Validator(schema, format_checker=formats)


def _complaints(entry: Mapping[str, Any]) -> Iterator[str]:
    """What the schema finds: the field, its value and what is allowed."""
    properties = _validator().schema["properties"]
    for error in _validator().iter_errors(entry):
        where = error.json_path.removeprefix("$").removeprefix(".")
        before = f"{where}: " * bool(where)
        fields = error.schema.get("properties", properties)
        if error.validator == "required":
            name = error.message.split("'")[1]
            yield f"{before}needs {name}, {_allowed(fields[name])}"
        elif error.validator == "additionalProperties":
            for name in error.instance.keys() - fields.keys():
                yield f"{before}unknown field {name!r}"
        else:
            yield f"{where} is {error.instance!r:.80}, must be {_allowed(error.schema)}"
    if "labels" in entry:
        for name in {*entry["labels"]} ^ {*entry.get("report", ())}:
            yield f"labels and report must have the same names; {name!r} is in one of them"


def _allowed(schema: Mapping[str, Any]) -> str:
    return schema.get("description") or f"one of {', '.join(schema['enum'])}"


def _graph_problems(rests: Mapping[str, Sequence[str]], file: str) -> list[str]:
    """One line for each name that is unknown or its own; else one for a circle."""
    problems = [
        f"{name}: rests_on in {file}: {support!r} must be the id of another claim of this file"
        for name, supports in rests.items()
        for support in supports
        if support not in rests or support == name
    ]
    try:
        TopologicalSorter(rests if not problems else {}).prepare()
    except CycleError as error:
        circle = error.args[1][:0:-1]  # each rests on the next, the last on the first
        start = min(range(len(circle)), key=lambda at: [*rests].index(circle[at]))
        names = circle[start:] + circle[: start + 1]
        problems.append(f"{names[0]}: rests_on in {file} goes in a circle: {' → '.join(names)}")
    return problems


def _own_names(
    supports: Iterable[str], paper: str, rows: Mapping[str, Mapping[str, str]]
) -> list[str]:
    """The supports of a repeated claim, by the names that they have in its own paper, if any."""
    repeats = ((row.get("same_as"), name) for name, row in rows.items() if row["paper"] == paper)
    controls = dict(reversed([*repeats]))  # the first of several
    return list(dict.fromkeys(controls.get(support, support) for support in supports))
