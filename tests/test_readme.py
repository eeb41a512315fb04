"""The commands of the README, and those of docs/*.md that are marked `test: NAME` and need files of their own, run as they stand.

Only budgets are made smaller, and the files they name are made first. `test_docs.py` runs the other commands of docs/*.md.
"""

import json
import sys
from pathlib import Path

import pytest

from documented import POCKET, ROOT, SMALL, blocks, shell, shells, write_pairs
from picture_files import write_folder
from regard.data.pictures import encoded_png
from regard.data.scenes.corpus import scene

PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("training", "using", "tasks", "runs", "improve")),
    *(ROOT / "docs" / f"{name}.md" for name in ("vision", "captioning", "forecasting", "pretraining", "models")),
]
FENCED = [block for page in PAGES for block in blocks(page)]
BLOCKS = {block.mark.removeprefix("test: "): block.text for block in FENCED if block.mark.startswith("test: ")}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as a reader of the README has it: some files, and a trained runs/demo."""
    home = tmp_path_factory.mktemp("readme")
    write_pairs(home, "en", "de")
    for name in ("fr.txt", "en.txt"):
        (home / name).write_text("je suis étudiant\nil dort\n", encoding="utf-8")
    shell(f"regard train --out runs/demo {POCKET} {SMALL}", home)
    return home


def test_every_block_of_commands_is_tested() -> None:
    unmarked = [block for block in FENCED if block.language in ("sh", "python") and not block.mark]
    assert [block.text for block in unmarked if block.page == "README.md"] == [BLOCK_OF_MAKE]
    assert [block for block in unmarked if block.language == "python"] == []  # test_docs.py runs shell commands only


BLOCK_OF_MAKE = """\
make demo    # creates .venv, installs, trains a French-English translator in three to four minutes, writes a report
make test    # the same set-up, then the whole test suite
"""


@pytest.mark.slow
def test_own_data(home: Path) -> None:
    """In order and as one test: each line needs what those before it made."""
    for line in BLOCKS["own-data"].strip().split("\n"):
        shell(line.replace("--minutes 20", SMALL), home)


@pytest.mark.slow
def test_further(home: Path) -> None:
    for language in ("en", "de"):
        (home / f"more.{language}").write_bytes((home / f"test.{language}").read_bytes() * 3)
    command = (
        BLOCKS["further"].strip().replace("runs/en-de", "runs/demo").replace("--minutes 5", "--set train.max_steps=2")
    )
    shell(command, home)
    demo, more = (json.loads(shell(f"regard info runs/{name} --json", home)) for name in ("demo", "more"))
    assert (more["vocabulary"], more["model"]) == (demo["vocabulary"], demo["model"])


@pytest.mark.slow
def test_improving(home: Path) -> None:
    """One model of a few steps writes nothing that the filters would keep, so they are left out."""
    lenient = "--without unfinished --without repetition --without ratio --without copy --no-language-check"
    for name, words in (("more", 1), ("talks", 2)):
        for language in ("en", "de"):
            lines = (home / f"test.{language}").read_text(encoding="utf-8").splitlines()
            text = "".join(f"{' '.join(line.split()[:-words] or [line])}\n" for line in lines)
            (home / f"{name}.{language}").write_text(text, encoding="utf-8")
    train, plan, *others = BLOCKS["improving"].strip().split("\n")
    shell(train.replace("--minutes 20", SMALL), home)
    assert "round-1/improved" in shell(f"{plan} {lenient} --beam 1", home)
    own, more = (shell(f"{line} {lenient} --beam 1", home) for line in others)
    assert "validation: round-1/improved" in own
    assert "other: round-1/improved" in more
    assert BLOCKS["adding"].strip() == others[0]
    python = BLOCKS["improving-python"].replace('"runs/improved")', f'"runs/improved", {PYTHON_OPTIONS})')
    (home / "improving.py").write_text(python, encoding="utf-8")
    assert "BLEU" in shell("python improving.py", home)


PYTHON_OPTIONS = (
    'beam=1, language_check=False, without=["unfinished", "repetition", "ratio", "copy"]'  # those of the command
)


@pytest.mark.slow
def test_using(home: Path) -> None:
    lines = shells(BLOCKS["using"], home)
    assert lines[1].count(" ||| ") == 9
    assert "\t" in lines[2]
    assert len(lines[4].split()) == 2
    assert "model.safetensors" in lines[6]


def test_first_things(home: Path) -> None:
    """The blocks of the README that use runs/demo."""
    translated, nbest = shells(BLOCKS["translate"], home)
    assert translated.strip()
    assert nbest.count(" ||| ") == 6
    told, page = shells(BLOCKS["explain"], home)
    assert "log-probability" in told
    assert page == "page.html\n"
    assert (home / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_own_text() -> None:
    """The README's commands are among those of docs/training.md, which `test_own_data` runs."""
    assert set(BLOCKS["own-text"].splitlines()) <= set(BLOCKS["own-data"].splitlines())


