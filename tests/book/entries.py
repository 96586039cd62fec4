"""Entries of a small ledger, for the tests of what reads it."""

import yaml

ERRATUM = {"heading": "h", "printed": "p", "wrong": "w", "repair": "r", "reproducer": "print(1)"}
ERRATUM |= {"failed": "statement", "severity": "constant", "quote": "q", "reconsider": "c"}
FORMAL = {"theorem": "Toy.small", "scope": "every n", "says": "It is small.", "without": ["time"]}
GONE = {"date": "2026-01-02", "said": "s", "reason": "r"}


def entry(name, **fields):
    base = {"id": name, "paper": "P", "where": "Thm 1", "kind": "privacy", "says": "It is private"}
    base |= {"notebook": "01-one", "status": "checked", "verdict": "holds", "evidence": "exact"}
    # beyond: nothing was tried, or nothing of its own
    own = fields.get("verdict") not in ("definition", ...)
    base |= {"rests_on": [], "beyond": "Nothing." if own else ...}
    return {key: value for key, value in (base | fields).items() if value is not ...}


def same(name, other, **fields):
    gone = dict.fromkeys(("notebook", "status", "verdict", "evidence", "rests_on"), ...)
    return entry(name, same_as=other, **(gone | fields))


def erratum(verdict, **fields):
    return entry("X", verdict=verdict, **(ERRATUM | fields))


LEDGER = [
    entry("HOLDS", report=["loss", "table"], withdrawn=[GONE]),
    entry("LOOSE", verdict="holds-loosely", **ERRATUM),
    entry("REPAIRED", verdict="false-repaired", **ERRATUM),
    entry("REFUTED", verdict="refuted", notebook="02-two", **ERRATUM),
    entry("PROOF", verdict="proof-repaired", evidence="proof", **ERRATUM),
    entry("EMPTY", verdict="empty", **(ERRATUM | {"severity": "privacy"})),
    entry(
        "SHAPE", verdict="shape-only", evidence="statistical", notebook="02-two", remark="slopes"
    ),
    same("SAME", "LOOSE"),
    entry("DEF", kind="dataset", verdict="definition", notebook="02-two"),
    entry("LATER", status="pending", verdict=..., evidence=..., notebook="03-three"),
]


def write_ledger(root, entries):
    text = yaml.safe_dump(entries, allow_unicode=True).replace("'2026-01-02'", "2026-01-02")
    (root / "book" / "claims.yml").write_text(text, encoding="utf-8")
