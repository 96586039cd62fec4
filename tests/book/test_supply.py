"""What is installed, and what runs in continuous integration, is named by what it holds."""

import re

import pytest
import yaml

from tests.book.browsing import ROOT

LOCKS = {
    "requirements.lock": "requirements.txt",
    "requirements-dev.lock": "requirements-dev.txt",
    "benchmarks/requirements.lock": "benchmarks/requirements.txt",
    "benchmarks/libraries.lock": "benchmarks/libraries.txt",  # goes into a folder of its own
}


def pins(name):
    """Version and hashes by name, as a file of requirements has them."""
    text = re.sub(r"\\\n", " ", (ROOT / name).read_text(encoding="utf-8"))
    found = {}
    for line in text.splitlines():
        if match := re.match(r"([\w.-]+)==([^\s;]+)", line):
            plain = re.sub(r"[-_.]+", "-", match[1]).lower()
            found[plain] = (match[2], re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line))
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_is_locked_with_its_hashes(lock):
    locked, asked = pins(lock), pins(LOCKS[lock])
    assert asked and asked.keys() <= locked.keys()
    assert {name: version for name, (version, _) in asked.items()} == {
        name: locked[name][0] for name in asked
    }
    assert all(hashes for _, hashes in locked.values())


def test_locks_agree_and_tests_bring_nothing_else_for_the_book():
    book, *others = (pins(lock) for lock in LOCKS if "libraries" not in lock)
    for other in others:
        assert all(book[name] == other[name] for name in book.keys() & other.keys())


def test_make_installs_wheels_of_known_hashes_and_beside_them_only_this_project():
    files = (ROOT / name for name in ("Makefile", "maintain.mk"))
    make = "".join(path.read_text(encoding="utf-8") for path in files).replace("\\\n", " ")
    installs = [line for line in make.splitlines() if "pip install" in line]
    own = [line for line in installs if line.endswith("--no-build-isolation --no-deps -e .")]
    (rule,) = [line for line in installs if line not in own]
    assert rule.startswith("INSTALL := ") and len(own) == 1
    assert "--require-hashes" in rule and re.search(r"--only-binary\s+:all:", rule)
    assert set(re.findall(r"\$\(INSTALL\).* -r (\S+)", make)) == LOCKS.keys()


def test_actions_are_named_by_commit_and_do_no_more_than_they_must():
    used = {}
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
        used[path.name] = [step["uses"] for step in steps if "uses" in step]
        assert workflow["permissions"] == {"contents": "read"}
    names = [name for listed in used.values() for name in listed]
    assert len(used["pages.yml"]) > 5 and len(used["tests.yml"]) > 1
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name) for name in names)
    assert len({*names}) == len({name.partition("@")[0] for name in names}), "one commit of each"
