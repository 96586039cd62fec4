"""Files and servers that misbehave: every fault ends as a DatasetError that says what to do."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import pickle
import random
import threading
import time
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dpbook.data import DatasetError, _official, loader

CSV = b"respondent,item_a,item_b,outcome\n1,x,y,a\n"
RAW = b"an official file"
TOO_LARGE = b"0" * (_official.MAX_BYTES + 1)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def convert(raw: bytes) -> str:
    return CSV.decode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no data folder in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("DPBOOK_DATA", raising=False)
    return tmp_path / "cache" / "dpbook"


Register = Callable[..., None]


@pytest.fixture
def register(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Register:
    """Put a data set "small" into the registry, whose official file is `RAW`."""

    def put(**fields: object) -> None:
        dataset = loader.Dataset("http://127.0.0.1:9/raw.zip", digest(CSV), convert)
        fields = {"raw_sha256": digest(RAW), **fields}
        monkeypatch.setitem(loader.DATASETS, "small", replace(dataset, **fields))

    put()
    return put


@contextlib.contextmanager
def fault(match: str) -> Iterator[None]:
    """A DatasetError with these words, and with the advice that helps in every case."""
    with pytest.raises(DatasetError, match=match) as caught:
        yield
    for part in ("raw.zip", "small.csv", "DPBOOK_DATA"):
        assert part in str(caught.value)


@contextlib.contextmanager
def at_most(size: int) -> Iterator[None]:
    """Fail if more memory than this is taken at once."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


# ---------------------------------------------------------------- digests and sizes


def test_the_official_file_is_taken_when_its_digest_is_right(
    register: Register, tmp_path: Path
) -> None:
    assert loader.dataset_text("small", opener=lambda url: RAW) == CSV.decode()
    (tmp_path / "raw.zip").write_bytes(RAW)
    assert loader.dataset_text("small", path=tmp_path) == CSV.decode()


def test_nothing_is_parsed_before_the_digest_of_the_official_file(
    register: Register, cache: Path, tmp_path: Path
) -> None:
    def never(raw: bytes) -> str:
        raise AssertionError("the converter saw bytes of another digest")

    register(convert=never)
    other = b"another file"
    words = f"SHA-256 of .* is {digest(other)}; expected {digest(RAW)}"
    with fault(words):
        loader.dataset_text("small", opener=lambda url: other)
    (tmp_path / "raw.zip").write_bytes(other)
    with fault(words):
        loader.dataset_text("small", path=tmp_path)
    assert not cache.exists()


@pytest.mark.parametrize("file", ["small.csv", "raw.zip"])
def test_a_large_file_is_not_read(
    file: str, register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "MAX_BYTES", 1000)
    with (tmp_path / file).open("wb") as stream:
        stream.truncate(2**28)  # 256 MiB without a byte on the disk
    words = f"{file} has more than 1000 bytes"
    with at_most(2**22), fault(words):
        loader.dataset_text("small", path=tmp_path)


def test_a_large_answer_is_refused(register: Register) -> None:
    with fault(f"more than {_official.MAX_BYTES} bytes"):
        loader.dataset_text("small", opener=lambda url: TOO_LARGE)


def test_an_unreadable_file_is_named(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*args: object) -> None:
        raise PermissionError("locked")

    (tmp_path / "small.csv").write_bytes(CSV)
    monkeypatch.setattr(Path, "open", locked)
    with fault(r"cannot read .*small\.csv \(locked\)"):
        loader.dataset_text("small", path=tmp_path)


