"""`regard data convert` and `regard data clean` as a user runs them, and a parquet file as a corpus to train on."""

import gzip
import json
import zipfile
from inspect import signature
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from regard.cli.clean import clean
from regard.data.filters import FILTERS, CleanSettings
from regard.data.pocket.corpus import pocket_split

TINY = ["--set", "text.kind=char", "--set", "model.layers=1", "--set", "model.width=16", "--set", "model.heads=2"]
TINY += ["--set", "train.max_steps=2", "--set", "train.batch_tokens=256"]


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    split = pocket_split(train=400, valid=1, test=1, seed=1).train
    return list(dict.fromkeys((pair.french, pair.english) for pair in split))


@pytest.fixture
def corpus(tmp_path: Path, pairs: list[tuple[str, str]]) -> Path:
    for side, name in enumerate(("a.fr", "a.en")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return tmp_path


def test_a_corpus_goes_through_every_format_and_comes_back(command, corpus: Path) -> None:
    languages = ("--src-lang", "fr", "--tgt-lang", "en")
    names = [["a.fr", "a.en"], ["b.parquet"], ["c.tmx.gz"], ["d.jsonl"], ["e.zip"], ["f.tsv"], ["g.fr.gz", "g.en.gz"]]
    for source, output in pairwise(names):
        result = command("data", "convert", *(corpus / name for name in [*source, *output]), *languages)
        assert (result.code, result.out) == (0, ""), result.err
        assert result.err.endswith(" pairs (fr-en)\n")
    for name in ("fr", "en"):
        assert gzip.decompress((corpus / f"g.{name}.gz").read_bytes()) == (corpus / f"a.{name}").read_bytes()


def test_standard_input_and_output(command, corpus: Path) -> None:
    result = command("data", "convert", corpus / "a.fr", corpus / "a.en", "-")
    assert result.err.startswith("stdout: ")
    again = command("data", "convert", "-", corpus / "o.fr", corpus / "o.en", stdin=result.out)
    assert again.code == 0, again.err
    assert (corpus / "o.en").read_bytes() == (corpus / "a.en").read_bytes()
    result = command("data", "convert", "-", "-", "--to", "jsonl", stdin="un\tone\n")
    assert result.out == '{"source": "un", "target": "one"}\n'
    result = command("data", "convert", "-", "-", "--from", "jsonl", stdin='{"source": "a\\tb", "target": "c\\nd"}')
    assert result.out == "a b\tc d\n"
    assert result.err == "stdout: 1 pair; 2 sentences changed: what tsv cannot hold\n"


def test_bad_input_is_one_line_and_leaves_nothing(command, corpus: Path) -> None:
    (corpus / "bad.tsv").write_bytes(b"a\tb\nc\xff\td\n")
    (corpus / "short.en").write_bytes(b"one\n")
    for arguments, message in (
        (("bad.tsv", "o.jsonl"), r"bad.tsv:2: not UTF-8 (byte 0xff at column 2)"),
        (("a.fr", "bad.tsv"), "say what it is: --from moses|tsv|jsonl"),
        (("a.fr", "short.en", "o.tsv"), "line n of one must translate line n of the other"),
        (("bad.tsv", "a.fr", "--to", "tsv"), "a.fr: it is there already"),
        (("bad.tsv", "bad.tsv"), "that is what is read"),
    ):
        paths = [
            part if part.startswith("--") or part in ("moses", "tsv") else str(corpus / part) for part in arguments
        ]
        before = sorted(corpus.iterdir())
        result = command("data", "convert", *paths)
        assert result.code == 2
        [line] = result.err.splitlines()
        assert message in line
        assert sorted(corpus.iterdir()) == before


@pytest.mark.parametrize("columns", ["translation", "source and target"])
def test_a_parquet_file_and_a_zip_file_are_trained_on(
    columns: str, command, corpus: Path, pairs: list[tuple[str, str]]
) -> None:
    table = pa.table({"source": [source for source, _ in pairs], "target": [target for _, target in pairs]})
    if columns == "translation":
        table = pa.table({"translation": [{"fr": source, "en": target} for source, target in pairs]})
    pq.write_table(table, corpus / "a.parquet")
    with zipfile.ZipFile(corpus / "a.zip", "w") as archive:
        for name in ("fr", "en"):
            archive.write(corpus / f"a.{name}", f"Pocket.fr-en.{name}")
    weights = []
    for name in ("a.parquet", "a.zip"):
        languages = ("--src-lang", "fr", "--tgt-lang", "en")
        checked = command("data", "check", "--pairs", corpus / name, *languages)
        assert checked.code == 0, checked.err
        assert checked.out.startswith(f"pairs               {len(pairs)} (")
        result = command("train", "--pairs", corpus / name, *languages, "--out", corpus / f"run-{name}", *TINY)
        assert result.code == 0, result.err
        [bundle] = (corpus / f"run-{name}" / "checkpoints").glob("step-*2")
        weights.append((bundle / "model.safetensors").read_bytes())
    assert weights[0] == weights[1]


def test_cleaning_writes_a_table_or_json(command, corpus: Path) -> None:
    with (corpus / "a.fr").open("a", encoding="utf-8") as file:
        file.write("le chat<br>dort\n")
    with (corpus / "a.en").open("a", encoding="utf-8") as file:
        file.write("the cat sleeps\n")
    files = corpus / "a.fr", corpus / "a.en"
    counted = command("data", "clean", *files, "--dry-run", "--json")
    summary = json.loads(counted.out)
    assert summary["dropped"]["html"] == 1
    assert not list(corpus.glob("out*"))
    result = command("data", "clean", *files, "--out", corpus / "out", "--to", "tsv")
    assert result.code == 0, result.err
    assert json.loads((corpus / "out" / "summary.json").read_text(encoding="utf-8")) == summary
    rows = {line.split()[0]: line.split()[1] for line in result.out.splitlines()[1:]}
    assert rows["html"] == "1"
    assert rows["kept"] == f"{summary['kept']:,}"
    assert "dropped.tsv" in result.err
    again = command("data", "clean", *files, "--out", corpus / "out")
    assert again.code == 2
    assert "it is there already" in again.err
    without = command("data", "clean", *files, "--dry-run", "--json", "--without", "html", "--without", "language")
    assert not {"html", "language"} & json.loads(without.out)["dropped"].keys()


def test_the_flags_have_the_names_and_defaults_of_the_settings(command) -> None:
    flags = signature(clean).parameters
    for name, field in CleanSettings.model_fields.items():
        assert (flags[name].default or field.default) == field.default, name
    unknown = command("data", "clean", "x.tsv", "--dry-run", "--without", "nothing")
    assert ", ".join([*FILTERS][1:]) in unknown.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gain", "3"], "--gain 3: only a model has it; give --model DIR too"),
        (["--model", "m", "--without", "model"], "--model m: --without model leaves it out"),
        (["--misaligned", "--without", "misaligned"], "--misaligned: --without misaligned leaves it out"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(options: list[str], message: str, command, corpus: Path) -> None:
    result = command("data", "clean", corpus / "a.fr", corpus / "a.en", "--dry-run", *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_a_translator_judges_pairs(command, corpus: Path, small_run: Path) -> None:
    result = command(
        "data",
        "clean",
        corpus / "a.fr",
        corpus / "a.en",
        "--out",
        corpus / "out",
        "--model",
        small_run,
        "--gain",
        "100",
    )
    assert result.code == 0, result.err
    lines = [line.split("\t") for line in (corpus / "out" / "dropped.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    judged = [line for line in lines if line[1] == "model"]
    assert judged
    assert all(float(line[2]) < 100 for line in judged)
    assert (corpus / "out" / "clean.en").read_text(encoding="utf-8") == ""