@pytest.mark.slow
def test_other_tasks(home: Path) -> None:
    (home / "book.txt").write_text("It was the best of times,\nit was the worst of times.\n" * 9, encoding="utf-8")
    (home / "reviews.tsv").write_text("a fine film\tgood\na dull film\tbad\n" * 10, encoding="utf-8")
    generate, classify, use = BLOCKS["other-tasks"].strip().split("\n")
    shells("\n".join(line.replace("runs/", "runs/first-") for line in (generate, classify)), home)
    assert shell(use.replace("runs/", "runs/first-"), home).strip() in ("good", "bad")


@pytest.mark.slow
def test_variants(home: Path) -> None:
    sweep, compare = (line.replace("runs/norms", "runs/variants") for line in BLOCKS["variants"].strip().split("\n"))
    shell(f"{sweep.replace('--minutes 3', '').replace('--seeds 3', '--seeds 1')} {POCKET} {SMALL}", home)
    assert "norm=post" in shell(compare, home)


@pytest.mark.parametrize(
    "name", ["python", *(pytest.param(name, marks=pytest.mark.slow) for name in ("api", "api-train"))]
)
def test_api(name: str, home: Path) -> None:
    (home / f"{name}.py").write_text(BLOCKS[name], encoding="utf-8")
    out = shell(f"python {name}.py", home)
    assert out.strip()


@pytest.mark.slow
def test_settings(home: Path) -> None:
    for line in BLOCKS["settings"].strip().split("\n"):
        shell(f"{line} {POCKET} {SMALL}" if line.startswith("regard train") else line, home)


@pytest.mark.slow
def test_generating(home: Path) -> None:
    for name in ("book", "other"):
        (home / f"{name}.txt").write_text(
            "It was the best of times,\nit was the worst of times.\n" * 9, encoding="utf-8"
        )
    train, generate, evaluate, count, score = BLOCKS["generating"].strip().split("\n")
    shell(train.replace("--minutes 15", SMALL), home)
    written, evaluated, _ = shells("\n".join([generate, evaluate, count]), home)
    assert written.count("It was") >= 2
    assert "perplexity_word" in evaluated
    assert len(shell(score, home).split()) == 18


@pytest.mark.slow
def test_pretraining(home: Path) -> None:
    for name in ("captions.en", "other.en"):
        (home / name).write_text("Two men are playing in the park.\nA man in a red shirt runs.\n" * 9, encoding="utf-8")
    train, fill, evaluate = BLOCKS["pretraining"].strip().split("\n")
    shell(train.replace("--preset tiny --minutes 1", SMALL), home)
    filled, evaluated = shells("\n".join([fill, evaluate]), home)
    assert filled.count("\n") == 2
    assert "accuracy" in evaluated


@pytest.mark.slow
def test_a_text_is_continued(home: Path) -> None:
    (home / "book.txt").write_text("It was a dark and stormy night.\nThe rain fell.\n" * 9, encoding="utf-8")
    train, fill = BLOCKS["continued"].strip().split("\n")
    shell(f"{train} {SMALL}", home)
    assert shell(fill, home).startswith("It was a dark")


