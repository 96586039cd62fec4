"""What claims rest on: what the ledger refuses, what fails upstream, and the graphics."""

import itertools
import re

import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup

from dpbook.book.ledger import supports
from dpbook.book.ledger.claims import FAILING_VERDICTS, Claim, LedgerError, load_ledger
from dpbook.book.ledger.supports import GIVES_WAY, WORST_FIRST, gives_way, upstream, users
from dpbook.book.ledger.words import STATES
from dpbook.book.sphinx import maps, nodes
from tests.book.injection import MARK, TEXT, active

ROOT_LEDGER = "book/claims.yml"


@pytest.fixture
def rng():
    return np.random.default_rng(17)


def claim(name, *supports, state="holds", paper="P", **fields):
    known = {"status": "pending"} if state == "pending" else {"verdict": state, "evidence": "exact"}
    base = {"where": "here", "kind": "utility", "says": "s", "notebook": "01", "status": "checked"}
    return Claim(**(base | known | {"id": name, "paper": paper, "rests_on": supports} | fields))


def ledger(*claims):
    return {each.id: each for each in claims}


def written(tmp_path, **supports):
    """A ledger of definitions that rest on what is said of them."""
    rows = [
        {"id": name, "paper": "P", "where": "w", "kind": "definition", "says": "s"}
        | {"notebook": "01", "status": "checked", "verdict": "definition", "evidence": "exact"}
        | ({} if on is None else {"rests_on": on})
        for name, on in supports.items()
    ]
    path = tmp_path / "claims.yml"
    path.write_text(yaml.safe_dump(rows))
    return path


# --- what the ledger refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("supports", "words"),
    [
        ({"A": ["NONE"]}, "A: rests_on in claims.yml: 'NONE' must be the id of another claim"),
        ({"A": ["A"]}, "A: rests_on in claims.yml: 'A' must be the id of another claim"),
        ({"A": ["B", "B"], "B": []}, "A: rests_on is ['B', 'B'], must be a list of ids"),
        (
            {"C": ["A"], "A": ["B"], "B": ["C"]},
            "C: rests_on in claims.yml goes in a circle: C → A → B → C",
        ),
        ({"A": None}, "A: needs rests_on, a list of ids of other claims"),
        ({"A": "B", "B": []}, "A: rests_on is 'B', must be a list of ids of other claims"),
    ],
)
def test_refused_by_name(tmp_path, supports, words):
    with pytest.raises(LedgerError) as error:
        load_ledger(written(tmp_path, **supports))
    assert str(error.value).startswith(words)


def test_a_graph_without_circles_is_taken(tmp_path):
    """The control: two ways from D to A are no circle."""
    path = written(tmp_path, D=["B", "C"], C=["A"], B=["A"], A=[])
    found = load_ledger(path)
    assert found["D"].rests_on == ["B", "C"]
    assert users(found) == {"D": [], "C": ["D"], "B": ["D"], "A": ["C", "B"]}


def test_a_repeated_claim_rests_on_the_names_of_its_own_paper(tmp_path):
    path = written(tmp_path, A=[], B=["A"], C=["A", "B"])
    rows = yaml.safe_load(path.read_text())
    keep = ("id", "paper", "where", "kind", "says")
    for name, of in (("Q-B", "B"), ("Q-C", "C"), ("R-C", "C")):
        again = {key: rows[0][key] for key in keep} | {"id": name, "same_as": of, "paper": name[0]}
        rows.append(again)
    path.write_text(yaml.safe_dump(rows))
    found = load_ledger(path)
    assert found["Q-C"].rests_on == ["A", "Q-B"] and found["Q-B"].rests_on == ["A"]
    assert found["R-C"].rests_on == ["A", "B"]  # this paper repeats no other
    path.write_text(yaml.safe_dump([*rows[:-1], rows[-1] | {"rests_on": []}]))
    with pytest.raises(LedgerError, match="R-C: rests_on is"):
        load_ledger(path)


# --- what fails upstream --------------------------------------------------------------------------


def test_the_order_of_the_verdicts_has_each_state_once():
    assert sorted(WORST_FIRST) == sorted(STATES)
    assert {*FAILING_VERDICTS} - {*GIVES_WAY} == {"slip", "undecided"}
    assert "holds" not in GIVES_WAY


def ways(book, name):
    """Every way upwards from a claim, by its definition: all simple paths, no walk."""
    names = [n for n in book if n != name]
    for size in range(len(names) + 1):
        for between in itertools.permutations(names, size):
            path = (name, *between)
            if all(b in book[a].rests_on for a, b in itertools.pairwise(path)):
                yield path[1:]


