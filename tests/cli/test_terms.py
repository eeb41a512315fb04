"""`regard translate --protect` and `--glossary`: what is printed, what is refused, and going on with a file."""

import json
from pathlib import Path

import pytest

from cli.test_bad_input import complaint

LINES = "le chat de {name} dort\nje suis étudiant\n\nle chien voit https://x.org/a.\n"


def test_strings_and_terms_in_lines_and_json(command, small_run, tmp_path: Path) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text("# pets\nchat\tcat|cats\nchien\tdog\n", encoding="utf-8")
    flags = ["--protect", "default", "--glossary", glossary, "--beam", "2"]
    lines = command("translate", small_run, *flags, stdin=LINES)
    assert lines.code == 0
    rows = lines.out.splitlines()
    assert [row.count("{name}") for row in rows] == [1, 0, 0, 0]
    assert [row.count("https://x.org/a") for row in rows] == [0, 0, 0, 1]
    records = [
        json.loads(line) for line in command("translate", small_run, *flags, "--json", stdin=LINES).out.splitlines()
    ]
    assert [record["translation"] for record in records] == rows
    assert [[part["text"] for part in record["protected"]] for record in records] == [
        ["{name}"],
        [],
        [],
        ["https://x.org/a"],
    ]
    for record in records:
        assert all(record["translation"][part["start"] : part["end"]] == part["text"] for part in record["protected"])
    [term] = records[0]["terms"]
    assert (term["source"], term["targets"], term["line"]) == ("chat", ["cat", "cats"], 2)
    assert term["said"] in ("cat", "cats", "Cat", "Cats")
    plain = command("translate", small_run, "--beam", "2", stdin=LINES).out.splitlines()
    assert rows[1:3] == plain[1:3]  # what has neither is as without the flags


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--protect", "(a"], "not a regular expression"),
        (["--protect", ""], "matches nothing"),
        (["--glossary", "none.tsv"], "no such file"),
        (["--glossary", "-"], "give a file"),
    ],
)
def test_what_is_refused(command, small_run, flags: list[str], message: str) -> None:
    assert message in complaint(command("translate", small_run, *flags, stdin="je\n"))


def test_a_wrong_line_of_a_glossary_is_named(command, small_run, tmp_path: Path) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_bytes(b"chat\tcat\nchien dog\n")
    assert f"{glossary}:2: no tab" in complaint(command("translate", small_run, "--glossary", glossary, stdin="je\n"))
