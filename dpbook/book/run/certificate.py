"""A certificate of one build: who checks the book elsewhere can publish what came out there."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path
from typing import Any

from dpbook.book.about import about, sha256_of
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.output import write_whole
from dpbook.book.pages import PageError
from dpbook.book.run.collect import ledger_problems
from dpbook.book.run.compare import load
from dpbook.book.run.keys import environment_of, refuse_stale

FILE = "certificate.json"


def certificate(root: Path, out: Path) -> dict[str, Any]:
    """What was built, where, when, and how every claim came out.

    Raises
    ------
    PageError
        If there is no book in `out`, one of other sources than those in `root`, or one whose pages
        do not say where they ran.
    """
    claims = out / "claims.json"
    if not claims.is_file() or not (out / "html.key").is_file():
        raise PageError(f"there is no book in {out} to certify: `make book` builds one")
    refuse_stale(root, out)
    records, ledger = load(claims), load_ledger(root / "book" / "claims.yml")
    environment = environment_of(out)
    outcomes = {
        record["id"]: {
            "verdict": record["verdict"],
            "tier": record["tier"],
            "printed": record["holds"] if record["applies"] else None,
            "repaired": record["repaired"],
            "twins_caught": record["control"],
        }
        for record in records
    }
    machine = {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}
    return {
        "book": about(root, out),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine | {"python": environment.pop("python")},
        "environment": environment,
        "pins_sha256": sha256_of(root / "requirements.txt"),
        "claims_sha256": sha256_of(claims),
        "contradictions": sorted(ledger_problems(ledger, records, None)),
        "claims": outcomes,
    }


def write(root: Path, out: Path) -> tuple[Path, dict[str, Any]]:
    """Write the certificate beside the book; where it is, and what it says."""
    made = certificate(root, out)
    path = out / FILE
    write_whole(path, json.dumps(made, indent=1, ensure_ascii=False) + "\n")
    return path, made