def worst_by_force(book, name):
    if book[name].state in GIVES_WAY:
        return None
    found = []
    for path in ways(book, name):
        if path and book[path[-1]].state in GIVES_WAY:
            stands = [n for n in path[:-1] if book[n].state not in (*GIVES_WAY, "pending")]
            found.append((WORST_FIRST.index(book[path[-1]].state), bool(stands), path[-1]))
    return min(found, default=None)


def random_ledgers(rng, count=300, size=6):
    for _ in range(count):
        names = [f"C{i}" for i in range(size)]
        states = rng.choice(["holds", "pending", *GIVES_WAY, "shape-only"], size)
        yield ledger(
            *(
                claim(n, *(m for m in names[:i] if rng.random() < 0.4), state=str(s))
                for i, (n, s) in enumerate(zip(names, states, strict=True))
            )
        )


def test_the_gravest_upstream_is_that_of_all_ways(rng):
    seen = set()
    for book in random_ledgers(rng):
        for name in book:
            up, forced = gives_way(book[name], book), worst_by_force(book, name)
            assert (up is None) == (forced is None)
            if up:
                assert (WORST_FIRST.index(up.state), up.shielded) == forced[:2]
                path = (name, *up.through, up.name)  # what is told is a way
                assert all(b in book[a].rests_on for a, b in itertools.pairwise(path))
                assert book[up.name].state == up.state
                seen.add((up.state, up.shielded))
            names = {path[-1] for path in ways(book, name) if path}
            assert {each.name for each in upstream(book[name], book)} == names
    assert len(seen) == 2 * len(GIVES_WAY)  # each way to give way was met, shielded and not


FALSE = claim("F", state="false-repaired", heading="h", repair="r")


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ([claim("A", "F")], "Its printed support fails: it rests on F, which is false as printed. "
         "The claim was checked on its own (holds), with the corrected support."),
        ([claim("A", "F", state="pending")], "it rests on F, which is false as printed. "
         "The claim itself is not checked here."),
        ([claim("A", "B"), claim("B", "F")], "Upstream: through B it rests on F, which is false as "
         "printed; B was checked on its own, and so was this claim (holds)."),
        ([claim("A", "B"), claim("B", "F", state="pending")], "it rests through B on F, which is"),
        ([claim("A", "B"), claim("B", state="refuted", repair="r")], "without this support."),
        ([claim("A", "B"), claim("B", "F", state="empty")], "rests through B on F, which is false"),
        ([claim("A", "B", state="pending"), claim("B", "F")], "B was checked on its own, "
         "but this claim is not checked."),
        ([claim("A", "F", "B"), claim("B", state="empty")], "support. 1 more upstream fails, too."),
        ([claim("A", "B", "C"), claim("B", "F"), claim("C", "D", state="pending"),
          claim("D", "F", state="empty")], "rests through C and D on F, which is false as printed. "
         "The claim was checked on its own (holds), with the corrected support. 1 more"),
        ([claim("A", "F", state="empty")], ""),
        ([claim("A", "B"), claim("B", state="pending")], ""),
        ([claim("A", "B"), claim("B")], ""),
    ],
)  # fmt: skip
def test_what_is_said_of_it(claims, words):
    book = ledger(*claims, FALSE)
    said = supports.upstream_words(book["A"], book)
    assert words in said and bool(words) == bool(said)


def test_a_result_of_our_own_uses_the_repaired_form():
    book = ledger(
        claim("A", "F", "P", paper="BOOK"),
        claim("P", "F"),
        claim("B", "A", "R", paper="BOOK"),
        claim("R", state="refuted", repair="r"),
        FALSE,
    )
    assert gives_way(book["A"], book) is None
    assert supports.repaired_words(book["A"], book) == "It uses the corrected form of F."
    assert gives_way(book["P"], book).name == "F"  # the control: the same support, in print
    assert supports.repaired_words(book["P"], book) == ""
    assert gives_way(book["B"], book).name == "R"  # what has no repair cannot be used


# --- the layout -----------------------------------------------------------------------------------


def random_graph(rng, size):
    names = [f"N{i}" for i in range(size)]
    pairs = itertools.combinations(names, 2)
    edges = [pair for pair in pairs if rng.random() < 3 / size]
    return {name: (int(rng.integers(80, 240)), int(rng.integers(24, 80))) for name in names}, edges


def overlap(one, other):
    (x, y, w, h), (u, v, p, q) = one, other
    return x < u + p and u < x + w and y < v + q and v < y + h


