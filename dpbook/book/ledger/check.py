"""`check` a claim in a notebook: a record of what was measured, in the output of its cell."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from IPython.display import display

from dpbook.book.ledger import words
from dpbook.book.ledger.claims import Claim, find_ledger, load_ledger
from dpbook.book.ledger.findings import Finding, follows

#: The type under which a record lies in the outputs of a notebook.
RECORD_MIME = "application/vnd.dpbook.claim+json"
#: And that of a certificate, for a program that knows nothing of ours.
CERTIFICATE_MIME = "application/vnd.dpbook.certificate+json"
#: The level whose records name a certificate by its SHA-256.
CERTIFIED_FOR_ALL = "all-epsilon"
#: Said where a page stands alone, without the ledger of the book.
ALONE = "no ledger here: verdict not compared"

#: The fields of a record, in the order of ``claims.json``.
RECORD_FIELDS = (
    *("id", "holds", "repaired", "applies", "why", "verdict", "evidence", "report", "control"),
    *("measured", "notebook", "parameters"),
)


class ClaimError(ValueError):
    """A claim that cannot be checked or quoted; the message names it and what is wrong."""


def digest(certificate: Mapping[str, Any]) -> str:
    """SHA-256 of a certificate, of its JSON with sorted keys and nothing between."""
    text = json.dumps(certificate, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def check(
    claim_id: str,
    test: Callable[[Any], Finding],
    *,
    printed: Any = None,
    repaired: Any = None,
    control: Mapping[str, Any] | None = None,
    evidence: str,
    report: Mapping[str, Any] | None = None,
    balls: Mapping[str, Any] | None = None,
    tried: Mapping[str, Any] | None = None,
    applies: Any = True,
    why: str | None = None,
) -> None:
    """Apply one test to a claim, its repair and its controls; record and show how it came out.

    A test that is too weak betrays itself, since it passes a control.  A control must fail each
    part, or a printed statement whose verdict says that it fails.  What contradicts the ledger does
    not raise: it is shown as a contradiction, and the build fails when it is collected.

    Parameters
    ----------
    claim_id : str
        The id in ``book/claims.yml``; the entry must have ``status: checked``.
    test : callable
        Takes one subject and returns a `dpbook.book.ledger.findings.Finding` of the same parts.
    printed : object
        What the paper prints, as `test` takes it: a scale, a distribution, a bound, simulated
        results.
    repaired : object, optional
        The repaired statement in the same form; the verdict ``false-repaired`` requires it.
    control : mapping of str to object, optional
        What was broken on purpose, in words ("half the noise"), and the subject that results: it
        must come out the other way than the repair, or than what is printed. A dataset needs none.
    evidence : {"all-epsilon", "exact", "certified", "proof", "consistency", "statistical"}
        Strength of the evidence, as in the ledger. The first one needs a test with a part from
        `proved`, whose certificate of the asserted statement is kept.
    report : mapping of str to number or table, optional
        Exactly the numbers that the ledger names: each finite, a list of such, or a list of dicts.
    balls : mapping of str to object, optional
        Proved bounds of some of these numbers, from `dpbook.privacy.balls`, with certificates; a
        number outside contradicts its claim. Not with the first level of evidence, which has a
        certificate.
    tried : mapping of str to array or list of str, optional
        The settings of this check by name; of numbers the smallest and the largest are kept.
    applies : bool, optional
        False when the parameters of the page leave the claim's hypotheses: nothing is tested then.
    why : str, optional
        Which hypothesis fails; required when `applies` is False, ignored otherwise.

    Raises
    ------
    ClaimError
        If nothing can be measured or recorded.
    """
    claim = _claim(claim_id) if find_ledger().is_file() else None
    if not applies and not why:
        raise ClaimError(f"{claim_id}: applies=False needs why='...', which hypothesis fails")
    subjects = [("printed", "", printed)]
    subjects += [] if repaired is None else [("repaired", "", repaired)]
    asserted = len(subjects) - 1
    subjects += [("control", name, subject) for name, subject in (control or {}).items()]
    findings = [test(subject) for *_, subject in subjects] if applies else []
    measured: list[dict[str, Any]] = [
        {"subject": role, "name": name, "passes": finding.passes, "parts": [*finding.parts]}
        for (role, name, _), finding in zip(subjects, findings, strict=False)
    ]
    names = [[part["what"] for part in entry["parts"]] for entry in measured]
    if any(others != names[0] for others in names):
        raise ClaimError(f"{claim_id}: the test measures different things: {names}")
    record = dict.fromkeys(RECORD_FIELDS) | {"id": claim_id, **_outcomes(measured)}
    record |= {"applies": bool(applies), "why": None if applies else why, "evidence": evidence}
    record |= {"verdict": claim and claim.verdict, "measured": measured}
    record["report"] = _plain(claim_id, report or {})
    certificate = findings[asserted].certificate if findings else None
    if findings and (evidence == CERTIFIED_FOR_ALL) != (certificate is not None):
        complaint = f"only the level {CERTIFIED_FOR_ALL} has a certificate, and needs one"
        raise ClaimError(f"{claim_id}: {complaint}, got level {evidence!r}")
    if balls and certificate:
        raise ClaimError(f"{claim_id}: has a certificate already, and balls would be another")
    if balls:
        numbers = {name: ball.certificate() for name, ball in balls.items()}
        certificate = {"kind": "balls", "numbers": numbers}
        ends = ((n, Decimal(b["centre"]), Decimal(b["radius"])) for n, b in numbers.items())
        record["bounds"] = {name: [f"{c - r:f}", f"{c + r:f}"] for name, c, r in ends}
    bundle: dict[str, Any] = {}
    if certificate:
        bundle[CERTIFICATE_MIME] = {"claim": claim_id, **certificate}
        record["certificate"] = digest(bundle[CERTIFICATE_MIME])
    if tried and applies:
        record["tried"] = {name: _ends(values) for name, values in tried.items()}
    if claim:
        card = words.card_text(record, claim, record_problems(record, claim))
    else:
        card = "\n  ".join([f"{claim_id}: {ALONE}", *words.measurements(record)])
    display({"text/plain": card, RECORD_MIME: record} | bundle, raw=True)


def verdict_of(claim_id: str) -> str:
    """The ledger's words on a claim, for a table or a label: pages pass no verdicts."""
    return words.state_words(_claim(claim_id)) if find_ledger().is_file() else ALONE


