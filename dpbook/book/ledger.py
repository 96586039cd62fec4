"""The ledger: every claim the book accounts for, read from ``book/claims.yml``.

The ledger says what was found out about a claim (its verdict), how strong the evidence is (its
tier) and where the evidence stands (its page).  Nothing here runs a check; `dpbook.book.claims`
does, and compares what comes out with what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

KINDS = (
    "definition",
    "model",
    "algorithm",
    "privacy",
    "sensitivity",
    "inequality",
    "utility",
    "lower-bound",
    "construction",
    "experiment",
    "dataset",
)
#: Kinds with nothing to break, whose checks need no broken twin.
KINDS_WITHOUT_CONTROL = ("definition", "model", "dataset")
VERDICTS = ("holds", "holds-loosely", "holds-repaired", "refuted", "shape-only", "definition")
#: Verdicts under which the printed statement is expected to fail its check.
FAILING_VERDICTS = ("holds-repaired", "refuted")
#: Verdicts that leave nothing to correct; every other verdict is an erratum.
CLEAN_VERDICTS = ("holds", "definition")
TIERS = ("exact", "certified", "statistical")
STATUSES = ("checked", "pending")

_TEXT_FIELDS = ("id", "paper", "where", "kind", "says", "notebook", "status")
_CHECKED_FIELDS = ("verdict", "tier")
_ERRATUM_FIELDS = ("printed", "wrong", "repair", "reproducer")
_ALL_FIELDS = (*_TEXT_FIELDS, *_CHECKED_FIELDS, "report", *_ERRATUM_FIELDS)

#: Marks that a text of the ledger must not contain, since it becomes a part of several pages.
_NOT_IN_TEXTS = {
    "![": "an image, which could lie on another host",
    "\\href": "a link inside a formula",
    "{{": "a substitution, which other pages do not know",
}


class LedgerError(ValueError):
    """The ledger cannot be found or contradicts itself; the message has one line per problem."""


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger.

    Parameters
    ----------
    id : str
        Stable name, for instance ``CCW25-ALG2``.
    paper : str
        Short name of the paper.
    where : str
        Where in the paper it stands.
    kind : str
        One of `KINDS`.
    says : str
        What the paper says, in the book's words (inline Markdown).
    notebook : str
        The page that checks it (or will), for instance ``03-noisy-counts``.
    status : str
        ``checked`` or ``pending``.
    verdict : str or None
        One of `VERDICTS`; None while pending.
    tier : str or None
        One of `TIERS`; None while pending.
    report : tuple of str
        Names of the numbers that the check must report.
    printed, wrong, repair, reproducer : str or None
        What is printed, what of it fails, the statement that is true, and a command or a few
        lines of Python that show it.  Present for every verdict outside `CLEAN_VERDICTS`.
    """

    id: str
    paper: str
    where: str
    kind: str
    says: str
    notebook: str
    status: str
    verdict: str | None = None
    tier: str | None = None
    report: tuple[str, ...] = ()
    printed: str | None = None
    wrong: str | None = None
    repair: str | None = None
    reproducer: str | None = None

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
        """Whether the claim belongs on the errata page."""
        return self.checked and self.verdict not in CLEAN_VERDICTS

    @property
    def state(self) -> str:
        """The verdict of a checked claim, ``pending`` for any other."""
        return self.verdict or "pending" if self.checked else "pending"


def load_ledger(path: str | Path) -> dict[str, Claim]:
    """Read and validate the ledger.

    Parameters
    ----------
    path : str or Path
        The file, usually ``book/claims.yml``.

    Returns
    -------
    dict of str to Claim
        The claims by id, in the order of the file.

    Raises
    ------
    LedgerError
        If the file is missing, is not a list of entries, or an entry breaks a rule: every broken
        rule is one line of the message, beginning with the id.
    """
    path = Path(path)
    if not path.is_file():
        raise LedgerError(f"no ledger at {path}; expected a file such as book/claims.yml")
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise LedgerError(f"{path.name} is not valid YAML: {error}") from error
    if not isinstance(entries, list):
        raise LedgerError(f"{path.name} must be a list of entries, got {type(entries).__name__}")
    problems: list[str] = []
    ledger: dict[str, Claim] = {}
    for number, entry in enumerate(entries, start=1):
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not name.strip():
            problems.append(f"entry {number} of {path.name}: needs an id, got {entry!r:.80}")
            continue
        found = _entry_problems(entry)
        if name in ledger:
            found.append("the id occurs twice")
        if found:
            problems.extend(f"{name}: {problem}" for problem in found)
            continue
        ledger[name] = Claim(**{**entry, "report": tuple(entry.get("report") or ())})
    if problems:
        raise LedgerError("\n".join(problems))
    return ledger


def find_ledger(start: str | Path | None = None) -> Path:
    """Find ``book/claims.yml`` in a folder or above it.

    Parameters
    ----------
    start : str, Path or None
        The folder to begin in; the working directory when None.  The folder that holds the
        `dpbook` package is tried last.

    Returns
    -------
    Path

    Raises
    ------
    LedgerError
        If there is none.
    """
    begin = Path(start or Path.cwd()).resolve()
    for folder in (begin, *begin.parents, Path(__file__).resolve().parents[2]):
        candidate = folder / "book" / "claims.yml"
        if candidate.is_file():
            return candidate
    raise LedgerError(f"no book/claims.yml in {begin} or in a folder above it")


def _entry_problems(entry: Mapping[str, Any]) -> list[str]:
    """Every rule that one entry breaks."""
    problems = [f"unknown field {key!r}" for key in entry if key not in _ALL_FIELDS]
    problems += [f"needs {key}, a text" for key in _TEXT_FIELDS if not _is_text(entry.get(key))]
    for key, allowed in (("kind", KINDS), ("status", STATUSES)):
        if _is_text(entry.get(key)) and entry[key] not in allowed:
            problems.append(f"{key} is {entry[key]!r}, must be one of {', '.join(allowed)}")
    problems += _report_problems(entry.get("report"))
    for key, words in entry.items():
        for mark, why in _NOT_IN_TEXTS.items():
            if isinstance(words, str) and mark in words and key != "reproducer":
                problems.append(f"{key} contains {mark!r}, {why}")
    if entry.get("status") == "checked":
        problems += _verdict_problems(entry)
    elif entry.get("status") == "pending":
        given = [key for key in _CHECKED_FIELDS if entry.get(key) is not None]
        problems += [f"is pending, so it cannot have a {key} yet" for key in given]
    return problems


def _verdict_problems(entry: Mapping[str, Any]) -> list[str]:
    """Every rule about verdict and tier that one checked entry breaks."""
    problems = []
    for key, allowed in (("verdict", VERDICTS), ("tier", TIERS)):
        if entry.get(key) not in allowed:
            problems.append(f"{key} is {entry.get(key)!r}, must be one of {', '.join(allowed)}")
    if entry.get("verdict") in VERDICTS and entry["verdict"] not in CLEAN_VERDICTS:
        for key in _ERRATUM_FIELDS:
            if not _is_text(entry.get(key)):
                problems.append(f"has verdict {entry['verdict']}, so it needs {key}, a text")
    return problems


def _report_problems(report: Any) -> list[str]:
    """Every rule that the list of reported names breaks."""
    if report is None:
        return []
    if not isinstance(report, list) or not all(_is_text(name) for name in report):
        return [f"report must be a list of names, got {report!r}"]
    if len(set(report)) != len(report):
        return [f"report names a number twice: {report!r}"]
    return []


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