def test_a_user_without_a_home_is_told_of_the_cache(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(DatasetError, match="no home; XDG_CACHE_HOME can name"):
        loader.dataset_text("small", opener=lambda url: RAW)


# ---------------------------------------------------------------- openers and servers


@pytest.mark.parametrize("error", [ValueError, KeyError, TypeError, RuntimeError, EOFError])
def test_whatever_an_opener_raises_is_one_fault(register: Register, error: type) -> None:
    def broken(url: str) -> bytes:
        raise error("broken")

    with fault("cannot fetch .*broken"):
        loader.dataset_text("small", opener=broken)


def test_an_opener_must_return_bytes(register: Register) -> None:
    with fault("the opener returned str; expected bytes"):
        loader.dataset_text("small", opener=lambda url: RAW.decode())


Answer = Callable[[BaseHTTPRequestHandler, threading.Event], None]


@pytest.fixture
def serve(register: Register) -> Iterator[Callable[[Answer], None]]:
    """Start a local server that answers as it is told, and register its address."""
    pytest.importorskip("pooch", reason="the optional package pooch is not installed")
    running: list[tuple[ThreadingHTTPServer, threading.Thread]] = []
    stop = threading.Event()

    def start(answer: Answer) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with contextlib.suppress(OSError):  # the client may go away
                    answer(self, stop)

            def log_message(self, *args: object) -> None:
                pass

        httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=httpd.serve_forever, args=(0.02,))
        thread.start()
        running.append((httpd, thread))
        register(url=f"http://127.0.0.1:{httpd.server_port}/raw.zip")

    yield start
    stop.set()
    for httpd, thread in running:
        httpd.shutdown()
        thread.join()
        httpd.server_close()
    for thread in threading.enumerate():
        if thread.name == "dpbook-download":
            thread.join(10)


