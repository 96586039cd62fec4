"""The ledger: every claim the book accounts for, read from ``book/claims.yml``.

The ledger says what was found out about a claim (its verdict), how strong the evidence is (its
tier) and where the evidence stands (its page).  Nothing here runs a check; `dpbook.book.claims`
does, and compares what comes out with what is written here.
"""

from __future__ import annotations

import re
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
VERDICTS = (
    "holds",
    "holds-loosely",
    "proof-repaired",
    "empty",
    "false-repaired",
    "refuted",
    "shape-only",
    "definition",
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

_TEXT_FIELDS = ("id", "paper", "where", "kind", "says", "notebook", "status")
_CHECKED_FIELDS = ("verdict", "tier")
_ERRATUM_TEXTS = ("heading", "printed", "wrong", "repair", "reproducer")
_ERRATUM_CHOICES: Mapping[str, tuple[str, ...]] = {"failed": FAILED, "severity": SEVERITIES}
_ERRATUM_FIELDS = (*_ERRATUM_TEXTS, *_ERRATUM_CHOICES)
_FREE_FIELDS = ("report", "remark", "same_as", "withdrawn")
_ALL_FIELDS = (*_TEXT_FIELDS, *_CHECKED_FIELDS, *_ERRATUM_FIELDS, *_FREE_FIELDS)
_WITHDRAWN_FIELDS = ("date", "said", "reason")

#: Every check reads the ledger; the parser in C, which most installations have, is much faster.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

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
    remark : str or None
        What a reader should know beside the verdict, of any claim.
    heading, printed, wrong, repair, reproducer : str or None
        One sentence that says it all, what is printed, what of it fails, the statement that is
        true, and a command or a few lines of Python that show it.
    failed, severity : str or None
        One of `FAILED` and of `SEVERITIES`.  Like the five texts above, present exactly for the
        verdicts outside `CLEAN_VERDICTS`.
    same_as : str or None
        The id of another claim that says the same, so that its check decides this one too.
    withdrawn : tuple of dict
        What this book said of the claim before: ``date`` of the change, ``said``, ``reason``.
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
    remark: str | None = None
    heading: str | None = None
    printed: str | None = None
    wrong: str | None = None
    repair: str | None = None
    reproducer: str | None = None
    failed: str | None = None
    severity: str | None = None
    same_as: str | None = None
    withdrawn: tuple[Mapping[str, str], ...] = ()

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
        entries = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
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
        ledger[name] = Claim(
            **entry
            | {
                "report": tuple(entry.get("report") or ()),
                "withdrawn": tuple(_withdrawn(entry.get("withdrawn"))),
            }
        )
    for claim in ledger.values():
        if claim.same_as is not None:
            problems.extend(_same_problems(claim, ledger.get(claim.same_as)))
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
    problems += _withdrawn_problems(entry.get("withdrawn"))
    for key in ("remark", "same_as"):
        if key in entry and not _is_text(entry[key]):
            problems.append(f"{key} must be a text, got {entry[key]!r}")
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
    allowed: tuple[str, ...]
    for key, allowed in (("verdict", VERDICTS), ("tier", TIERS)):
        if entry.get(key) not in allowed:
            problems.append(f"{key} is {entry.get(key)!r}, must be one of {', '.join(allowed)}")
    verdict = entry.get("verdict")
    if verdict not in VERDICTS:
        return problems
    if verdict in CLEAN_VERDICTS or "same_as" in entry:
        given = [key for key in _ERRATUM_FIELDS if key in entry]
        return problems + [f"has no erratum of its own, so it cannot have {key}" for key in given]
    for key in _ERRATUM_TEXTS:
        if not _is_text(entry.get(key)):
            problems.append(f"has verdict {verdict}, so it needs {key}, a text")
    for key, allowed in _ERRATUM_CHOICES.items():
        if entry.get(key) not in allowed:
            problems.append(f"{key} is {entry.get(key)!r}, must be one of {', '.join(allowed)}")
    return problems


def _same_problems(claim: Claim, other: Claim | None) -> list[str]:
    """Every rule about `same_as` that a claim breaks."""
    if other is None or other.same_as is not None:
        return [f"{claim.id}: same_as is {claim.same_as!r}, must be a claim with its own check"]
    return [
        f"{claim.id}: {key} is {getattr(claim, key)!r}, but {other.id}, which decides it, has "
        f"{getattr(other, key)!r}"
        for key in ("status", "verdict", "tier", "notebook")
        if getattr(claim, key) != getattr(other, key)
    ]


def _withdrawn(entries: Any) -> list[dict[str, str]]:
    """What was withdrawn, its dates as texts: YAML reads 2026-11-22 as a date."""
    return [{key: str(words) for key, words in entry.items()} for entry in entries or ()]


def _withdrawn_problems(entries: Any) -> list[str]:
    """Every rule that the list of withdrawn sentences breaks."""
    if entries is None:
        return []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return [f"withdrawn must be a list of {', '.join(_WITHDRAWN_FIELDS)}, got {entries!r:.80}"]
    problems = []
    for entry in entries:
        if set(entry) != set(_WITHDRAWN_FIELDS):
            problems.append(f"withdrawn needs {', '.join(_WITHDRAWN_FIELDS)}, got {entry!r:.80}")
        elif not re.fullmatch(r"\d{4}-\d\d-\d\d", str(entry["date"])):
            problems.append(f"withdrawn: date is {entry['date']!r}, must be year-month-day")
        elif not (_is_text(entry["said"]) and _is_text(entry["reason"])):
            problems.append(f"withdrawn: said and reason must be texts, got {entry!r:.80}")
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