@pytest.mark.parametrize("size", [1, 2, 5, 12, 30])
def test_layout(rng, size):
    for _ in range(6):
        sizes, edges = random_graph(rng, size)
        boxes, lines = maps.layered(sizes, edges)
        assert (boxes, lines) == maps.layered(sizes, edges)
        assert {*boxes} == {*sizes} and {*lines} == {*edges}
        assert not any(overlap(*pair) for pair in itertools.combinations(boxes.values(), 2))
        for name, (x, y, w, h) in boxes.items():
            assert w >= sizes[name][0] and h == sizes[name][1] and min(x, y) >= 0
        for (one, other), points in lines.items():
            ends = boxes[one][0] + boxes[one][2], boxes[other][0]
            assert (points[0][0], points[-1][0]) == ends
            assert all(a[0] < b[0] for a, b in itertools.pairwise(points))  # to the right
            assert all(y >= 0 for _, y in points)
            for (x, y), (to_x, _) in itertools.islice(itertools.pairwise(points), 1, None, 2):
                passed = [b for b in boxes.values() if overlap((x, y, to_x - x, 0.1), b)]
                assert passed == []  # level, and through no box


def test_neighbours_stand_side_by_side():
    """Two chains that are written crosswise are drawn without a crossing."""
    sizes = dict.fromkeys("abcd", (80, 40))
    boxes, _ = maps.layered(sizes, [("a", "d"), ("b", "c")])
    assert (boxes["a"][1] < boxes["b"][1]) == (boxes["d"][1] < boxes["c"][1])


def test_overlap_is_noticed():
    assert overlap((0, 0, 10, 10), (9, 9, 5, 5)) and not overlap((0, 0, 10, 10), (10, 0, 5, 5))


# --- the graphic ----------------------------------------------------------------------------------


def links(html):
    """Name, address and texts of each link."""
    found = BeautifulSoup(html, "html.parser").find_all("a")
    return [(a.get("aria-label", ""), a["href"], [*a.stripped_strings]) for a in found]


def svg(book, title="All"):
    edges = [(support, each.id) for each in book.values() for support in each.rests_on]
    return maps.map_svg(list(book), book, lambda n: f"#{n}", title, edges)


def test_each_link_has_a_name_that_says_what_is_seen():
    book = ledger(claim("Z"), FALSE, claim("A", "Z", "F"), claim("B", "A", severity="privacy"))
    html = svg(book)
    names, addresses, texts = zip(*links(html), strict=True)
    assert addresses == ("#Z", "#F", "#A", "#B")  # supports come first
    assert names == tuple(map(", ".join, texts)) and min(map(len, texts)) >= 2
    assert texts[2] == ["A", "✓ holds", "! rests on ↻ F"]
    assert "⚠ privacy guarantee broken" in names[3]
    assert re.findall(r'\bid="([^"]*)"', html) == ["map-title", "map-desc"]
    assert 'aria-labelledby="map-title map-desc"' in html
    assert "4 claims, 3 lines" in html
    assert html.count("claim-tint") == 2 and html.count("claim-shielded") == 1
    assert html == svg(book)
    # the controls: a name that says something else, and lines that are no longer there
    assert links(html.replace('aria-label="A,', 'aria-label="B,'))[2][0][0] == "B"
    assert "claim-edge" not in svg({"A": claim("A")})


def test_text_stays_text(monkeypatch):
    book = ledger(claim(TEXT, state="false-repaired"), claim("A", TEXT))

    def html():
        beside = supports.around_html(book["A"], book, [TEXT], lambda name: name, TEXT)
        return svg(book, TEXT), beside

    assert all(MARK in part and active(part) == [] for part in html())
    monkeypatch.setattr(supports, "escape", str)
    monkeypatch.setattr(nodes, "TEMPLATES", nodes.TEMPLATES.overlay(autoescape=False))
    assert all(map(active, html()))


def test_beside_a_claim_stand_its_supports_and_its_users():
    many = [claim(f"U{i}", "A") for i in range(9)]
    book = ledger(FALSE, claim("A", "F"), *many)
    names = [each.id for each in many]
    html = supports.around_html(book["A"], book, names, lambda name: f"#row-{name}", "m#map-A")
    assert [address for _, address, _ in links(html)] == [
        "#row-F",
        *(f"#row-U{i}" for i in range(5)),
        "m#map-A",
    ]
    assert "and 4 more" in html and "claim-upstream claim-false-repaired" in html
    assert re.search(r'title="false as printed, corrected">↻\xa0F</a>', html)
    alone = supports.around_html(FALSE, book, ["A"], lambda name: f"#row-{name}", "m")
    assert "nothing listed" in alone and "claim-upstream" not in alone and "more" not in alone


# --- the book's own -------------------------------------------------------------------------------


def test_the_book_says_of_each_claim_what_it_rests_on():
    book = load_ledger(ROOT_LEDGER)
    assert sum(len(each.rests_on) for each in book.values()) > len(book) > 200
    used = users(book)
    definitions = [each for each in book.values() if each.kind == "definition"]
    assert all(used[each.id] for each in definitions if each.paper != "CCW23")