def card_of(record: Mapping[str, Any]) -> str:
    """The card of a record as HTML, without links: for a page that runs by itself."""
    claim = _claim(record["id"])
    return words.card_html(record, claim, record_problems(record, claim))


def _claim(claim_id: str) -> Claim:
    if claim := load_ledger(find_ledger()).get(claim_id):
        return claim
    raise ClaimError(f"{claim_id}: is not in book/claims.yml")


def _ends(values: Any) -> list[Any]:
    """Smallest and largest of some settings; all of them, each once, where they are words."""
    array = np.ravel(np.asarray(values))
    if array.dtype.kind == "U":
        return list(dict.fromkeys(array.tolist()))
    ends = (array.min().item(), array.max().item())
    return [end if math.isfinite(end) else str(end) for end in ends]


def _plain(claim_id: str, report: Mapping[str, Any]) -> Any:
    """Numbers and tables as plain JSON, those of numpy too, without infinity."""
    try:
        return json.loads(json.dumps(report, allow_nan=False, default=lambda one: one.tolist()))
    except (AttributeError, ValueError) as error:
        raise ClaimError(f"{claim_id}: report needs finite numbers or rows, {error}") from error


def _outcomes(measured: Sequence[Mapping[str, Any]]) -> dict[str, bool | None]:
    """Whether the printed statement and the repair pass, and whether the controls were caught."""
    passes = {entry["subject"]: entry["passes"] for entry in measured}
    printed, repaired = passes.get("printed"), passes.get("repaired")
    asserted = printed if repaired is None else repaired
    controls = [entry["passes"] for entry in measured if entry["subject"] == "control"]
    caught = asserted not in controls if controls else None
    return {"holds": printed, "repaired": repaired, "control": caught}


def record_problems(record: Mapping[str, Any], claim: Claim) -> list[str]:
    """One phrase for everything in a record that contradicts its entry in the ledger."""
    if claim.same_as is not None:
        return [f"is decided by {claim.same_as}, so it cannot have a record"]
    if not claim.checked:
        return [f"is {claim.status} in the ledger but has a record"]
    report = record["report"]
    problems = [f"does not report {name}" for name in claim.report if name not in report]
    extra = [name for name in report if name not in claim.report]
    problems += [f"reports {name}, which the ledger does not name" for name in extra]
    for name, (low, high) in record.get("bounds", {}).items():
        found = report.get(name)
        if not isinstance(found, int | float) or not Decimal(low) <= found <= Decimal(high):
            problems.append(f"{name} is {found}, not from {low} to {high}")
    if record["evidence"] != claim.evidence:
        problems.append(f"evidence is {record['evidence']}, the ledger says {claim.evidence}")
    if not record["applies"]:
        return problems
    if not record["measured"]:
        return [*problems, "keeps nothing that its test measured"]
    if record["holds"] is not claim.expects_holds:
        needs = f"the verdict {claim.verdict} needs {claim.expects_holds}"
        problems.append(f"holds is {record['holds']}, but {needs}")
    if not claim.expects_holds and claim.verdict != "refuted" and record["repaired"] is None:
        problems.append("the repaired statement was not tested")
    elif record["repaired"] is False:
        problems.append("the repaired statement fails")
    if record["control"] is None and claim.needs_control:
        problems.append("has no control")
    elif record["control"] is False:
        problems.append("the control was not caught: the check passes a negative control")
    controls = any(entry["subject"] == "control" for entry in record["measured"])
    for part in zip(*(entry["parts"] for entry in record["measured"] if controls), strict=True):
        if all(one["passes"] for one in part):
            problems.append(f"no control fails the part {part[0]['what']!r} of the test")
    return problems or [*_unfounded(record)]


def _unfounded(record: Mapping[str, Any]) -> Iterator[str]:
    """What a record says of itself that does not follow from the numbers in it."""
    for entry in record["measured"]:
        of = entry["name"] or entry["subject"]
        for part in entry["parts"]:
            if part["passes"] is not follows(part):
                yield f"the part {part['what']!r} of {of} passes or fails against its own numbers"
        if entry["passes"] is not all(part["passes"] for part in entry["parts"]):
            yield f"{of} passes or fails against its parts"
    for name, outcome in _outcomes(record["measured"]).items():
        if record[name] is not outcome:
            yield f"{name} is {record[name]}, but what was measured says {outcome}"
