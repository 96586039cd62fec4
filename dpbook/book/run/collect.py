"""Gather what the checks of the executed notebooks recorded, and hold it against the ledger."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpbook.book.files import write_whole
from dpbook.book.ledger.check import (
    CERTIFICATE_MIME,
    CERTIFIED_FOR_ALL,
    RECORD_FIELDS,
    RECORD_MIME,
    record_problems,
)
from dpbook.book.ledger.claims import Claim, load_ledger
from dpbook.book.pages import executed_pages, named_parameters, outputs, read_notebook

#: Check certificates again, derive what they list, and write them for Rocq; none imports ours.
VERIFIER, DERIVER, EXPORTER = (
    Path(__file__).resolve().parents[3] / "tools" / f"{name}.py"
    for name in ("verify_certificate", "derive_laws", "export_certificates")
)
#: What only some records have.
_OPTIONAL = ("bounds", "certificate", "tried")


def collect(out: Path, root: Path, pages: Sequence[str] | None = None) -> list[str]:
    """Write all records, sorted, to ``<out>/claims.json``; one line for every disagreement.

    And the certificates to ``<out>/certificates/``, a file for each claim that has one, and to
    ``<out>/proofs/Exported.v`` for Rocq.

    Only the named `pages` are held to account; all, and the completeness of the ledger, when None.
    """
    ledger = load_ledger(root / "book" / "claims.yml")
    executed = executed_pages(root, out)
    records = [record for path in executed for record in records_in(path)]
    for record in records:
        # The ledger may have been edited after the page ran; its word is the one published.
        if record["id"] in ledger:
            record["verdict"] = ledger[record["id"]].verdict
    records.sort(key=lambda record: (record["id"], record["notebook"]))
    text = json.dumps(records, indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(out / "claims.json", text + "\n")
    write_certificates(out / "certificates", executed)
    mine = [record for record in records if pages is None or record["notebook"] in pages]
    found = sorted(ledger_problems(ledger, records, pages))
    others = {record["id"] for record in records if record not in mine}
    doubts = [*refused(out), *unsaid(out / "certificates", ledger)]
    found += [line for line in doubts if line.partition(":")[0] not in others]
    # only a reader's parameters may leave the hypotheses of a claim, not the book's own
    own = named_parameters(root) if mine else {}
    for record in mine:
        if record["id"] in ledger and record["parameters"] in own.get(record["notebook"], ()):
            if not record["applies"]:
                words = f"is not tested at the page's own parameters ({record['why']})"
                found.append(f"{record['id']} ({record['notebook']}): {words}")
    found += [raw for path in executed if pages is None or path.stem in pages for raw in bare(path)]
    return found


def records_in(executed: Path) -> Iterator[dict[str, Any]]:
    """The records in one executed notebook, with its name and its parameters filled in."""
    notebook = read_notebook(executed)
    parameters = notebook["metadata"].get("dpbook", {}).get("parameters", {})
    filled = {"notebook": executed.stem, "parameters": parameters}
    for _, data in outputs(notebook):
        if record := data.get(RECORD_MIME):
            kept = {field: {**record, **filled}.get(field) for field in RECORD_FIELDS}
            # only where there is one: the others' records need not say that they have none
            yield kept | {key: record[key] for key in _OPTIONAL if key in record}


def bare(executed: Path) -> Iterator[str]:
    """Values that a page shows as Python prints them: a reader wants a sentence, or a table."""
    for output, data in outputs(read_notebook(executed)):
        if output["output_type"] == "execute_result" and data.keys() == {"text/plain"}:
            yield f"{executed.stem}: shows a raw value: {''.join(data['text/plain'])[:60]}"


def write_certificates(folder: Path, executed: Sequence[Path]) -> None:
    """One file for each certificate, named by its claim; what else was there goes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for path in executed:
        for _, data in outputs(read_notebook(path)):
            if certificate := data.get(CERTIFICATE_MIME):
                text = json.dumps(certificate) + "\n"
                write_whole(folder / f"{certificate['claim']}.json", text)


def refused(out: Path) -> list[str]:
    """What programs that know nothing of this package do not accept of the certificates."""
    claims, folder, rocq = out / "claims.json", out / "certificates", out / "proofs"
    if not re.search(rf'"(certificate|{CERTIFIED_FOR_ALL})"', claims.read_text(encoding="utf-8")):
        return []
    rocq.mkdir(exist_ok=True)
    programs = (
        [VERIFIER, claims, folder],
        [DERIVER, folder],
        [EXPORTER, folder, rocq / "Exported.v"],
    )
    found: dict[str, str] = {}  # of each claim what the first says that refuses it
    for program, *given in programs:
        if program != EXPORTER or not found:
            command = [sys.executable, "-I", str(program), *map(str, given)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                failed = [f"{program.name}: failed: {run.stderr[-300:]}"]
                told = run.stdout.splitlines() or failed
                found = {line.partition(":")[0]: line for line in told} | found
    return [*found.values()]


def unsaid(folder: Path, ledger: Mapping[str, Claim]) -> Iterator[str]:
    """What a certificate for every epsilon says, and not the scope, which is in the result box."""
    for path in sorted(folder.glob("*.json")):
        one = json.loads(path.read_text(encoding="utf-8"))
        if one["kind"] == "laws" and (claim := ledger.get(path.stem)):
            said = [f"{name} = {value}" for name, value in one["size"].items()]
            said.append("attained" if any(pair[-1] for pair in one["pairs"]) else "upper bound")
            missing = [words for words in said if not re.search(rf"\b{words}\b", claim.scope or "")]
            yield from (f"{path.stem}: the scope does not say {words!r}" for words in missing)


def ledger_problems(
    ledger: Mapping[str, Claim], records: Sequence[Mapping[str, Any]], pages: Sequence[str] | None
) -> Iterator[str]:
    """Compare all records with the ledger; only problems of `pages` (all when None) are listed."""
    where: dict[str, list[str]] = {}
    for record in records:
        name, page = record["id"], record["notebook"]
        where.setdefault(name, []).append(page)
        if pages is not None and page not in pages:
            continue
        if (claim := ledger.get(name)) is None:
            yield f"{name} ({page}): is not in the ledger"
            continue
        for problem in record_problems(record, claim):
            yield f"{name} ({page}): {problem}"
        if claim.notebook != page:
            yield f"{name} ({page}): the ledger says it is checked on {claim.notebook}"
    for name, found in where.items():
        if len(found) > 1 and (pages is None or set(found) & set(pages)):
            yield f"{name} ({', '.join(found)}): is checked {len(found)} times"
    for claim in ledger.values():
        owed = claim.checked and claim.same_as is None and claim.id not in where
        if owed and (pages is None or claim.notebook in pages):
            yield f"{claim.id} ({claim.notebook}): is checked but has no record"
