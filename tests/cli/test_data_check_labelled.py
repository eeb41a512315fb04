"""`regard data check --data`: the report of labelled text on the command line."""

import json
from pathlib import Path

from regard.data.labelled_check import check_labelled


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_command(command, tmp_path: Path) -> None:
    path = write(tmp_path / "a.tsv", "a fine film\tgood", "a dull film\tbad")
    told = command("data", "check", "--data", path)
    assert (told.code, told.out) == (0, f"{check_labelled(path).to_text()}\n")
    record = json.loads(command("data", "check", "--data", path, "--json").out)
    assert record == check_labelled(path).to_dict()
    assert (record["fits"], record["usable"]) == ("bag", True)
    assert command("data", "check", "--data", write(tmp_path / "b.tsv", "x")).code == 2
    wrong = command("data", "check", "--data", path, "--src", path, "--tgt", path)
    assert (wrong.code, wrong.out) == (2, "")
    assert "labelled text has no pairs" in wrong.err
    twice = command("data", "check", "--data", "-", "--data", "-", stdin="a\tb\n")
    assert "can be read only once" in twice.err
