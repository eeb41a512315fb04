"""The examples of docs/explain.md, run as they stand on a model with as many layers and heads as the demo's."""

import re
import shlex
from pathlib import Path

import pytest

from regard.cli.demo import DEMO, SENTENCES
from regard.models.config.presets import PRESETS

PAGE = (Path(__file__).parents[2] / "docs/explain.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"<!-- test: (\w+) -->\n```\w+\n(.*?)```", PAGE, flags=re.DOTALL))
COMMANDS = BLOCKS["commands"].replace("\\\n", "").strip().split("\n")
SHAPE = {**PRESETS["transformer"][DEMO["model"]["preset"]], **DEMO["model"], "width": 16, "feed_forward": 16}
SETTINGS = {f"model.{key}": value for key, value in SHAPE.items()} | {
    "data.pocket": 60,
    "text.vocabulary": 400,
    "train.max_steps": 4,
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, command) -> Path:
    """A directory with the models that the page names."""
    home = tmp_path_factory.mktemp("explain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(home / "cache"))
        sets = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
        for name in ("demo", "other"):
            result = command("train", "--out", home / "runs" / name, *sets)
            assert result.code == 0, result.err
    return home


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_command(line: str, home: Path, command, monkeypatch) -> None:
    monkeypatch.chdir(home)
    regard, *words = shlex.split(line, comments=True)
    assert regard == "regard"
    result = command(*words)
    assert result.code == 0, result.err
    if "--out" in words:
        assert result.out == f"{words[words.index('--out') + 1]}\n"
        assert Path(result.out.strip()).stat().st_size > 1000


@pytest.mark.parametrize("name", ["python", "interventions", "forced"])
def test_python(name: str, home: Path, monkeypatch) -> None:
    monkeypatch.chdir(home)
    exec(compile(BLOCKS[name], f"docs/explain.md: {name}", "exec"), {})


def test_its_sentences_are_those_that_the_demo_shows() -> None:
    """So that the words are known to the demo: `test_demo_end.py` holds its sentences to the corpus."""
    sentences = {shlex.split(line, comments=True)[3] for line in COMMANDS}
    sentences |= {text for name in ("python", "interventions") for text in re.findall(r'"(\w+ .*?)"', BLOCKS[name])}
    assert sentences <= set(SENTENCES)
