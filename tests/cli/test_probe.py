"""`regard probe` on tiny trained models: the table, JSON, the page, the Python API, and what is refused."""

import json
import re
import shutil
from pathlib import Path

import pytest

import regard
from cli.conftest import SMALL
from regard.explain.failures.checks import CHECKS
from regard.explain.failures.findings import FailureAnalysis

FEW = ("--most", "12", "--beam", "1")
KEYS = {
    "format",
    "model",
    "task",
    "languages",
    "engine",
    "test_set",
    "sentences",
    "training_text",
    "settings",
    "findings",
}


@pytest.fixture(scope="module")
def writer_run(command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bigram model of a few hundred lines."""
    home = tmp_path_factory.mktemp("writer")
    names = ("Anna", "Ben", "Carl", "Dora")
    lines = [
        f"{names[n % 4]} saw the {('dog', 'cat', 'bird')[n % 3]} near the {('lake', 'hill')[n % 2]}."
        for n in range(120)
    ]
    (home / "book.en").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sets = ("data.documents=line", "model.kind=markov", "text.kind=word", "data.tgt_lang=en")
    options = [part for one in sets for part in ("--set", one)]
    result = command("train", "--task", "generate", "--text", home / "book.en", "--out", home / "run", *options)
    assert result.code == 0, result.err
    return home / "run"


def complaint(result) -> str:
    """The one line of a refusal."""
    assert (result.code, result.out) == (2, "")
    [line] = result.err.splitlines()
    return str(line)


def test_a_trained_translator(command, small_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    told = command("probe", small_run, *FEW, "--out", page)
    assert told.code == 0, told.err
    rows = [line.split()[0] for line in told.out.splitlines()[3:] if line and not line.startswith(" ")]
    assert rows[:-1] == list(CHECKS)  # the last line counts them
    assert told.err == f"written: {page}\n"
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', html) == []
    record = json.loads(command("probe", small_run, *FEW, "--json").out)
    assert set(record) == KEYS
    assert [one["check"] for one in record["findings"]] == list(CHECKS)
    assert (record["task"], record["languages"], record["sentences"]) == ("translate", ["fr", "en"], 12)
    assert record["training_text"].startswith("the pocket corpus")
    left_out = {one["check"] for one in record["findings"] if one["status"] == "left out"}
    assert left_out <= {"perturbed", "dullness", "numbers_names", "hallucination"}  # it may say nothing at all
    assert json.dumps(record, sort_keys=True) == json.dumps(  # the seed decides everything
        json.loads(command("probe", small_run, *FEW, "--json").out), sort_keys=True
    )


def test_files_of_the_users_own(command, small_run: Path, tmp_path: Path) -> None:
    lines = {
        "a.fr": ["le chat dort", "la vache mange", "il lit un livre", "elle est étudiante", "Paul a 2 chats"],
        "a.en": ["the cat sleeps", "the cow eats", "he reads a book", "she is a student", "Paul has 2 cats"],
        "other.fr": ["le patient doit prendre ce médicament"],
        "own.tsv": ["Le {} dort.\t-\the|his\tshe|her\tmédecin:m|soldat:m"],
    }
    for name, content in lines.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    files = {name: tmp_path / name for name in lines}
    result = command(
        *("probe", small_run, "--src", files["a.fr"], "--ref", files["a.en"], "--json", "--beam", "1"),
        *("--train-src", files["a.fr"], "--train-tgt", files["a.en"], "--other", files["other.fr"]),
        *("--templates", files["own.tsv"], "--out", tmp_path / "data.json"),
    )
    assert result.code == 0, result.err
    record = json.loads(result.out)
    assert json.loads((tmp_path / "data.json").read_text(encoding="utf-8")) == record
    assert (record["sentences"], record["test_set"]) == (5, str(files["a.fr"]))
    findings = {one["check"]: one for one in record["findings"]}
    assert [row[0] for row in findings["gender"]["tables"][0]["rows"]] == ["médecin", "soldat"]
    assert "told_apart_other_domain" in {one["name"] for one in findings["out_of_domain"]["numbers"]}
    kept = {one["name"]: one["count"] for one in findings["numbers_names"]["numbers"]}
    assert kept == {"numbers_kept": 1, "names_kept": 0}  # Paul is the first word


def test_a_language_model(command, writer_run: Path) -> None:
    record = json.loads(command("probe", writer_run, "--most", "10", "--json").out)
    assert (record["task"], record["languages"], record["engine"]) == ("generate", [None, "en"], "torch")
    statuses = {one["check"]: one["status"] for one in record["findings"]}
    applies = {check for check, status in statuses.items() if status != "left out"}
    assert applies >= {"gender", "repetition", "memorised", "perturbed"}
    assert statuses["copying"] == statuses["hallucination"] == "left out"
    assert all(one["verdict"] for one in record["findings"])


def test_python(small_run: Path, tmp_path: Path) -> None:
    analysis = regard.probe(small_run, checks=["copying", "length"], most=8, beam=1)
    assert isinstance(analysis, FailureAnalysis)
    assert [one.check for one in analysis.findings] == ["copying", "length"]
    analysis.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    again = regard.probe(regard.load(small_run), checks=["length", "copying"], most=8, beam=1)
    assert again.findings == analysis.findings
    given = regard.probe(regard.load(small_run), src=["le chat"], ref=["the cat"], checks=["copying"], beam=1)
    assert (given.sentences, given.test_set) == (1, "the given sentences")
    with pytest.raises(KeyError, match="no number 'none'"):
        given.findings[0].number("none")


def test_both_engines_find_the_same(small_run: Path) -> None:
    chosen = {"checks": ["copying", "repetition", "hallucination", "length"], "most": 12, "beam": 1}
    fast, slow = (regard.probe(small_run, engine=engine, **chosen) for engine in ("ct2", "torch"))
    assert (fast.engine, slow.engine) == ("CTranslate2", "torch")
    for one, other in zip(fast.findings, slow.findings, strict=True):
        assert (one.check, one.status, one.examples) == (other.check, other.status, other.examples)
        values = [[number.value or 0.0 for number in finding.numbers] for finding in (one, other)]
        assert values[0] == pytest.approx(values[1], abs=1e-3)


@pytest.mark.slow
def test_a_model_of_two_directions(command, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    result = command("train", "--out", tmp_path / "run", *SMALL, "--set", "data.both=true")
    assert result.code == 0, result.err
    assert "--to" in complaint(command("probe", tmp_path / "run", *FEW))
    records = {
        to: json.loads(command("probe", tmp_path / "run", *FEW, "--to", to, "--json").out) for to in ("en", "fr")
    }
    assert [records[to]["languages"] for to in ("en", "fr")] == [["fr", "en"], ["en", "fr"]]
    first = {to: record["findings"][0]["tables"][0]["rows"][0][0] for to, record in records.items()}
    assert first == {"en": "étudiant", "fr": "doctor"}  # the words of the pocket corpus are for French
    assert records["fr"]["findings"][0]["examples"][0]["source"].startswith("The ")


def test_what_is_refused(command, small_run: Path, writer_run: Path, tmp_path: Path) -> None:
    for name, text in (("a", "x\n"), ("b", "x\ny\n"), ("blank", "\n\n"), ("no", "The doctor sleeps.\t-\this\ther\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    a, b, blank, no = (tmp_path / name for name in ("a", "b", "blank", "no"))
    refusals = {
        ("--checks", "gender,bias"): "--checks bias: no such check; choose from gender, copying, ",
        ("--checks", ","): "--checks: a name is empty; choose from gender, copying, ",
        ("--checks", ""): "or leave --checks out",
        ("--checks", "dullness"): "--checks dullness: it is about what a language model writes; leave it out",
        ("--src", a): "--src and --ref go together",
        ("--src", a, "--ref", b): "1 lines",
        ("--src", blank, "--ref", blank): "blank: no sentences to probe with",
        ("--templates", no): "no:1: 'The doctor sleeps.' has no slot",
        ("--text", a): "--text: a translator has sources and references",
        ("--train-src", a): "--train-src and --train-tgt go together",
        ("--other", blank): "no sentences of another domain",
        ("--out", tmp_path / "report.pdf"): "written as .html or .json",
        ("--src", tmp_path / "none", "--ref", a): "none",
        ("--src", "-", "--ref", a, "--other", "-"): "can be read only once",
    }
    for options, message in refusals.items():
        assert message in complaint(command("probe", small_run, *options)), options
    assert "a language model has no source; give --text F" in complaint(
        command("probe", writer_run, "--src", a, "--ref", a)
    )
    assert "--checks copying: a language model has no source" in complaint(
        command("probe", writer_run, "--checks", "copying")
    )


def test_a_bundle_without_a_run_needs_a_test_set(command, small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(next((small_run / "checkpoints").iterdir()), tmp_path / "bundle")
    assert "not a run that has a test set; give --src FILE and --ref FILE" in complaint(
        command("probe", tmp_path / "bundle")
    )


def test_models_of_other_tasks_are_refused(command) -> None:
    bag = Path(__file__).parents[1] / "format1/classify-bag"
    assert "its task is to classify; only translators and language models are probed" in complaint(
        command("probe", bag)
    )
    with pytest.raises(regard.errors.InputTypeError, match="cannot probe an object of type Classifier"):
        regard.probe(regard.load(bag))


def test_training_text_that_is_gone(command, writer_run: Path, tmp_path: Path) -> None:
    shutil.copytree(writer_run.parent, tmp_path / "moved")
    config = tmp_path / "moved/run/config.json"
    config.write_text(config.read_text(encoding="utf-8").replace("book.en", "gone.en"), encoding="utf-8")
    assert "the text of the run is not there; give --text FILE" in complaint(command("probe", tmp_path / "moved/run"))
    text = tmp_path / "moved/book.en"
    record = json.loads(command("probe", tmp_path / "moved/run", "--text", text, "--most", "5", "--json").out)
    assert record["training_text"].startswith("not there any more")
    [memorised] = [one for one in record["findings"] if one["check"] == "memorised"]
    assert (memorised["status"], "the training text is needed" in memorised["verdict"]) == ("left out", True)
