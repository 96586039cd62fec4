"""Describe the files of a version for archives: ``crate.py DIR`` writes an RO-Crate (1.1) there."""

from __future__ import annotations

import json
import mimetypes
import sys
from pathlib import Path
from typing import Any

import yaml

from dpbook.book.sphinx.publishing import authors

NAME = "ro-crate-metadata.json"
STANDARD = "https://w3id.org/ro/crate/1.1"


def crate(folder: Path, citation: dict[str, Any]) -> dict[str, Any]:
    """The metadata: who made what, under which licence, and each file of the folder."""
    files = [
        {
            "@id": path.relative_to(folder).as_posix(),
            "@type": "File",
            "contentSize": str(path.stat().st_size),
            "encodingFormat": mimetypes.guess_type(path.name)[0] or "application/octet-stream",
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != NAME
    ]
    people = [{"@id": f"#{one}", "@type": "Organization", "name": one} for one in authors(citation)]
    licences = [{"@id": f"https://spdx.org/licenses/{one}"} for one in citation["license"]]
    whole = {"@id": "./", "@type": "Dataset", "name": citation["title"], "license": licences}
    whole |= {"description": citation["abstract"], "version": citation["version"]}
    whole |= {"datePublished": str(citation["date-released"])}
    whole["author"] = [{"@id": one["@id"]} for one in people]
    whole["hasPart"] = [{"@id": one["@id"]} for one in files]
    about = {"@id": NAME, "@type": "CreativeWork", "about": {"@id": "./"}}
    about["conformsTo"] = {"@id": STANDARD}
    return {"@context": f"{STANDARD}/context", "@graph": [about, whole, *people, *files]}


if __name__ == "__main__":
    where = Path(sys.argv[1])
    citation = yaml.safe_load(Path("CITATION.cff").read_text(encoding="utf-8"))
    text = json.dumps(crate(where, citation), indent=1, ensure_ascii=False)
    (where / NAME).write_text(text + "\n", encoding="utf-8")
