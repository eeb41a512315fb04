"""What never ends is refused by name: devices, bombs, lines without end, pipes without writers. What ends is read once, in bounds."""

import gzip
import hashlib
import io
import os
import pty
import socket
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from regard.data import entries, opening, readers, tmx
from regard.data.check import check_corpus
from regard.data.config import CorpusData
from regard.data.encoding_guess import guess_encoding
from regard.data.entries import seekable_inputs
from regard.data.inputs import digest_of
from regard.data.readers import read_all, read_cut, read_lines, read_pairs, read_parallel
from regard.errors import DataError


def the_error(read: Callable[[], Any]) -> str:
    with pytest.raises(DataError) as caught:
        read()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def lines_of(path: str | Path) -> list[str]:
    return list(read_lines(path))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_refused_and_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    link = tmp_path / "a.en"
    link.symlink_to(device)
    for path in (device, link):
        assert (
            the_error(lambda path=path: lines_of(path))
            == f"{path}: a character device, which need not end; give a file"
        )
    with open(device) as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert the_error(lambda: lines_of("-")).startswith("stdin: a character device")
    with seekable_inputs(CorpusData(src="a", tgt="b"), (), tmp_path / "cache"):
        pass
    corpus = CorpusData(src=device, tgt=device)
    assert the_error(lambda: seekable_inputs(corpus, ("src",), tmp_path / "cache").__enter__()).startswith(device)
    assert list((tmp_path / "cache").iterdir()) == []


def test_nothing_is_read_of_nothing() -> None:
    assert lines_of(os.devnull) == []


def test_a_terminal_is_read() -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"first\nsecond\n\x04")
    assert lines_of(os.ttyname(theirs)) == ["first", "second"]
    os.close(ours)
    os.close(theirs)


def test_a_socket_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert the_error(lambda: lines_of("s")).startswith("s: a socket; give a file")


def test_standard_input_that_is_closed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert the_error(lambda: lines_of("-")) == "stdin: closed; open it, or give a file in place of '-'"


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "a.en")
    monkeypatch.setattr(opening, "PIPE_SECONDS", 0.05)
    for _ in range(2):
        message = the_error(lambda: lines_of(tmp_path / "a.en"))
        assert message.startswith(f"{tmp_path}/a.en: a pipe that nobody writes to; start its writer first")


