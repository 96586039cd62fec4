"""What is collected is checked again: certificates by programs of their own, parts by numbers."""

import json
from fractions import Fraction

import pytest
import yaml

from dpbook.book import proved
from dpbook.book.ledger import check as claims
from dpbook.book.ledger.claims import load_ledger
from dpbook.book.run import build, collect
from dpbook.privacy import certify_mechanism, randomized_response_distribution
from tests.test_verifier import altered

CLAIM = {
    **{"id": "XSC-RR", "paper": "BOOK", "where": "here", "kind": "privacy", "rests_on": []},
    **{"says": "A coin", "notebook": "01-one", "status": "checked", "verdict": "holds"},
    **{"evidence": "all-epsilon", "scope": "L = 1, one bit, attained", "beyond": "Nothing."},
}
MIMES = claims.RECORD_MIME, claims.CERTIFICATE_MIME


def private(steps):
    one, other = (0,), (1,)
    found = certify_mechanism(lambda x: randomized_response_distribution(x, steps), [(one, other)])
    named = {"mechanism": "randomized response", "relation": "any answers"}
    return proved("reports that tell more", found, **named, L=1)


@pytest.fixture
def shown(tiny_book, monkeypatch):
    """What a check of the tiny book displays."""
    (tiny_book / "book/claims.yml").write_text(yaml.safe_dump([CLAIM]))
    monkeypatch.chdir(tiny_book)
    bundles = []
    monkeypatch.setattr(claims, "display", lambda bundle, raw: bundles.append(bundle))
    control = {"half the noise": Fraction(1, 2)}
    claims.check("XSC-RR", private, printed=1, control=control, evidence="all-epsilon")
    return bundles[0]


def executed(root, *bundles):
    """The executed page on which these were displayed."""
    page = json.loads((root / "notebooks/01-one.ipynb").read_text())
    outputs = [{"output_type": "display_data", "metadata": {}, "data": one} for one in bundles]
    cell = {"cell_type": "code", "id": "x", "metadata": {}, "source": "", "outputs": outputs}
    return page | {"cells": [*page["cells"], cell]}


def collected(root, bundle):
    path = root / "_build/executed/notebooks/01-one.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(executed(root, bundle)))
    return collect.collect(root / "_build", root)


NOT_NAMED = "not the certificate that the record names"
ONE_WAY, OTHER_LAW = {"pairs": [[0, 1, 0, 1]]}, {"laws": [[[1], [0, 1]], [[0, 1], [1]]]}
DAMAGES = [  # of a record and its certificate
    (lambda record, one: (record, one | ONE_WAY), NOT_NAMED),
    (lambda record, one: (record | {"certificate": claims.digest({})}, one), NOT_NAMED),
    (lambda record, one: named(record, one | ONE_WAY), "a pair is compared one way only"),
    (lambda record, one: named(record, one | OTHER_LAW), "the law of (0,) is another"),
    (lambda record, one: (record, None), "is no certificate"),
    (
        lambda record, one: (altered(record, {"certificate": None}), None),
        "is of evidence all-epsilon and has no certificate",
    ),
]


def named(record, certificate):
    return record | {"certificate": claims.digest(certificate)}, certificate


def test_what_is_right_is_collected(tiny_book, shown):
    assert collected(tiny_book, shown) == []


def test_a_raw_value_never_reaches_a_page(tiny_book, shown):
    page = executed(tiny_book, shown, {"text/plain": "array([1])"})
    path = tiny_book / "page.ipynb"
    path.write_text(json.dumps(page))
    assert [*collect.bare(path)] == [], "what a cell displays on purpose"
    page["cells"][-1]["outputs"][-1]["output_type"] = "execute_result"
    path.write_text(json.dumps(page))
    assert [*collect.bare(path)] == ["page: shows a raw value: array([1])"]


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
def test_a_damaged_certificate_is_found_by_the_build(tiny_book, shown, damage, words):
    record, one = damage(*(shown[kind] for kind in MIMES))
    (line,) = collected(tiny_book, dict(zip(MIMES, (record, one), strict=True)))
    assert line.startswith(f"XSC-RR: {words}")
    assert collect.collect(tiny_book / "_build", tiny_book, pages=["02-two"]) == []


@pytest.mark.parametrize(
    ("scope", "missing"),
    [
        ("L = 2, attained", ["L = 1"]),
        ("L = 11, attained", ["L = 1"]),
        ("L = 1, upper bound", ["attained"]),
        ("one bit", ["L = 1", "attained"]),
    ],
)
def test_the_scope_says_what_the_certificate_is_of(tiny_book, shown, scope, missing):
    (tiny_book / "book/claims.yml").write_text(yaml.safe_dump([CLAIM | {"scope": scope}]))
    told = collected(tiny_book, shown)
    assert told == [f"XSC-RR: the scope does not say {words!r}" for words in missing]
    path, ledger = (tiny_book / name for name in ("_build/certificates", "book/claims.yml"))
    below = shown[claims.CERTIFICATE_MIME] | {"pairs": [[0, 1, 0, 0], [1, 0, 0, 0]]}
    (path / "XSC-RR.json").write_text(json.dumps(below))
    said = "\n".join(collect.unsaid(path, load_ledger(ledger)))
    assert ("'upper bound'" in said) is ("upper bound" not in scope)


AGAINST = "the part 'reports that tell more' of {} passes or fails against its own numbers"


@pytest.mark.parametrize(
    ("path", "to", "words"),
    [
        ("measured.0.parts.0.value", 1e9, AGAINST.format("printed")),
        ("measured.0.parts.0.limit", -5, AGAINST.format("printed")),
        ("measured.0.parts.0.sign", "<", AGAINST.format("printed")),
        ("measured.1.parts.0.slack", 3, AGAINST.format("half the noise")),
        ("measured.0.passes", False, "printed passes or fails against its parts"),
        ("measured.1.passes", True, "half the noise passes or fails against its parts"),
        ("repaired", True, "repaired is True, but what was measured says None"),
    ],
)
def test_what_a_record_says_of_itself_follows_from_its_numbers(tiny_book, shown, path, to, words):
    record = altered(shown[claims.RECORD_MIME], {path: to})
    claim = load_ledger(tiny_book / "book/claims.yml")["XSC-RR"]
    assert words in claims.record_problems(record, claim)


@pytest.mark.parametrize(("verdict", "code"), [("holds", 0), ("slip", 1)])
def test_running_a_page_checks_its_claims(tiny_book, shown, monkeypatch, capsys, verdict, code):
    """With the words of the ledger turned, the exit status of `dpbook run` is 1."""
    erratum = dict.fromkeys(
        ("heading", "printed", "wrong", "repair", "quote", "reconsider"), "A coin."
    )
    erratum |= {"reproducer": "print(1)", "failed": "wording", "severity": "wording"}
    entry = CLAIM | {"verdict": verdict} | (erratum if code else {})
    (tiny_book / "book/claims.yml").write_text(yaml.safe_dump([entry]))

    def ran(jobs, *, root, workers, timeout):
        for job in jobs:
            job.target.parent.mkdir(parents=True)
            job.target.write_text(json.dumps(executed(root, shown)))
        return [build.Outcome(job, 1.0) for job in jobs]

    monkeypatch.setattr(build, "run_pages", ran)
    assert build.run_page(tiny_book, "1", (), timeout=9, shown=False) == code
    assert ("holds is True, but the verdict slip needs" in capsys.readouterr().err) is bool(code)
