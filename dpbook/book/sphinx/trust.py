"""Sphinx extension: what runs found out about the book itself, for the page on how far to trust it.

``{trust} NAME`` shows the certificates of this build, or what a run left in ``book/trust/``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from dpbook.book.ledger.check import CERTIFIED_FOR_ALL
from dpbook.book.sphinx.nodes import (
    ClaimsDirective,
    Row,
    badge_ref,
    link_to,
    output_dir,
    place_uri,
    read_json,
    table_of,
)

#: Tables that take what they show from the file of another.
FILES = {"survivors": "mutants", "random_survivors": "random_mutants", "alarms": "grid"}
Shown = tuple[str, Sequence[str], list[Row]]


class TrustDirective(ClaimsDirective):
    """``{trust} proved``, ``{trust} balls``, or the name of a run."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        path = Path(self.env.srcdir, "book", "trust", f"{FILES.get(name, name)}.json")
        of_build = {"proved": self.proved, "balls": self.balls}.get(name)
        results = None if of_build else read_json(self.env, path)
        found = of_build() if of_build else results and of_run(name, results)
        if found is None:
            text = "This copy of the book was built before this was run, so there is no table."
            return [nodes.paragraph(text=text)]
        sentence, head, rows = found
        return [nodes.paragraph(text=sentence), table_of(head, rows)]

    def proved(self) -> Shown | None:
        """The certificates of this build: their claims, and how much each compares."""
        ledger, records = self.load()
        rows: list[Row] = []
        all_cases = 0
        for claim in ledger.values():
            path = output_dir(self.env.srcdir) / "certificates" / f"{claim.id}.json"
            if claim.tier != CERTIFIED_FOR_ALL or claim.id not in records:
                continue
            if (certificate := read_json(self.env, path)) is None:
                return None
            cases = sum(map(len, certificate["which"]))
            all_cases += cases
            largest = max((abs(c) for d in certificate["differences"] for c in d), default=0)
            laws, pairs, different = (
                len(certificate[key]) for key in ("laws", "pairs", "differences")
            )
            link = link_to(str(claim.notebook), self.page(claim.notebook, claim.id))
            counts = (*map(grouped, (laws, pairs, cases, different)), str(len(str(largest))))
            rows.append([[badge_ref(claim)], [link], claim.scope or "", *counts])
        head = ("claim", "page", "what is proved", "laws", "pairs", "inequalities")
        words = f"{len(rows)} claims have a certificate; together they decide "
        words += f"{grouped(all_cases)} inequalities for every ε at once."
        return words, (*head, "different ones", "most digits"), rows

    def balls(self) -> Shown:
        """The numbers with proved bounds: what the page reports, and where the number lies."""
        ledger, records = self.load()
        rows: list[Row] = []
        for name, record in records.items():
            if (claim := ledger.get(name)) is None:
                continue
            for number, (low, high) in record.get("bounds", {}).items():
                link = link_to(claim.label(number), self.page(claim.notebook, name))
                told = (repr(record["report"][number]), f"{low} to {high}")
                rows.append([[badge_ref(claim)], [link], *told])
        claims = len({record["id"] for record in records.values() if "bounds" in record})
        words = f"{len(rows)} numbers of {claims} claims have proved bounds."
        return words, ("claim", "number", "reported", "lower and upper bound"), rows

    def page(self, page: str | None, name: str) -> str:
        """The address of a claim's check."""
        return place_uri(self.env, f"notebooks/{page}", f"claim-{name}")


def mutants(found: dict[str, Any]) -> Shown:
    """Seeded defects by kind and by what was broken."""
    wings = list(found["counts"]["wing"])
    by = Counter((row["kind"], row["wing"], row["state"]) for row in found["mutants"])
    rows: list[Row] = []
    for kind in sorted(found["counts"]["kind"]):
        for_kind = [{s: n for (k, w, s), n in by.items() if (k, w) == (kind, g)} for g in wings]
        rows.append([kind, *(wing_words(here) if here else "" for here in for_kind)])
    states = Counter(row["state"] for row in found["mutants"])
    rows.append(["all", *(wing_words(found["counts"]["wing"][wing]) for wing in wings)])
    parts = ", ".join(f"{grouped(number)} {state}" for state, number in states.most_common())
    return f"Of {grouped(states.total())} seeded defects: {parts}.", ("defect", *wings), rows


def survivors(found: dict[str, Any]) -> Shown:
    """Defects that were not caught: what nothing has noticed yet, and what nothing can."""
    left = [row for row in found["mutants"] if row["state"] != "caught"]
    rows: list[Row] = [
        [[nodes.literal(text=row["file"])], row["why"], row["state"], row.get("equivalent", "")]
        for row in left
    ]
    open_ones = sum(row["state"] != "equivalent" for row in left)
    words = f"{grouped(open_ones)} are open: the test that was to notice did not."
    return words, ("file", "what was broken", "state", "why nothing can notice"), rows