@pytest.mark.slow
def test_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "pictures", count=30)
    few = "--set train.max_steps=5 --set model.layers=1 --set model.convolutions=1"
    train, *others = BLOCKS["pictures"].strip().split("\n")
    shell(f"{train} {few}", tmp_path)
    labels, rows, *_ = (shell(line, tmp_path) for line in others)
    assert [line.split("\t")[0] for line in labels.splitlines()] == [
        "pictures/lying/001.png",
        "pictures/standing/002.png",
    ]
    assert len(rows.splitlines()) == 10
    assert (tmp_path / "page.html").stat().st_size > 10_000
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.png").write_bytes((tmp_path / "pictures/lying/001.png").read_bytes())
    space: dict[str, object] = {}
    exec(BLOCKS["pictures-python"], space)
    assert space["explanation"].rollout.values.shape == (4, 4)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_classifying(home: Path) -> None:
    (home / "reviews.tsv").write_text("a fine film\tgood\na dull film\tbad\n" * 10, encoding="utf-8")
    train, classify, evaluate = BLOCKS["classifying"].strip().split("\n")
    shell(f"{train} {SMALL}", home)
    classified, evaluated = shells(f"{classify}\n{evaluate}", home)
    assert classified.strip() in ("good", "bad")
    assert "accuracy" in evaluated


@pytest.mark.slow
def test_tagging(home: Path) -> None:
    (home / "tagged.tsv").write_text("they\tP\ncan\tV\nfish\tN\n\n" * 10, encoding="utf-8")
    train, classify, evaluate = BLOCKS["tagging"].strip().split("\n")
    shell(f"{train} {SMALL}", home)
    tagged, evaluated = shells(f"{classify}\n{evaluate}", home)
    assert [line.split("\t")[0] for line in tagged.splitlines()] == ["they", "can", "fish", ""]
    assert "accuracy" in evaluated


@pytest.mark.slow
def test_forecasting(home: Path) -> None:
    rows = [f"{1990 + month // 12}-{month % 12 + 1:02},{100 + month + 20 * (month % 12 > 6)}" for month in range(144)]
    (home / "sales.csv").write_text("\n".join(["month,sales", *rows]) + "\n", encoding="utf-8")
    train, forecast, evaluate = BLOCKS["forecasting"].strip().split("\n")
    shell(f"{train} --set train.max_steps=5 --set data.baselines=[]", home)
    shell(forecast, home)
    assert (home / "forecasts.csv").read_text(encoding="utf-8").splitlines()[1].startswith("sales,2002-01-01,")
    assert "seasonal naive" in shell(f"{evaluate} --baseline seasonal", home)


@pytest.mark.slow
def test_comparing(home: Path) -> None:
    (home / "run.toml").write_text("[data]\npocket = 60\n", encoding="utf-8")
    training, comparing = BLOCKS["comparing"].strip().split("\n")
    shell(f"{training.replace('--seeds 3', '--seeds 1')} {SMALL}", home)
    assert "norm=post" in shell(comparing, home)
    assert (home / "norms.svg").exists()


def test_make_demo(home: Path) -> None:
    if not (ROOT / ".venv/.ready").exists() or Path(sys.prefix) != ROOT / ".venv":
        pytest.skip("not in the environment that `make setup` makes")
    options = f"--out {home}/made {POCKET} {SMALL}"
    out = shell(f"make -C {ROOT} demo DEMO_OPTIONS='{options}'", home)
    assert "je suis étudiant -> " in out
    assert (home / "made/report.html").exists()


@pytest.mark.slow
def test_captioning(home: Path) -> None:
    """In order and as one test: each line needs what those before it made."""
    folder = home / "pictures"
    folder.mkdir(exist_ok=True)
    names = {"train": range(12), "valid": range(12, 15), "test": range(15, 18), "more": range(12)}
    for part, numbers in names.items():
        scenes = {number: scene("train", number) for number in numbers}
        for number, made in scenes.items():
            (folder / f"{'ab'[number] if number < 2 else number}.png").write_bytes(encoded_png(made.picture))
        lines = [
            f"{'ab'[number] if number < 2 else number}.png\t{made.caption('en')}\n" for number, made in scenes.items()
        ]
        (home / f"{part}.tsv").write_text("".join(lines), encoding="utf-8")
    for line in BLOCKS["captioning"].strip().split("\n"):
        if "regard train --start" in line:
            line += " --set train.max_steps=2"
        elif "regard train" in line:
            line += f" {SMALL}"
        shell(line, home)
    program = BLOCKS["captioning-python"]
    assert shell(f"{sys.executable} - <<'END'\n{program}END", home).strip()
    assert (home / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
