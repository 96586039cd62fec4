"""``{trust} NAME``: what a run found out about the book itself, as a sentence and a table.

A tool leaves ``book/trust/NAME.json``: a sentence, the head and the rows of a table, as texts, and
the commit.  A list of records is a table, too.  Drawn from this build are ``proved`` and ``balls``;
``bench``, ``sizes`` and ``live`` from what ``make bench`` and ``make live-check`` found before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment

from dpbook.book.ledger.check import CERTIFIED_FOR_ALL
from dpbook.book.ledger.claims import Claim
from dpbook.book.sphinx.nodes import (
    ClaimsDirective,
    Row,
    badge_ref,
    grouped,
    link_to,
    output_dir,
    place_uri,
    plain_number,
    read_json,
    table_of,
)

Shown = tuple[str, Sequence[str], Sequence[Row]]
_NOT_RUN = "This copy of the book was built before this was run, so there is no table."


class TrustDirective(ClaimsDirective):
    """A sentence and a table, or a sentence that there is none yet."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = [self.name.removesuffix("-table"), *self.arguments][-1]
        drawn = {"proved": self.proved, "balls": self.balls, "live": self.live}
        drawn |= {"bench": lambda: self.bench(bench_row), "sizes": lambda: self.bench(size_row)}
        path = Path(self.env.srcdir, "book", "trust", f"{name}.json")
        shown = drawn[name]() if name in drawn else of_run(read_json(self.env, path))
        sentence, head, rows = shown or (_NOT_RUN, (), ())
        words = [nodes.paragraph(text=sentence)] * bool(sentence)
        return [*words, *[table_of(head, rows)] * bool(rows)]

    def proved(self) -> Shown | None:
        """The certificates of this build: what they prove, and by how many inequalities."""
        ledger, records = self.load()
        rows: list[Row] = []
        inequalities = 0
        for claim in ledger.values():
            if claim.tier != CERTIFIED_FOR_ALL or claim.id not in records:
                continue
            path = output_dir(self.env.srcdir) / "certificates" / f"{claim.id}.json"
            if (certificate := read_json(self.env, path)) is None:
                return None
            count = sum(map(len, certificate["which"]))
            inequalities += count
            link = self.check_of(claim, str(claim.notebook))
            rows.append([[badge_ref(claim)], [link], claim.scope or "", grouped(count)])
        words = f"{len(rows)} claims have a certificate; together they decide "
        words += f"{grouped(inequalities)} inequalities for every ε at once."
        return words, ("claim", "page", "what is proved", "inequalities"), rows

    def balls(self) -> Shown:
        """The numbers with proved bounds: six digits, and how far the bounds are apart."""
        ledger, records = self.load()
        rows: list[Row] = []
        for claim in filter(None, map(ledger.get, records)):
            record = records[claim.id]
            for number, (low, high) in record.get("bounds", {}).items():
                texts = f"{record['report'][number]:.6g}", f"{float(high) - float(low):.0e}"
                link = self.check_of(claim, claim.label(number))
                rows.append([[badge_ref(claim)], [link], *texts])
        claims = sum("bounds" in record for record in records.values())
        words = f"{len(rows)} numbers of {claims} claims have proved bounds."
        return words, ("claim", "number", "reported", "bounds apart by"), rows

    def check_of(self, claim: Claim, words: str) -> nodes.reference:
        """A link to the check of a claim."""
        uri = place_uri(self.env, f"notebooks/{claim.notebook}", f"claim-{claim.id}")
        return link_to(words, uri)

    def bench(self, row: Any) -> Shown | None:
        """The measured ratios, or the large sizes."""
        results = read_json(self.env, output_dir(self.env.srcdir) / "bench.json") or ()
        rows = [row(one) for one in results if one.get("size", False) == (row is size_row)]
        return ("", list(rows[0]), [list(one.values()) for one in rows]) if rows else None

    def live(self) -> Shown | None:
        """Time and bytes of every page in a browser, and how its claims came out."""
        if (results := second_machine(self.env)) is None:
            return None
        head = ("page", "start (s)", "in all (s)", "loaded (MB)", "claims", "the same")
        rows: list[Row] = []
        for row in results:
            measured = (row["start"], row["seconds"], row["bytes"] / 1e6)
            texts = (*(f"{x:.1f}" for x in measured), str(row["claims"]), str(row["same"]))
            rows.append([row["page"], *texts])
        return second_machine_words(results), head, rows


def of_run(results: Any) -> Shown | None:
    """What a run left, with the commit at which it was made, where that is known."""
    if isinstance(results, list):
        rows = [list(record.values()) for record in results]
        return f"{len(rows)} in all.", list(results[0]), rows
    if results is None:
        return None
    commit = f" (Commit {results['commit']}.)" if results.get("commit") else ""
    return results["sentence"] + commit, results["head"], results["rows"]


def second_machine(env: BuildEnvironment) -> list[dict[str, Any]] | None:
    """What ``make live-check`` found for each page in a browser, if it ran before this build."""
    return read_json(env, output_dir(env.srcdir) / "live.json")


def second_machine_words(rows: Sequence[dict[str, Any]]) -> str:
    """How many claims came out the same in a browser, in a sentence."""
    claims, same = (sum(row[key] for row in rows) for key in ("claims", "same"))
    return (
        f"On a second machine, CPython for WebAssembly in a browser (32 bits, another NumPy and "
        f"SciPy), {same} of {claims} claims came out the same."
    )


def bench_row(result: dict[str, Any]) -> dict[str, str]:
    """One case of ``bench.json`` as texts, by the heading of their column."""
    return {
        **{key: result[key] for key in ("case", "peer")},
        "ours (ms)": plain_number(1e3 * result["ours_s"]),
        "peer (ms)": plain_number(1e3 * result["peer_s"]),
        "ratio": plain_number(result["ratio"]),
        "target": f"{result['target']:g}",
        "residual": f"{result['accuracy']:.0e}" if result["accuracy"] else "0",
        "met": "yes" if result["passed"] else "no",
    }


#: The columns of a large size.
_SIZES = {"seconds": "ours_s", "at most": "peer_s", "peak memory (MB)": "peak_mb"}
_SIZES |= {"at most (MB)": "peak_mb_limit"}


def size_row(result: dict[str, Any]) -> dict[str, str]:
    """A large size as texts, by the heading of their column."""
    texts = {head: plain_number(result[key]) for head, key in _SIZES.items()}
    return {"what": result["case"], **texts, "met": "yes" if result["passed"] else "no"}
