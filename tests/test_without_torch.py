"""The base install: torch is not there. What serves a translator works; every other verb says in one line what to install."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.main import app
from regard.extras import EXTRA_OF, missing_module
from regard.tasks.load import load_translator
from tasks.bundles import SPLIT, random_bundle

pytest.importorskip("ctranslate2")

RUNS = Path(__file__).parent / "format1"
COMMAND = 'pip install "regard[train]"'
BLOCKED = "import sys; sys.modules['torch'] = sys.modules['jaxtyping'] = None; "
WITHOUT = f"{BLOCKED}sys.argv = ['regard', *sys.argv[1:]]; from regard.cli.main import run; run()"
"""A program that is `regard` without torch."""
VERBS = f"""{BLOCKED}
import io, json, os
from contextlib import redirect_stderr, redirect_stdout
from regard.cli.main import run
results = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["regard", *arguments]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            run()
        except SystemExit as ended:
            code = ended.code
    out.flush()
    results.append([code, out.buffer.getvalue().decode("utf-8"), err.getvalue()])
print(json.dumps(results))
"""
WORKS = [
    "translate BUNDLE -i a.fr",
    "translate BUNDLE -i a.fr --beam 3 --nbest 2",
    "translate BUNDLE -i a.fr --precision int8",
    "translate BUNDLE -i a.fr --beam 3 --time-limit 9",
    "translate RUNS/translate-transformer -i a.fr",
    "score BUNDLE --src a.fr --tgt a.en",
    "evaluate BUNDLE --src a.fr --ref a.en",
    "evaluate --hyp a.en --ref a.en",
    "probe BUNDLE --src a.fr --ref a.en --beam 1 --out page.html",
    "shortlist BUNDLE --src a.fr --tgt a.en",
    "translate BUNDLE -i a.fr --shortlist",
    "precision BUNDLE --src a.fr --ref a.en",
    "translate BUNDLE -i a.fr --precision auto",
    "translate BUNDLE -i a.fr --align",
    "translate BUNDLE -i marked.html --format auto",
    "evaluate BUNDLE --src a.fr --ref a.en --gold-align gold",
    "align BUNDLE --src a.fr --tgt a.en",
    "info BUNDLE",
    "ls RUNS",
    "compare RUNS/translate-transformer RUNS/translate-recurrent",
    "init",
    "data check --src a.fr --tgt a.en",
    "data check --data labelled.tsv",
    "data convert a.fr a.en pairs.tsv",
    "data clean a.fr a.en --out cleaned",
    "resume RUNS/translate-transformer",
    "sweep --set data.pocket=60 --set model.norm=pre,post --out cells --dry-run",
    "improve RUNS/translate-transformer --out made --dry-run",
]
NEEDS = [
    "demo --out made",
    "train --out made",
    "sweep --set data.pocket=60 --out made",
    "improve RUNS/translate-transformer --out made",
    "generate RUNS/generate-markov",
    "generate RUNS/generate-transformer",
    "classify RUNS/classify-bag -i a.fr",
    "classify RUNS/tag-recurrent -i a.fr",
    "score RUNS/generate-recurrent --text a.en",
    "evaluate RUNS/classify-transformer --data labelled.tsv",
    "evaluate RUNS/generate-transformer --text a.en",
    "align BUNDLE --src a.fr --tgt a.en --method norm",
    "explain BUNDLE x",
    "explain RUNS/classify-bag x",
    "translate BUNDLE -i a.fr --align --align-method norm",
    "translate BUNDLE -i marked.html --format html --align-method zeroing",
    "translate BUNDLE -i a.fr --sample",
    "translate BUNDLE -i a.fr --with-prefix",
    "translate BUNDLE -i a.fr --engine torch",
    "translate BUNDLE -i a.fr --ensemble BUNDLE",
    "translate BUNDLE -i a.fr --device cuda",
    "translate RUNS/translate-recurrent -i a.fr",
    "report RUNS/translate-transformer",
    "probe RUNS/generate-markov --text a.en",
    "export BUNDLE made --to hf",
    "export BUNDLE made --to onnx",
    "quantize BUNDLE made --src a.fr --ref a.en",
    "merge BUNDLE made",
    "import BUNDLE made",
    "push BUNDLE owner/name",
    "pull owner/name made",
]
ELSEWHERE = {"caption", "fill", "forecast", "serve", "studio"}
"""Bundles of the first three cannot be made quickly; what loads them is what loads a classifier. Servers do not end: `tests/serve/`."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, and two files of pairs."""
    home = tmp_path_factory.mktemp("base")
    random_bundle(home / "BUNDLE")
    random_bundle(home / "DEEP", decoder_layers=2)  # aligned by the mean of all layers, which CTranslate2 does not show
    for name, lines in (
        ("a.fr", [pair.french for pair in SPLIT.test[:9]]),
        ("a.en", [pair.english for pair in SPLIT.test[:9]]),
        ("labelled.tsv", ["a fine film\tgood", "a dull film\tbad"]),
        ("gold", ["0-0"] * 9),
        ("marked.html", ["<p>Le <b>chat</b> noir dort.</p>"]),
    ):
        (home / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return home


def without_torch(commands: list[str], home: Path) -> list[tuple[int, str, str]]:
    """(exit code, stdout, stderr) of each command, in a process that cannot import torch."""
    arguments = [line.replace("RUNS", str(RUNS)).split() for line in commands]
    result = subprocess.run(
        [sys.executable, "-c", VERBS, json.dumps(arguments)], cwd=home, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return [(code, out, err) for code, out, err in json.loads(result.stdout)]


def test_what_works(home: Path) -> None:
    for command, (code, out, err) in zip(WORKS, without_torch(WORKS, home), strict=True):
        assert code == 0, f"{command}: {err}"
        assert out or command.split()[0] in ("resume", "shortlist", "data"), command
        assert "torch" not in err, command


def test_what_needs_torch_says_so_in_one_line(home: Path) -> None:
    for command, (code, out, err) in zip(NEEDS, without_torch(NEEDS, home), strict=True):
        assert (code, out) == (2, ""), f"{command}: {err}"
        [line] = err.splitlines()
        assert line.startswith("regard: "), command
        assert line.endswith(f" needs torch, which is not installed; {COMMAND}"), command
        assert not (home / "made").exists(), command


def test_every_verb_is_among_them() -> None:
    verbs = {command.split()[0] for command in WORKS + NEEDS}
    assert {command.name for command in app.registered_commands} == verbs - {"data"} | ELSEWHERE


def test_json_with_the_alignment_of_one_layer(home: Path) -> None:
    [(code, out, err)] = without_torch(["translate BUNDLE -i a.fr --json"], home)
    assert (code, err) == (0, "")
    translator = load_translator(home / "BUNDLE", engine="torch")
    lines = (home / "a.fr").read_text(encoding="utf-8").splitlines()
    links = [[list(link) for link in one.alignment] for one in translator.translate(lines)]
    assert [json.loads(line)["alignment"] for line in out.splitlines()] == links


def test_json_without_alignment(home: Path) -> None:
    [(code, out, err)] = without_torch(["translate DEEP -i a.fr --json"], home)
    assert code == 0
    assert err == f"note: alignment is null: word alignment needs torch, which is not installed; {COMMAND}\n"
    records = [json.loads(line) for line in out.splitlines()]
    assert len(records) == 9
    assert all(record["alignment"] is None and record["logprob"] < 0 for record in records)


def test_perplexity_is_that_of_torch(home: Path) -> None:
    [(_, out, _), (_, scores, _)] = without_torch(
        ["evaluate BUNDLE --src a.fr --ref a.en --json", "score BUNDLE --src a.fr --tgt a.en --json"], home
    )
    sources, targets = ((home / name).read_text(encoding="utf-8").splitlines() for name in ("a.fr", "a.en"))
    expected = load_translator(home / "BUNDLE", engine="torch").score(sources, targets)
    tokens = sum(len(score.token_logprobs) for score in expected)
    perplexity = math.exp(-sum(score.logprob for score in expected) / tokens)
    assert json.loads(out)["perplexity"] == pytest.approx(perplexity, rel=1e-4)
    for line, score in zip(scores.splitlines(), expected, strict=True):
        assert json.loads(line)["token_logprobs"] == pytest.approx(score.token_logprobs, abs=1e-4)


def test_the_python_api(home: Path) -> None:
    program = f"""{BLOCKED}
import regard
from regard.errors import RegardError
from regard.search.options import SearchOptions
translator = regard.load("BUNDLE")
[first, _] = translator.translate(["je suis étudiant", "tu es professeur"], beam=2)
assert isinstance(first.text, str)
assert first.alignment and translator.align(["je suis"], ["I am"])[0].links
assert translator.score(["je suis"], ["I am"])[0].logprob < 0
deep = regard.load("DEEP")
for refused in (
    lambda: regard.load({str(RUNS / "classify-bag")!r}),
    lambda: regard.load({str(RUNS / "translate-recurrent")!r}),
    lambda: regard.train({{"data": {{"pocket": 60}}}}, out="made"),
    lambda: regard.load_ensemble(["BUNDLE", "BUNDLE"]),
    lambda: regard.export("BUNDLE", "made", "hf"),
    lambda: regard.import_model("BUNDLE", "made"),
    lambda: deep.translate(["je suis"])[0].alignment,
    lambda: deep.align(["je suis"], ["I am"]),
    lambda: translator.explain("je suis"),
    lambda: translator.translate(["je suis"], sample=True),
    lambda: translator.translate(["je suis"], prefixes=["I"]),
    lambda: translator.watch("je suis", lambda step: None, SearchOptions()),
):
    try:
        refused()
    except RegardError as error:
        assert str(error).endswith({COMMAND!r}), error
    else:
        raise AssertionError("it was not refused")
"""
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=home, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("error", "module"),
    [
        (ModuleNotFoundError("No module named 'gone'", name="gone"), "gone"),
        (ModuleNotFoundError("No module named 'gone.part'", name="gone.part"), "gone"),
        (ModuleNotFoundError("No module named 'torch.part'", name="torch.part"), None),  # torch is there, and broken
        (ModuleNotFoundError("No module named 'other'", name="other"), None),
        (ImportError("libgomp.so.1: cannot open shared object file", name="gone"), None),
        (ValueError("gone"), None),
    ],
)
def test_only_a_missing_package_of_an_extra_is_one(
    error: Exception, module: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EXTRA_OF, "gone", "train")
    assert missing_module(error) == module
