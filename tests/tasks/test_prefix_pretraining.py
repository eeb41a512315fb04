"""A prefix language model learns to continue texts, and then continues those that it never saw the end of."""

from pathlib import Path

import pytest

from regard import train
from regard.errors import ConfigError
from regard.models.prefix import PrefixTransformer
from regard.tasks.load import load_filler
from regard.tasks.settings import parse_settings

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


def test_it_learns_to_continue(tmp_path: Path) -> None:
    lines = [WORDS[first : first + count] for first in range(8) for count in range(3, 11 - first)] * 4
    (tmp_path / "text").write_text("".join(" ".join(line) + "\n" for line in lines), encoding="utf-8")
    settings = {
        "task": "pretrain",
        "objective": {"kind": "prefix"},
        "data": {"text": str(tmp_path / "text"), "documents": "line"},
        "text": {"kind": "word", "vocabulary": 50},
        "model": {"layers": 2, "width": 32, "heads": 2, "feed_forward": 64, "dropout": 0.0},
        "train": {"max_steps": 80, "batch_tokens": 512, "warmup": 10, "validate_every": 80, "save_every": 80},
    }
    run = train(settings, tmp_path / "run")
    filler = load_filler(run.directory)
    assert isinstance(filler.network, PrefixTransformer)
    for text in ("one two three", "four", "six seven"):
        [filled] = filler.fill([text])
        begin = WORDS.index(text.split()[0])
        written = filled.filled.split()
        assert written == WORDS[begin : begin + len(written)]
        assert len(written) > len(text.split())


@pytest.mark.parametrize(("model", "objective"), [("prefix", "mask"), ("encoder", "prefix")])
def test_objectives_that_a_network_cannot_learn(model: str, objective: str) -> None:
    values = {"task": "pretrain", "data": {"text": "a"}, "model": {"kind": model}, "objective": {"kind": objective}}
    with pytest.raises(ConfigError, match=f"model.kind '{model}' cannot learn objective '{objective}'"):
        parse_settings(values)
