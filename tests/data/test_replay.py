"""Replay: the share of old examples in an epoch, in pairs and in batches, and settings that make no sense."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.config import PairData, TextData
from regard.data.mixing import CorpusPart, epoch_examples
from regard.data.prepare import prepare
from regard.data.replay import replayed
from regard.data.replayed import OLD, ReplayedExamples
from regard.errors import ConfigError, DataError
from regard.tasks.settings import parse_settings
from regard.text.config import TextConfig


@pytest.mark.parametrize(("new", "old", "share"), [(900, 5000, 0.1), (900, 30, 0.1), (100, 700, 0.6)])
def test_the_last_corpus_has_its_share_of_every_epoch(new: int, old: int, share: float) -> None:
    parts = replayed([CorpusPart("new", 2.0, new, new), CorpusPart("old", 1.0, old, old)], share)
    assert parts[0].weight == 2.0
    for epoch in range(5):
        numbers = epoch_examples(parts, 1, epoch) % (new + old)
        assert np.mean(numbers >= new) == pytest.approx(share, abs=1 / len(numbers))
        assert np.sum(numbers < new) == 2 * new
    assert not np.array_equal(epoch_examples(parts, 1, 0), epoch_examples(parts, 1, 1))


class Plain:
    """Examples in batches of four, whose batch tells what was asked for."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def plan(self, batch_tokens: int, seed: int, epoch: int) -> list[np.ndarray]:
        order = np.random.default_rng([seed, epoch]).permutation(self.count)
        return [order[start : start + 4] for start in range(0, self.count, 4)]

    def split(self, batch: np.ndarray, parts: int, seed: int, epoch: int) -> list[np.ndarray]:
        return [batch[part::parts] for part in range(parts)]

    def batch(self, numbers: np.ndarray, seed: int, epoch: int, readings: int = 1) -> Any:
        return self, numbers.tolist(), epoch

    def where(self, batches: Any, seed: int, epoch: int) -> str:
        return f"lines {batches[0].tolist()}"


@pytest.mark.parametrize(("old", "share"), [(1000, 0.1), (8, 0.3)])
def test_batches_of_old_examples_are_among_the_new_ones(old: int, share: float) -> None:
    new_set, old_set = Plain(100), Plain(old)
    examples: Any = ReplayedExamples(new_set, old_set, share)  # type: ignore[arg-type]
    shares = []
    for epoch in range(200):
        plan = examples.plan(99, 1, epoch)
        assert all(len({int(number) // OLD for number in batch}) == 1 for batch in plan)
        numbers = np.concatenate(plan)
        assert sorted(numbers[numbers < OLD]) == list(range(100))  # each new one once
        assert set(numbers[numbers >= OLD] % OLD) <= set(range(old))
        shares.append(np.mean(numbers >= OLD))
    assert np.mean(shares) == pytest.approx(share, rel=0.03)
    again = examples.plan(99, 1, 3)
    assert all(np.array_equal(a, b) for a, b in zip(examples.plan(99, 1, 3), again, strict=True))
    replay = next(batch for batch in again if batch[0] >= OLD)
    assert not all(batch[0] >= OLD for batch in again[-sum(batch[0] >= OLD for batch in again) :]), "not at the end"
    made, numbers, _ = examples.batch(replay, 1, 3)
    assert (made is old_set, numbers) == (True, (replay % OLD).tolist())
    assert np.array_equal(np.concatenate(examples.split(replay, 2, 1, 3)), np.concatenate([replay[::2], replay[1::2]]))
    assert examples.where([replay], 1, 3) == f"replayed lines {(replay % OLD).tolist()}"


def test_old_batches_of_a_pass_are_made_in_the_epoch_in_which_they_were_planned() -> None:
    old_set = Plain(4)
    examples: Any = ReplayedExamples(Plain(40), old_set, 0.5)  # type: ignore[arg-type]
    for batch in examples.plan(99, 1, 2):
        made, numbers, epoch = examples.batch(batch, 1, 2)
        if made is old_set:
            assert numbers == old_set.plan(99, 1, epoch)[0].tolist()
        else:
            assert epoch == 2


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def pair_data(home: Path, **replay: Any) -> PairData:
    new = [f"neu {number}\tnew {number}" for number in range(60)]
    return PairData.parse({"pairs": write(home / "new.tsv", new), "src_lang": "de", "tgt_lang": "en", "replay": replay})


def test_nothing_of_the_old_text_is_held_out(tmp_path: Path) -> None:
    old = write(tmp_path / "old.tsv", [f"alt {number}\told {number}" for number in range(300)])
    data = pair_data(tmp_path, pairs=old, share=0.25)
    prepared = prepare(data, TextConfig(kind="char"), tmp_path / "cache")
    assert all(source.startswith("neu") for source, _ in prepared.valid_pairs)
    new, replay = prepared.parts
    assert (replay.examples, replay.name) == (300, old)
    assert replay.weight * 300 == pytest.approx(new.examples / 3)
    plain = prepare(data.model_copy(update={"replay": None}), TextConfig(kind="char"), tmp_path / "cache")
    assert plain.key != prepared.key
    assert plain.valid_pairs == prepared.valid_pairs


def test_an_empty_replay_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"old\.tsv: no sentence pairs to train on in 0 lines"):
        prepare(pair_data(tmp_path, pairs=write(tmp_path / "old.tsv", [])), TextConfig(kind="char"), tmp_path / "cache")


@pytest.mark.parametrize(
    ("replay", "message"),
    [
        ({"src": "a"}, "src = 'a' needs tgt, the same sentences in the other language"),
        ({"test_tgt": "a"}, "test_tgt = 'a' needs test_src"),
        ({"src": "a", "tgt": "b", "pairs": "c"}, "src and pairs exclude each other"),
        ({"pairs": "-"}, "standard input '-' cannot be replayed; give a file"),
        ({}, "no files; give src, tgt, pairs or test_src, test_tgt, or leave the table out"),
        ({"pairs": "a", "share": 1.0}, "replay.share = 1.0: input should be less than 1"),
        ({"pairs": "a", "share": 0}, "replay.share = 0: input should be greater than 0"),
    ],
)
def test_settings_that_make_no_sense(replay: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        PairData.parse({"pairs": "new.tsv", "replay": replay})
    assert message in str(error.value)


def test_settings_that_do_not_go_together() -> None:
    with pytest.raises(ConfigError, match="replay of old text needs training files"):
        PairData.parse({"replay": {"pairs": "old.tsv"}})
    with pytest.raises(ConfigError, match=r"replay of old text needs no data\.alignments"):
        PairData.parse({"pairs": "new.tsv", "alignments": "a", "replay": {"pairs": "old.tsv"}})
    with pytest.raises(ConfigError, match=r"data\.replay needs train\.start .*use \[\[data\.corpora\]\]"):
        parse_settings({"data": {"pairs": "new.tsv", "replay": {"pairs": "old.tsv"}}})
    with pytest.raises(ConfigError, match=r"data\.replay needs train\.start"):
        parse_settings({"task": "generate", "data": {"text": "new.txt", "replay": {"text": "old.txt"}}})
    assert TextData.parse({"replay": {"test_text": "old.txt"}}).replay is not None
