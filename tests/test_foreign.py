"""One reader for what strangers wrote: it never waits, never follows a link out, and refuses what is too large or too deep."""

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from regard.errors import FileError
from regard.foreign import DEPTH, DIGITS, parse_json, parse_toml, read_bytes, read_text


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("é\n", encoding="utf-8")
    assert read_text(tmp_path / "f", 3, root=tmp_path) == "é\n"
    assert read_bytes(tmp_path / "f", 3) == "é\n".encode()


def test_a_larger_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 4)
    with pytest.raises(FileError, match=r"f: larger than 3 bytes"):
        read_bytes(tmp_path / "f", 3)


def test_a_file_that_grows_is_never_cut_in_silence() -> None:
    """The system says that such a file has no bytes, and then there are some."""
    with pytest.raises(FileError, match=r"^/proc/self/status: it grows while it is read"):
        read_bytes(Path("/proc/self/status"), 1 << 20)


def test_a_pipe_without_a_writer_is_named_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    with pytest.raises(FileError, match="f: a named pipe, not a regular file"):
        read_bytes(tmp_path / "f", 10)


def test_a_device_and_a_socket_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(FileError, match="s: a socket"):
            read_bytes(Path("s"), 10)
    with pytest.raises(FileError, match="/dev/zero: a character device"):
        read_bytes(Path("/dev/zero"), 10)


def test_missing_files_and_directories_are_the_callers_to_word(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "none", 10)
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path, 10)


def test_a_link_inside_of_the_root_is_followed_and_one_that_leads_out_is_not(tmp_path: Path) -> None:
    inside, outside = tmp_path / "bundle", tmp_path / "secret"
    inside.mkdir()
    outside.write_text("secret", encoding="utf-8")
    (inside / "real").write_text("here", encoding="utf-8")
    (inside / "link").symlink_to("real")
    (inside / "out").symlink_to(outside)
    (inside / "up").symlink_to("../secret")
    (tmp_path / "alias").symlink_to(inside)
    assert read_text(tmp_path / "alias/link", 10, root=tmp_path / "alias") == "here"
    for name in ("out", "up"):
        with pytest.raises(FileError, match="a link that leads out") as caught:
            read_text(inside / name, 10, root=inside)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, '["' + '\\"' * 100_000]
)
def test_json_without_bound_is_one_line(text: str) -> None:
    with pytest.raises(FileError, match=r"^f\.json: not valid JSON: ") as caught:
        parse_json(text, "f.json")
    assert "\n" not in str(caught.value)


def test_json_nests_as_deep_as_the_limit_says() -> None:
    deep = parse_json("[" * DEPTH + "]" * DEPTH, "f")
    for _ in range(DEPTH - 1):
        [deep] = deep
    assert deep == []
    with pytest.raises(FileError, match=f"more than {DEPTH} levels deep"):
        parse_json("[" * (DEPTH + 1) + "]" * (DEPTH + 1), "f")


def test_brackets_in_strings_are_no_nesting() -> None:
    strings = ["[" * 1000, '"[{' * 100, "\\"]
    assert parse_json(json.dumps(strings), "f") == strings
    assert parse_json(json.dumps([[]] * 1000), "f") == [[]] * 1000


@pytest.mark.parametrize("number", ["1" * 5000, "1." + "1" * 5000, "-" + "1" * DIGITS])
def test_numbers_of_many_digits_are_refused(number: str) -> None:
    with pytest.raises(FileError, match="digits"):
        parse_json(f'{{"a": {number}}}', "f")
    assert parse_json("1" * DIGITS, "f") == int("1" * DIGITS)


def test_a_key_that_is_there_twice_is_refused() -> None:
    with pytest.raises(FileError, match="the key 'a' is there twice"):
        parse_json('{"b": {"a": 1, "c": 2, "a": 3}}', "f")


@pytest.mark.parametrize("text", ['"\\ud800"', '{"\\uDFFF": 1}', '[["a\\ud83d"]]', '"\ud800"'])
def test_half_of_a_surrogate_pair_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="half of a surrogate pair"):
        parse_json(text, "f")
    assert parse_json('"\\ud83d\\ude42"', "f") == "🙂"


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "[" * 100_000 + "]" * 100_000,
        "a = " + "{a=" * 100_000,
        ".".join(["a"] * 100_000) + " = 1",
        "[" + ".".join(["a"] * 100_000) + "]",
        ' . "b" . '.join(["'a'"] * 100_000) + " = 1",
        "a = " + "1" * 5000,
        "a = " + "1" * (DIGITS + 1),
        "a = '" + "\ud800" + "'",
        "a = 1\na = 2",
    ],
)
def test_toml_without_bound_is_one_line(text: str) -> None:
    with pytest.raises(FileError, match=r"^f\.toml: not valid TOML: ") as caught:
        parse_toml(text, "f.toml")
    assert "\n" not in str(caught.value)


def test_toml_with_many_brackets_and_dots_is_read() -> None:
    many: dict[str, Any] = {"a": [0.5] * 100, "b": "." * 100, "c": [[1]] * 100, "d": "[" * 100}
    lines = [f"{key} = {value!r}" for key, value in many.items()]
    lines += ["# " + "." * 100 + "[" * 100, "e = '''" + ".[\n'" * 100 + "'''", 'f = """' + '.["\n' * 100 + '"""']
    many["g"] = [{"path": "../" * 33, "x": 0.5}] * 3  # also after commas and inside of tables
    lines.append("g = [" + ", ".join(["{path = '" + "../" * 33 + "', x = 0.5}"] * 3) + "]")
    assert parse_toml("\n".join(lines), "f") == {**many, "e": ".[\n'" * 100, "f": '.["\n' * 100}
