"""Replay in a model of several directions: the old text has a direction of its own, its tag, its share and its score."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.config import PairData
from regard.data.mixing import CorpusPart, epoch_examples
from regard.errors import ConfigError
from regard.tasks.fine_tuning import base_of, run_settings
from regard.tasks.table import TASKS
from regard.tasks.translate.directed_objective import mixture
from training.runs import assert_same_run, run, started, stop_after

SMALL = {"max_steps": 6, "batch_tokens": 120, "validate_every": 3, "save_every": 3, "warmup": 2}


def written(home: Path, name: str, target: str, first: int, count: int = 60) -> dict[str, str]:
    lines = [f"{'abcd'[n % 4] * (n % 3 + 1)} {n}" for n in range(first, first + count)]
    texts = {"xx": lines, "cp": lines, "rv": [line[::-1] for line in lines]}
    for suffix in ("xx", target):
        (home / f"{name}.{suffix}").write_text("".join(f"{line}\n" for line in texts[suffix]), encoding="utf-8")
    return {"src": str(home / f"{name}.xx"), "tgt": str(home / f"{name}.{target}")}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A model of two directions, and the text of each."""
    rows = [written(tmp_path, "old_cp", "cp", 0), written(tmp_path, "old_rv", "rv", 0)]
    model = {"width": 16, "heads": 2, "feed_forward": 32, "layers": 1}
    run({"data": {"corpora": rows}, "text": {"kind": "char"}, "model": model, "train": SMALL}, tmp_path / "base")
    return tmp_path


def further(home: Path, **replay: Any) -> dict[str, Any]:
    """A run on new text of the first direction, which replays the second one."""
    old = {"src": str(home / "old_rv.xx"), "tgt": str(home / "old_rv.rv"), "share": 0.25, **replay}
    data = {**written(home, "new", "cp", 1000, 90), "replay": old}
    return {"data": data, "train": {**SMALL, "start": str(home / "base")}}


def test_the_old_text_has_the_tag_of_its_direction_and_its_share(base: Path) -> None:
    settings = run_settings(further(base))
    opened = base_of(settings)
    objective: Any = TASKS["translate"].objective(settings, opened, lambda *_: None)
    tags = objective.prepared.tokenizers.source.vocabulary.reserved.languages
    examples = objective.examples
    seen = [
        int(first)
        for numbers in examples.plan(120, 1, 0)
        for first in np.asarray(examples.batch(numbers, 1, 0).source)[:, 0]
    ]
    assert set(seen) == {tags["cp"], tags["rv"]}
    assert np.mean([tag == tags["rv"] for tag in seen]) == pytest.approx(0.25, abs=0.02)
    assert set(objective.prepared.valid_directions) == {("xx", "cp")}, "nothing old is held out"
    assert [one.pair for one in objective.bundle.directions] == [("xx", "cp"), ("xx", "rv")]
    assert objective.bundle.directions[1].pairs == 60


def test_both_directions_are_kept_and_the_old_one_is_scored(base: Path) -> None:
    rv = {"test_src": str(base / "old_rv.xx"), "test_tgt": str(base / "old_rv.rv")}
    result, _ = run(further(base, **rv), base / "run")
    assert result.metrics is not None
    assert set(result.metrics["forgetting"]["before"]) == set(result.metrics["forgetting"]["after"])
    [note] = [note for note in started(further(base), base / "other").notes if note.startswith("2 directions")]
    assert "xx-cp 89 pairs, 74." in note or "xx-cp 89 pairs, 75." in note


def test_an_interrupted_run_goes_on_exactly(base: Path) -> None:
    run(further(base), base / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(further(base), base / "stopped", stop_after(4))
    run(further(base), base / "stopped")
    assert_same_run(base / "whole", base / "stopped")


def test_an_old_test_of_an_unknown_direction_is_refused(base: Path) -> None:
    for side in ("xx", "rv"):
        (base / f"{side}_lines").write_bytes((base / f"old_rv.{side}").read_bytes())
    settings = further(base, test_src=str(base / "xx_lines"), test_tgt=str(base / "rv_lines"))
    with pytest.raises(ConfigError, match=r"several directions; set data\.replay\.src_lang and tgt_lang"):
        run(settings, base / "run")
    result, _ = run(
        {**settings, "data": {**settings["data"], "replay": {**settings["data"]["replay"], "tgt_lang": "rv"}}},
        base / "run",
    )
    assert result.metrics is not None
    assert "forgetting" in json.loads((base / "run" / "metrics.json").read_text(encoding="utf-8"))


def test_the_share_is_met_after_the_new_directions_were_balanced() -> None:
    parts = [
        CorpusPart("large", 1.0, 900, 900, ("xx", "cp")),
        CorpusPart("little", 1.0, 100, 100, ("xx", "rv")),
        CorpusPart("old", 1.0, 400, 400, ("yy", "cp")),
    ]
    *new, old = mixture(parts, 1000.0, 0.2)
    weighted = [part.weight * part.examples for part in new]
    assert weighted == pytest.approx([500, 500], rel=0.01)
    assert old.weight * old.examples / (sum(weighted) + old.weight * old.examples) == pytest.approx(0.2)
    numbers = epoch_examples([*new, old], 1, 0) % 1400
    assert np.mean(numbers >= 1000) == pytest.approx(0.2, abs=0.01)


def test_replay_without_a_language_is_refused_among_several_directions() -> None:
    corpora = [{"src": "a.en", "tgt": "a.de"}, {"src": "b.en", "tgt": "b.fr"}]
    with pytest.raises(
        ConfigError, match=r"old\.tsv: a corpus without languages among several directions; give it src_lang"
    ):
        PairData.parse({"corpora": corpora, "replay": {"pairs": "old.tsv"}})
    named = {"pairs": "old.tsv", "src_lang": "en", "tgt_lang": "de"}
    assert PairData.parse({"corpora": corpora, "replay": named}).several_directions == (("en", "de"), ("en", "fr"))


def test_temperature_balances_new_directions_only() -> None:
    with pytest.raises(ConfigError, match="balances several directions, and there is one"):
        PairData.parse({"src": "a.en", "tgt": "a.de", "temperature": 5, "replay": {"src": "b.en", "tgt": "b.fr"}})