def random_mutants(found: dict[str, Any]) -> Shown:
    """A sample of all mutants: what was killed in each module, and what follows for all."""
    keys = ("tried", "killed", "explained")
    rows: list[Row] = [
        [[nodes.literal(text=file)], *(grouped(row[key]) for key in keys)]
        for file, row in found["modules"].items()
    ]
    counts, least = found["counts"], found["at least"]
    either = counts["killed"] + counts["explained"]
    killed = grouped(counts["killed"])
    words = (
        f"Of {grouped(found['sites'])} sites in {', '.join(found['of'])} "
        f"{grouped(counts['tried'])} were tried (seed {found['seed']}): {killed} were killed, "
        f"which makes at least {least['killed']:.1%} of all at 95 %; {grouped(either)} were killed "
        f"or explained, at least {least['either']:.1%}. {grouped(found['tests'])} tests took part; "
        f"{grouped(found['left out'])} did not, since they take more than {found['slow']:g} "
        f"seconds or are skipped."
    )
    return words, ("module", *keys), rows


def random_survivors(found: dict[str, Any]) -> Shown:
    """The mutants of the sample that no test noticed, with the reason where there is one."""
    rows: list[Row] = []
    for row in found["survivors"]:
        texts = (f"{row['file']}:{row['line']}", row["old"], row["new"] or "(nothing)")
        rows.append(
            [*([nodes.literal(text=text)] for text in texts), row["why"] or "not explained"]
        )
    open_ones = sum(not row["why"] for row in found["survivors"])
    words = f"{grouped(len(rows))} survived; {grouped(open_ones)} of them have no explanation."
    return words, ("place", "line", "mutant", "why no test notices"), rows


def wing_words(states: dict[str, int]) -> str:
    """How many of a column were caught."""
    return f"{states.get('caught', 0)} of {sum(states.values())}"


def grid(found: dict[str, Any]) -> Shown:
    """Every page at the ends of its parameters, at pairs of ends, and at other seeds."""
    keys = ["runs", "planned", "claims", "contradictions", "not_applicable", "failed"]
    keys += ["not_finite", "longest"]
    pages = found["pages"]
    rows: list[Row] = [[name, *(str(row[key]) for key in keys)] for name, row in pages.items()]
    total = {key: sum(row[key] for row in pages.values()) for key in keys}
    words = (
        f"{grouped(total['runs'])} of {grouped(total['planned'])} planned runs were made; of their "
        f"{grouped(total['claims'])} checks of a claim {grouped(total['contradictions'])} "
        f"contradicted the ledger, and {grouped(total['failed'])} runs failed."
    )
    head = ("page", *(key.replace("_", " ") for key in keys[:-1]), "longest cell (s)")
    return words, head, rows


def alarms(found: dict[str, Any]) -> Shown:
    """What the statistical checks state of false alarms, against what the grid saw."""
    rows: list[Row] = [
        [
            f"{row['alarm']:g}" if row["alarm"] else "none stated",
            "yes" if row["power"] else "no",
            *(grouped(row[key]) for key in ("claims", "checks")),
            f"{row['expected']:.2g}",
            *(grouped(row[key]) for key in ("seen", "twins_passed")),
        ]
        for row in found["statistical"]
    ]
    checks, seen = (sum(row[key] for row in found["statistical"]) for key in ("checks", "seen"))
    expected = sum(row["expected"] for row in found["statistical"])
    words = (
        f"In {grouped(checks)} statistical checks at most {expected:.2g} false alarms were to be "
        f"expected from the stated probabilities; the grid saw {grouped(seen)}."
    )
    head = ("alarm, at most", "must also show", "claims", "checks", "expected", "seen")
    return words, (*head, "twins that passed"), rows


def twice(found: dict[str, Any]) -> Shown:
    """What differed between two builds, and what came out alike."""
    rows: list[Row] = [[what, *map(str, values)] for what, values in found["varied"].items()]
    words = (
        f"Of {grouped(found['files'])} files of two builds ({found['profile']} profile, "
        f"{len(found['pages'])} pages) {grouped(found['identical'])} are the same byte for byte"
    )
    different = [f"{name}: {why}" for name, why in found["exceptions"].items()]
    rest = f"; the exceptions are {'; '.join(different)}." if different else "."
    return words + rest, ("what was varied", "first build", "second build"), rows


def faults(found: list[dict[str, str]]) -> Shown:
    """What was done to a build, to its texts and to the data, and the test that does it."""
    keys = ("kind", "fault", "what happens", "test")
    rows: list[Row] = [
        [*(one[key] for key in keys[:-1]), [nodes.literal(text=one["test"].rpartition("/")[2])]]
        for one in found
    ]
    return f"{grouped(len(found))} faults, each with a test that makes it.", keys, rows


def matrix(found: dict[str, Any]) -> Shown:
    """Tests of the science under other versions."""
    keys = ("python", "dependencies", "numpy", "scipy", "tests", "skipped", "outcome", "why")
    cells = found["cells"]
    rows: list[Row] = [[str(one.get(key, "")) for key in keys] for one in cells]
    outcomes = Counter(one["outcome"] for one in cells)
    parts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    return f"{len(cells)} combinations: {parts}.", keys, rows


_OF_TESTS = (mutants, survivors, random_mutants, random_survivors)
_TABLES: Sequence[Callable[[Any], Shown]] = (*_OF_TESTS, grid, alarms, twice, faults, matrix)
SHOWN = {table.__name__: table for table in _TABLES}


def of_run(name: str, results: Any) -> Shown:
    """What a run left, with the commit at which it was made, where that is known."""
    sentence, head, rows = SHOWN[name](results)
    known = results.get("commit") if isinstance(results, dict) else None
    return sentence + f" (Commit {known}.)" * bool(known), head, rows


def grouped(number: int) -> str:
    """A count, in groups of three digits."""
    return f"{number:,}".replace(",", "\u202f")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("trust", TrustDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
