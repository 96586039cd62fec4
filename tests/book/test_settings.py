"""`_config.yml`: every setting is known to somebody, and none makes a page ask for anything."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jupyter_book
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]

KNOWN_TO_SPHINX = """
import json, sys
from pathlib import Path
from jupyter_book.config import get_final_config
from sphinx.application import Sphinx

root = Path(sys.argv[1])
options = {"external_toc_path": str(root / "_toc.yml"), "latex_individualpages": False}
config, _ = get_final_config(user_yaml=root / "_config.yml", sourcedir=root, cli_config=options)
app = Sphinx(root, None, root / "o", root / "d", "html", confoverrides=config, status=None)
given = json.loads(sys.argv[2])
print(json.dumps([name for name in given if name not in app.config]))
"""


#: Where a caller's pip may install, and what else it may want.
CALLER = """
[global]
user = true
[install]
target = {0}/target
prefix = {0}/prefix
root = {0}/root
"""
BACKEND = """
import zipfile
from pathlib import Path

def write(folder, name):
    about = "Metadata-Version: 2.1\\nName: " + name + "\\nVersion: 1\\n"
    kind = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files = {"METADATA": about, "WHEEL": kind, "RECORD": ""}
    path = Path(folder, name + "-1-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(name + ".py", "")
        for file, text in files.items():
            wheel.writestr(name + "-1.dist-info/" + file, text)
    return path.name

def build_editable(folder, *_):
    return write(folder, "own_thing")
"""


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_the_pip_of_the_caller_does_not_say_what_is_installed_nor_where(tmp_path):
    place, theirs = tmp_path / "a b", tmp_path / "theirs"
    for folder in (place, theirs):
        folder.mkdir()
    for name in ("Makefile", "maintain.mk"):
        shutil.copy(ROOT / name, place)
    (place / "backend.py").write_text(BACKEND)
    system = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    (place / "pyproject.toml").write_text(system)
    call = "import backend; backend.write('../theirs', 'tiny_thing')"
    subprocess.run([sys.executable, "-c", call], check=True, cwd=place)
    (wheel,) = theirs.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    (place / "requirements.lock").write_text(f"tiny-thing==1 --hash=sha256:{digest}\n")
    (theirs / "pip.conf").write_text(CALLER.format(theirs))
    (theirs / "no.txt").write_text("tiny-thing==2\n")
    words = {"PIP_CONFIG_FILE": "pip.conf", "PIP_CONSTRAINT": "no.txt", "PIP_FIND_LINKS": ""}
    env = os.environ | {name: str(theirs / file) for name, file in words.items()}
    env |= {"PIP_NO_INDEX": "1", "PIP_USER": "1", "PIP_REQUIRE_VIRTUALENV": "1"}
    command = ["make", ".venv/.made", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    both = [place / ".venv/bin/python", "-c", "import own_thing, tiny_thing"]
    subprocess.run(both, check=True, cwd=theirs)
    assert {path.name for path in theirs.iterdir()} == {"pip.conf", "no.txt", wheel.name}


def unknown_to_sphinx(root, names):
    """Which of these settings no part of Sphinx knows; it ignores them in silence."""
    command = [sys.executable, "-c", KNOWN_TO_SPHINX, str(root), json.dumps(names)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


def unknown_keys(config):
    """Keys of `_config.yml` that Jupyter Book does not know; it ignores them in silence."""
    package = Path(jupyter_book.__file__).parent
    schema = json.loads((package / "config_schema.json").read_text(encoding="utf-8"))["properties"]
    defaults = yaml.safe_load((package / "default_config.yml").read_text(encoding="utf-8"))
    unknown = []
    for key, value in config.items():
        if key not in schema and key not in defaults:
            unknown.append(key)
        elif isinstance(value, dict):
            known = {*schema.get(key, {}).get("properties", {}), *(defaults.get(key) or {})}
            unknown += [f"{key}.{inner}" for inner in value if inner not in known]
    return unknown


def test_every_setting_is_known_to_somebody_and_nothing_is_fetched_or_launched(tmp_path):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    assert unknown_keys(config) == []
    assert unknown_keys({"titel": "x", "html": {"use_buttons": 1}}) == ["titel", "html.use_buttons"]
    shutil.copy(ROOT / "_config.yml", tmp_path)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: index\n")
    names = [*config["sphinx"]["config"], "html_css_fils"]
    assert unknown_to_sphinx(tmp_path, names) == ["html_css_fils"]
    assert config["execute"]["execute_notebooks"] == "off"
    assert config["execute"]["stderr_output"] == "warn"
    assert not any(config["launch_buttons"].values())
    assert "sphinx-mathjax-offline" in config["sphinx"]["extra_extensions"]
    for name in (".*", "_build", "README.md", "tests", "tools", "benchmarks"):
        assert name in config["exclude_patterns"]