def drip_head(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
    handler.send_response(200)
    handler.flush_headers()
    while not stop.wait(0.05):
        handler.wfile.write(b"X: -\r\n")


def drip_body(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not stop.wait(0.05):
        handler.wfile.write(b"x")


def drip_promised(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    while not stop.wait(0.05):
        handler.wfile.write(b"x")


@pytest.mark.parametrize("answer", [drip_head, drip_body, drip_promised])
def test_a_dripping_server_is_given_up(
    answer: Answer, serve: Callable[[Answer], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(answer)
    monkeypatch.setattr(loader, "DEADLINE", 0.4)
    began = time.monotonic()
    with fault("no complete answer within 0.4 seconds"):
        loader.dataset_text("small")
    assert time.monotonic() - began < 5  # each read of the socket alone may take SILENCE


def test_a_server_without_end_is_cut(serve: Callable[[Answer], None]) -> None:
    def endless(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        handler.send_response(200)
        handler.end_headers()
        while not stop.is_set():
            handler.wfile.write(bytes(2**16))

    serve(endless)
    with fault(f"more than {_official.MAX_BYTES} bytes"):
        loader.dataset_text("small")


@pytest.mark.parametrize(
    ("sent", "promised", "fine"),
    [(RAW, len(RAW), True), (RAW, None, True), (RAW[:5], len(RAW), False), (b"", 7, False)],
)
def test_half_an_answer_is_no_answer(
    sent: bytes, promised: int | None, fine: bool, serve: Callable[[Answer], None]
) -> None:
    def answer(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        handler.send_response(200)
        if promised is not None:
            handler.send_header("Content-Length", str(promised))
        handler.end_headers()
        handler.wfile.write(sent)

    serve(answer)
    if fine:
        assert loader.dataset_text("small") == CSV.decode()
    else:
        with fault(rf"cannot fetch .*IncompleteRead\({len(sent)} bytes read"):
            loader.dataset_text("small")


def test_pieces_of_an_answer_are_put_together(serve: Callable[[Answer], None]) -> None:
    def pieces(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for byte in RAW:
            handler.wfile.write(b"1\r\n" + bytes([byte]) + b"\r\n")
            handler.wfile.flush()
        handler.wfile.write(b"0\r\n\r\n")

    serve(pieces)
    assert loader.dataset_text("small") == CSV.decode()


@pytest.mark.parametrize(
    ("place", "sent", "fine"),
    [
        ("/elsewhere", RAW, True),
        ("/elsewhere", b"other bytes", False),
        ("/raw.zip", RAW, False),  # in a circle
        ("file:///etc/hostname", RAW, False),
    ],
)
def test_a_redirect_does_not_help_other_bytes(
    place: str, sent: bytes, fine: bool, serve: Callable[[Answer], None], cache: Path
) -> None:
    def answer(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        moved = handler.path == "/raw.zip"
        handler.send_response(302 if moved else 200)
        if moved:
            handler.send_header("Location", place)
        handler.send_header("Content-Length", "0" if moved else str(len(sent)))
        handler.end_headers()
        handler.wfile.write(b"" if moved else sent)

    serve(answer)
    if fine:
        assert loader.dataset_text("small") == CSV.decode()
        return
    with fault(digest(sent) if sent != RAW else "cannot fetch"):
        loader.dataset_text("small")
    assert not cache.exists()


# ---------------------------------------------------------------- archives and other layouts

MEMBER = "sushi3-2016/sushi3a.5000.10.order"


def archive(content: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as file:
        file.writestr(MEMBER, content)
    return stream.getvalue()


def patched(raw: bytes, local: int, central: int, value: bytes) -> bytes:
    """Overwrite a field of both headers of the only file in an archive."""
    changed = bytearray(raw)
    for at in (local, raw.index(b"PK\1\2") + central):
        changed[at : at + len(value)] = value
    return bytes(changed)


ORDERS = b"3 1\n0 3 2 0 1\n"
BAD_ARCHIVES = {
    "bomb": (archive(TOO_LARGE), f"has {len(TOO_LARGE)} bytes; allowed are {len(TOO_LARGE) - 1}"),
    "lie": (patched(archive(TOO_LARGE), 22, 24, b"\x0f\0\0\0"), "not a readable zip archive"),
    "password": (patched(archive(ORDERS), 6, 8, b"\1\0"), "is encrypted"),
    "strong": (patched(archive(ORDERS), 6, 8, b"\x40\0"), "not a readable zip archive"),
    "unknown": (patched(archive(ORDERS), 8, 10, b"\x63\0"), "compression type 99"),
    "bzip2": (archive(ORDERS, zipfile.ZIP_BZIP2), "compression type 12"),
    "lzma": (archive(ORDERS, zipfile.ZIP_LZMA), "compression type 14"),
    "version": (patched(archive(ORDERS), 4, 6, b"\xff\0"), "not a readable zip archive"),
}


@pytest.mark.parametrize(("raw", "words"), BAD_ARCHIVES.values(), ids=BAD_ARCHIVES)
def test_bad_archives_are_refused_in_little_memory(
    raw: bytes, words: str, register: Register
) -> None:
    assert "2,0,1" in _official.from_sushi(archive(ORDERS))
    register(convert=_official.from_sushi, raw_sha256="")
    with at_most(2**22), fault(words):
        loader.dataset_text("small", opener=lambda url: raw)


def zipped(**files: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        for name, text in files.items():
            file.writestr(f"{name}.csv", text)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("converter", "raw"),
    [
        (_official.from_movielens, zipped(ratings="userId,movieId,rating\n" + "x" * 200_000)),
        (_official.from_movielens, zipped(ratings="userId,movieId,rating\n1,2,3\n4\n")),
        (_official.from_movielens, zipped(ratings="userId,movieId,rating\n1,two,3\n")),
        (_official.from_sushi, archive(b"\xff\n")),
        (_official.from_sushi, archive(b"")),
        (_official.from_bradleyterry2, b"preferences = \xff"),
    ],
)
def test_other_layouts_are_one_fault(
    converter: Callable[[bytes], str], raw: bytes, register: Register
) -> None:
    register(convert=converter, raw_sha256="")
    with fault("does not have the expected layout"):
        loader.dataset_text("small", opener=lambda url: raw)


def test_files_with_changed_bytes_are_one_fault(register: Register) -> None:
    source = random.Random(1)
    good = archive(ORDERS)
    for converter in (_official.from_sushi, _official.from_movielens):
        register(convert=converter, raw_sha256="")
        for _ in range(100):
            raw = bytearray(good[: source.randrange(len(good) + 1)])
            for _ in range(source.randrange(4) if raw else 0):
                raw[source.randrange(len(raw))] = source.randrange(256)
            with fault("raw.zip"):
                loader.dataset_text("small", opener=lambda url, raw=bytes(raw): raw)


LINK = 0o120777 << 16  # a symbolic link, as Unix writes it into an archive


@pytest.mark.parametrize(
    ("member", "kind", "content", "fine"),
    [
        (MEMBER, 0, ORDERS, True),
        (f"../../{MEMBER}", 0, ORDERS, True),
        (f"/tmp/../../{MEMBER}", 0, ORDERS, True),
        (f"C:\\..\\{MEMBER}", 0, ORDERS, True),
        (MEMBER, LINK, b"/etc/hostname", False),
        (MEMBER, LINK, b"../small.csv", False),
    ],
)
def test_an_archive_cannot_write_or_lead_elsewhere(
    member: str,
    kind: int,
    content: bytes,
    fine: bool,
    register: Register,
    cache: Path,
    tmp_path: Path,
) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        info = zipfile.ZipInfo(member)
        info.external_attr = kind
        file.writestr(info, content)
    orders = _official.from_sushi(archive(ORDERS))
    register(convert=_official.from_sushi, raw_sha256="", sha256=digest(orders.encode()))
    with contextlib.nullcontext() if fine else fault("does not have the expected layout"):
        # only the content of the member is read, whatever path it claims to have
        assert loader.dataset_text("small", opener=lambda url: stream.getvalue()) == orders
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [cache / "small.csv"] * fine


class Touch:
    """What makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


# An R promise to call `system`, in R's own ASCII form: R would run it when the value is asked for.
PROMISE = (
    b"RDA2\nA\n2\n262153\n131840\n1026\n1\n262153\n5\nimmig\n5\n252\n6\n1\n262153\n6\nsystem\n"
    b"2\n16\n1\n262153\n8\ntouch\\040x\n254\n254\n"
)


def test_code_in_an_r_file_never_runs(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rdata", reason="the optional package rdata is not installed")
    monkeypatch.chdir(tmp_path)
    register(convert=loader.DATASETS["immigration"].convert, raw_sha256="")
    pickled = pickle.dumps(Touch(tmp_path / "x"))
    for raw in (PROMISE, gzip.compress(PROMISE), pickled):
        with fault("does not have the expected layout"):
            loader.dataset_text("small", opener=lambda url, raw=raw: raw)
        assert not (tmp_path / "x").exists()
    pickle.loads(pickled)
    assert (tmp_path / "x").exists(), "the control: it would have acted"


def test_an_r_file_that_unpacks_without_end_is_refused_by_its_digest(register: Register) -> None:
    bomb = gzip.compress(bytes(2**26), compresslevel=1)
    assert len(bomb) < _official.MAX_BYTES
    for name in ("immigration", "cems_1998"):  # those of prefmod, read by rdata
        known = loader.DATASETS[name]
        assert known.raw_sha256
        register(convert=known.convert, raw_sha256=known.raw_sha256)
        with at_most(2**22), fault("SHA-256 of .* expected"):
            loader.dataset_text("small", opener=lambda url: bomb)


@pytest.mark.parametrize("raw", [b"", b"junk", b"RDX3\nX\n" + bytes(60), bytes(range(256))])
def test_junk_for_an_r_file_is_refused_without_a_warning(raw: bytes, register: Register) -> None:
    pytest.importorskip("rdata", reason="the optional package rdata is not installed")
    immigration = loader.DATASETS["immigration"]
    register(convert=immigration.convert, raw_sha256="")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with fault(r"not a readable \.RData file"):
            loader.dataset_text("small", opener=lambda url: raw)
    assert seen == []
