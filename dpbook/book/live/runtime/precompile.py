"""Turn the sources in archives into bytecode of the Python that runs this: not in every browser.

    python3.12 -I precompile.py MAGIC ARCHIVE...

Needs nothing but the standard library, as it runs in an interpreter of the runtime's own version.
In the package of the book the sources stay beside it.
"""

import importlib.util
import marshal
import sys
import zipfile
from pathlib import Path, PurePosixPath

OURS = "dpbook.zip"
LEVEL = 2  # the worker starts Python with -OO


def bytecode(source: bytes, name: str) -> bytes:
    """A file of bytecode that is never compared with its source (PEP 552)."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=LEVEL)
    head = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little")
    return head + importlib.util.source_hash(source) + marshal.dumps(code)


def place(name: str, archive: str) -> str:
    """Where the bytecode of a source is looked for."""
    if archive != OURS:
        return f"{name}c"  # in place of the source
    path = PurePosixPath(name)
    cached = f"{path.stem}.{sys.implementation.cache_tag}.opt-{LEVEL}.pyc"
    return str(path.parent / "__pycache__" / cached)


def main(magic: str, archives: list[str]) -> int:
    """Rewrite the archives; 3 and no change if the bytecode of this Python is another."""
    if importlib.util.MAGIC_NUMBER.hex() != magic:
        return 3
    for path in map(Path, archives):
        new = path.with_suffix(".new")
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as kept:
            for item in old.infolist():
                files = {item.filename: old.read(item)}
                if item.filename.endswith(".py"):
                    made = place(item.filename, path.name)
                    files[made] = bytecode(files[item.filename], item.filename)
                    if path.name != OURS:
                        del files[item.filename]
                for name, content in files.items():
                    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                    info.compress_type = zipfile.ZIP_DEFLATED
                    kept.writestr(info, content, compresslevel=9)
        new.replace(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