def test_a_pipe_that_may_not_be_written_to_holds_up_no_exit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that waits for a writer cannot be woken. It is one that no exit waits for, and a late writer leaves no handle open."""
    path, really_open, before = tmp_path / "a.en", os.open, {*threading.enumerate()}

    def no_writing(name: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_WRONLY:
            raise PermissionError
        return really_open(name, flags, *more, **named)

    os.mkfifo(path)
    monkeypatch.setattr(opening, "PIPE_SECONDS", 0.05)
    monkeypatch.setattr(os, "open", no_writing)
    assert "a pipe that nobody writes to" in the_error(lambda: lines_of(path))
    [waiting] = {*threading.enumerate()} - before
    assert waiting.daemon
    writer = really_open(path, os.O_WRONLY | os.O_NONBLOCK)  # succeeds, because the thread is about to read
    waiting.join(60)
    assert not waiting.is_alive()
    with pytest.raises(BrokenPipeError):  # nobody reads
        os.write(writer, b"late\n")
    os.close(writer)


def test_a_named_pipe_waits_for_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "a.en"
    os.mkfifo(path)
    writer = threading.Timer(0.2, lambda: path.write_bytes(b"one\ntwo\n"))
    writer.start()
    assert lines_of(path) == ["one", "two"]
    writer.join()


def test_a_pipe_that_was_closed_empty_has_no_lines() -> None:
    """As `<(true)` of a shell."""
    reading, writing = os.pipe()
    os.close(writing)
    assert lines_of(f"/dev/fd/{reading}") == []
    os.close(reading)


def test_a_line_without_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "REFUSED_LINE", 5000)
    monkeypatch.setattr(readers, "_BLOCK", 1000)
    path = tmp_path / "a.en"
    path.write_bytes(b"x\ny\n" + b"a" * 5000 + b"\nz\n")
    assert len(lines_of(path)) == 4
    path.write_bytes(b"x\ny\n" + b"a" * 5001 + b"\nz\n")
    found = []
    with pytest.raises(DataError, match=r"a\.en:3: a line of more than 5,000 bytes; break it into lines"):
        found.extend(read_lines(path))
    assert the_error(lambda: check_corpus(path, path)).startswith(f"{path}:3: a line of more than")


def test_the_longest_line_is_16_megabytes_in_every_pass(tmp_path: Path) -> None:
    path = tmp_path / "a.en"
    with path.open("wb") as file:
        file.write(b"x\n")
        file.truncate(1 << 33)  # 8 GB of nothing, which take no place on the disk
    for read in (lines_of, digest_of, lambda path: list(read_pairs(path, path)), lambda path: read_parallel([path])):
        assert the_error(lambda read=read: read(path)).startswith(f"{path}:2: a line of more than 16,777,216 bytes")


def test_a_long_line_is_cut_where_its_beginning_suffices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.en"
    path.write_bytes("x\n{}\ny\n{}".format("é" * 5000, "z" * 11).encode())
    for block in (1, 7, 100, 1 << 20):
        monkeypatch.setattr(readers, "_BLOCK", block)
        expected = [(b"x", False), ("é".encode() * 5, True), (b"y", False), (b"z" * 11, False)]
        assert list(read_cut(path, 11)) == expected  # no half of a character at the end


def test_memory_is_bounded_by_the_part_that_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.en"
    with path.open("wb") as file:
        file.write(b"x\n")
        file.truncate(200 << 20)
    with path.open("ab") as file:
        file.write(b"\ny\n")
    tracemalloc.start()
    try:
        found = list(read_cut(path, 1 << 20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(len(line), cut) for line, cut in found] == [(1, False), (1 << 20, True), (1, False)]
    assert peak < 16 << 20


def test_a_line_of_which_no_end_is_in_sight_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "ENDLESS_LINE", 3 << 20)
    path = tmp_path / "a.en"
    path.write_bytes(b"x\n" + b"a" * (4 << 20))
    assert the_error(lambda: list(read_cut(path, 10))).startswith(f"{path}:2: a line of more than 3,145,728 bytes")


def bomb(path: Path, content: bytes, times: int) -> Path:
    with gzip.open(path, "wb", compresslevel=9) as file:
        file.write(b"first\n")
        for _ in range(times):
            file.write(content)
    return path


def test_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    path = bomb(tmp_path / "a.en.gz", b"ab\n" * 350_000, 20)
    lines = read_lines(path)
    assert next(lines) == "first"
    assert "a.en.gz: unpacks to more than 100 times its size" in the_error(lambda: list(lines))
    assert "unpacks to more than" in the_error(lambda: digest_of(path))


def test_text_that_packs_well_is_no_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = bomb(tmp_path / "a.en.gz", b"ab\n" * 100_000, 10)  # 300 times its size, and small
    assert len(lines_of(path)) == 1_000_001
    monkeypatch.setattr(opening, "FREE_BYTES", 0)
    rows = [hashlib.sha256(b"%d" % n).hexdigest().encode() + b"\n" for n in range(1000)]
    with gzip.open(path, "wb") as file:
        file.writelines(rows)
    assert len(lines_of(path)) == 1000


def test_a_stream_is_copied_up_to_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MOST_STREAMED", 100)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\n" * 26)))
    corpus = CorpusData(pairs="-")
    message = the_error(lambda: seekable_inputs(corpus, ("pairs",), tmp_path).__enter__())
    assert message.startswith("stdin: more than 100 bytes, the most that is copied of a stream; give a file")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_held_whole_has_a_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.en"
    path.write_bytes(b"abc\n" * 20)
    assert read_all(path, 20 * 67) == ["abc"] * 20
    assert the_error(lambda: read_all(path, 20 * 67 - 1)).startswith(f"{path}:20: up to here about 1,339 bytes")
    monkeypatch.setattr(readers._bounded, "__defaults__", (1000,))
    assert the_error(lambda: read_parallel([path, path])).startswith(f"{path}:15: up to here")


def test_other_content_than_that_of_the_hash_is_refused_at_its_end(tmp_path: Path) -> None:
    for name in ("a.en", "a.en.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(b"one\ntwo\n") if name.endswith("gz") else b"one\ntwo\n")
        digest = digest_of(path)
        assert digest == hashlib.sha256(b"one\ntwo\n").hexdigest()
        assert list(read_lines(path, digest)) == ["one", "two"]
        changed = read_lines(path, "0" * 64)
        assert [next(changed), next(changed)] == ["one", "two"]
        assert the_error(lambda changed=changed: next(changed)).startswith(f"{path}: its content has changed while")


UNIT = '<tu><tuv xml:lang="en"><seg>a</seg></tuv><tuv xml:lang="fr"><seg>b</seg></tuv></tu>'
MANY = "".join(f"<tu><tuv lang='x{n:02}'><seg/></tuv></tu>" for n in range(99))
TMX = f"<tmx><body>\n{UNIT * 3}</body></tmx>"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f'<?xml version="1.0" encoding="UTF-7"?>{TMX}', ": encoding 'UTF-7' in its XML declaration cannot be read"),
        (f'<?xml version="1.0" encoding="Shift_JIS"?>{TMX}', ": encoding 'Shift_JIS' in its XML declaration"),
        (f'<?xml version="1.0" encoding="nothing"?>{TMX}', ": encoding 'nothing' in its XML declaration"),
        (TMX.replace("<seg>", "<seg>" * 100_000, 1), ":2: elements nest more than 100 deep"),
        (TMX.replace("<seg>", f'<seg x="{"a" * 300_000}">', 1), ":2: a tag or comment of more than 100,000 bytes"),
        (TMX.replace("<seg>", f"<!--{'a' * 300_000}--><seg>", 1), ":2: a tag or comment of more than 100,000 bytes"),
        (TMX.replace("<seg>", f"<seg>{'a' * 300_000}", 1), ":2: a unit of more than 200,000 bytes"),
        (TMX.replace("<tu>", f"<tu>{'<tuv><seg/></tuv>' * 3000}", 1), ":2: a unit of more than 200,000 bytes"),
        (TMX.replace('"fr"', '"de"') + " " * 5, ": no unit in both 'en' and 'fr'; its languages are de, en:"),
        (
            f"<tmx>{MANY}</tmx>",
            ": no unit in both 'en' and 'fr'; its languages are x00, x01, x02, x03, x04, x05, x06, x07, x08, x09, x10, x11, "
            "x12, x13, x14, x15, x16, x17, x18, x19, ..:",
        ),
    ],
)
def test_tmx_that_the_parser_cannot_do_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, message: str
) -> None:
    monkeypatch.setattr(tmx, "LONGEST_TAG", 100_000)
    monkeypatch.setattr(tmx, "LONGEST_UNIT", 200_000)
    path = tmp_path / "a.tmx"
    path.write_text(content, encoding="utf-8")
    assert the_error(lambda: list(read_pairs(pairs=path, languages=("en", "fr")))).startswith(f"{path}{message}")


def test_tmx_may_be_long_where_its_units_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tmx, "LONGEST_TAG", 100_000)
    monkeypatch.setattr(tmx, "LONGEST_UNIT", 1000)
    monkeypatch.setattr(readers, "REFUSED_LINE", 1000)  # a TMX file need not have lines
    path = tmp_path / "a.tmx"
    path.write_text(f"<tmx><header>{'<note>n</note>' * 5000}</header>{UNIT * 5000}</tmx>", encoding="utf-8")
    assert list(read_pairs(pairs=path, languages=("en", "fr"))) == [("a", "b")] * 5000


def test_half_of_a_surrogate_pair_is_told_with_its_line_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [
        '{"source": "a", "target": "b"}',
        '{"source": "x\\ud800", "target": "y"}',
        '{"source": "\\udfff", "target": "z"}',
    ]
    path.write_text("\n".join([*rows, '{"source": "\\ud83d\\ude42", "target": "é"}']), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"a\.jsonl:2: half of a surrogate pair.*U\+FFFD") as told:
        found = list(read_pairs(pairs=path))
    assert len(told) == 1
    assert found == [("a", "b"), ("x\ufffd", "y"), ("\ufffd", "z"), ("🙂", "é")]
    for pair in found:
        "".join(pair).encode("utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = check_corpus(pairs=path)
    assert (report.surrogates.total, report.surrogates.first) == (2, (2, 3))
    assert "half surrogates     2 (line 2, 3)" in report.to_text()
    assert report.usable


def test_the_guess_of_an_encoding_needs_only_the_beginning() -> None:
    french, russian = "déjà vu à l'été ".encode("latin-1"), "Привет".encode("koi8-r")
    assert guess_encoding(french * 2000 + russian * 100_000) == guess_encoding(french) == "LATIN1"
