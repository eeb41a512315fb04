"""The cache of prepared corpora is reused, rebuilt and shared, by threads and by processes; nothing unfinished stays in it."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from data.preparing import CHAR, moses, sentences, text_of, the_error
from regard.data import encoding
from regard.data import prepare as prepare_module
from regard.data.config import PairData
from regard.data.entries import is_intact
from regard.data.prepare import prepare
from regard.text.build import learn_pair
from regard.text.config import TextConfig


def test_the_same_content_is_encoded_once(tmp_path, cache, no_learning):
    files = moses(tmp_path, sentences(50))
    first = prepare(PairData(**files), CHAR, cache)
    no_learning()
    (tmp_path / "elsewhere").mkdir()
    moved = moses(tmp_path / "elsewhere", sentences(50))
    again = prepare(PairData(**moved), CHAR, cache)
    assert again.key == first.key
    assert again.counts == first.counts
    assert again.valid_pairs == first.valid_pairs
    assert text_of(again.train, again.tokenizers) == text_of(first.train, first.tokenizers)


def test_dropout_shares_the_entry(tmp_path, cache, no_learning):
    data = PairData(**moses(tmp_path, sentences(50)))
    first = prepare(data, TextConfig(vocabulary=300), cache)
    no_learning()
    assert prepare(data, TextConfig(vocabulary=300, dropout=0.1), cache).key == first.key


def test_whatever_alters_the_encoding_alters_the_key(tmp_path, cache):
    files = moses(tmp_path, sentences(50))
    changed = moses(tmp_path, [*sentences(49), ("house 49", "Haus 49 ")], "changed")
    valid = {f"valid_{key}": path for key, path in files.items()}
    variants = [
        (PairData(**files), CHAR),
        (PairData(**changed), CHAR),
        (PairData(src=files["tgt"], tgt=files["src"]), CHAR),
        (PairData(**files, max_length=100), CHAR),
        (PairData(**files, seed=2), CHAR),
        (PairData(**files, **valid), CHAR),
        (PairData(**files), TextConfig(kind="char", lowercase=True)),
        (PairData(**files), TextConfig(kind="word")),
    ]
    assert len({prepare(data, text, cache).key for data, text in variants}) == len(variants)
    # With validation files the seed chooses nothing.
    assert prepare(PairData(**files, **valid, seed=5), CHAR, cache).key in os.listdir(cache)


ENTRY_FILES = [
    "prepared.json",
    "valid.jsonl",
    "tokenizers/tokenizer.json",
    "tokenizers/joint.vocab.json",
    "train/corpus.json",
    "train/lines",
    "train/source.ids",
    "train/target.offsets",
    "valid/target.ids",
]


@pytest.mark.parametrize("name", ENTRY_FILES)
@pytest.mark.parametrize("harm", ["truncate", "flip", "delete"])
def test_a_damaged_entry_is_built_again(tmp_path, cache, name, harm):
    data = PairData(**moses(tmp_path, sentences(50)))
    first = prepare(data, CHAR, cache)
    expected = text_of(first.train, first.tokenizers)
    path = cache / first.key / name
    content = bytearray(path.read_bytes())
    if harm == "delete":
        path.unlink()
    elif harm == "truncate":
        path.write_bytes(content[:-3])
    else:
        content[0] ^= 1
        path.write_bytes(content)
    assert not is_intact(cache / first.key)
    again = prepare(data, CHAR, cache)
    assert is_intact(cache / first.key)
    assert text_of(again.train, again.tokenizers) == expected
    assert os.listdir(cache) == [first.key]


def test_two_at_once_both_succeed(tmp_path, cache, monkeypatch):
    data = PairData(**moses(tmp_path, sentences(50)))
    both_learned = threading.Barrier(2, timeout=60)
    learn = prepare_module.learn_pair

    def learn_together(*arguments):
        pair = learn(*arguments)
        both_learned.wait()  # so that neither finds the other's entry before building its own
        return pair

    monkeypatch.setattr(prepare_module, "learn_pair", learn_together)
    results = []
    threads = [threading.Thread(target=lambda: results.append(prepare(data, CHAR, cache))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 2
    texts = [text_of(ready.train, ready.tokenizers) for ready in results]
    assert texts[0] == texts[1]
    assert os.listdir(cache) == [results[0].key]


def test_an_entry_that_appears_meanwhile_is_used_not_replaced(tmp_path, cache, monkeypatch):
    data = PairData(**moses(tmp_path, sentences(50)))
    learn = prepare_module.learn_pair
    inner = []

    def another_was_quicker(*arguments):
        monkeypatch.setattr(prepare_module, "learn_pair", learn)
        quicker = prepare(data, CHAR, cache)
        inner.append((quicker, (cache / quicker.key).stat().st_ino))
        return learn(*arguments)

    monkeypatch.setattr(prepare_module, "learn_pair", another_was_quicker)
    outer = prepare(data, CHAR, cache)
    [(quicker, inode)] = inner
    assert outer.train.directory == quicker.train.directory
    assert (cache / outer.key).stat().st_ino == inode
    assert os.listdir(cache) == [outer.key]


def test_an_interrupted_preparation_leaves_nothing(tmp_path, cache, monkeypatch):
    data = PairData(**moses(tmp_path, sentences(50)))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prepare_module, "write_numbered", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(data, CHAR, cache)
    assert os.listdir(cache) == []
    assert len(prepare(data, CHAR, cache).train) == 49


def entry_of(ready):
    """Every file of an entry, and what it holds."""
    home = ready.train.directory.parent
    return {path.relative_to(home): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_several_processes_prepare_the_same(tmp_path, monkeypatch):
    pairs = [*sentences(350), *[("so long that it is not used", f"zu lang {number}") for number in range(50)]]
    data = PairData(**moses(tmp_path, pairs), max_length=6)
    monkeypatch.setenv("REGARD_WORKERS", "1")
    one = prepare(data, TextConfig(vocabulary=300), tmp_path / "one")
    monkeypatch.setattr(encoding, "CHUNK_PAIRS", 30)
    monkeypatch.setattr(encoding, "ALONE_PAIRS", 60)
    monkeypatch.setenv("REGARD_WORKERS", "2")
    two = prepare(data, TextConfig(vocabulary=300), tmp_path / "two")
    assert 0 < two.counts.too_long < two.counts.kept
    assert (one.key, one.counts, entry_of(one)) == (two.key, two.counts, entry_of(two))


def test_an_error_while_several_processes_work_leaves_nothing(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK_PAIRS", 30)
    monkeypatch.setattr(encoding, "ALONE_PAIRS", 0)
    monkeypatch.setenv("REGARD_WORKERS", "2")
    pairs = sentences(400)
    files = moses(tmp_path, pairs)
    (tmp_path / "train.de").write_text("".join(f"{t}\n" for _, t in pairs[:-1]), encoding="utf-8")
    valid = {f"valid_{key}": path for key, path in moses(tmp_path, sentences(5), "valid").items()}
    monkeypatch.setattr(prepare_module, "learn_pair", lambda *_: learn_pair(CHAR, lambda: pairs))  # reads nothing
    message = the_error({**files, **valid}, cache)
    assert message.startswith(f"{tmp_path}/train.en has 400 lines but {tmp_path}/train.de has 399")
    with monkeypatch.context() as patch:
        patch.setattr("regard.text.char.CharTokenizer.encode_batch", None)  # only here: the others work
        assert len(prepare(PairData(**moses(tmp_path, pairs)), CHAR, cache).train) == 396


INTERRUPTED = """
import sys, time
from regard.cli import main, progress
from regard.data import encoding, prepare
from regard.training.events import Preparing

encoding.CHUNK_PAIRS, encoding.ALONE_PAIRS, prepare.REPORT_EVERY = 10, 0, 100

def pause(self, event):
    if isinstance(event, Preparing) and event.doing == "encoding" and event.pairs == 300:
        print("now", flush=True)
        time.sleep(300)

progress.TrainingProgress.__call__ = pause
main.run()
"""


def test_ctrl_c_while_several_processes_work(tmp_path):
    files = moses(tmp_path, sentences(400))
    arguments = ["train", "--src", files["src"], "--tgt", files["tgt"], "--out", str(tmp_path / "run")]
    home = os.environ | {"REGARD_WORKERS": "2", "REGARD_CACHE": str(tmp_path / "cache")}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *arguments, "--set", "text.kind=char"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=home,
    ) as process:
        assert process.stdout.readline() == b"now\n"
        assert [path.name for path in (tmp_path / "cache" / "corpora").iterdir()]
        os.killpg(process.pid, signal.SIGINT)
        told = process.stderr.read().decode()
        assert process.wait() == 130
    assert told == "loading torch ..\n"
    assert list((tmp_path / "cache" / "corpora").iterdir()) == []
    assert not (tmp_path / "run").exists()


def test_only_old_leftovers_are_cleared_away(tmp_path, cache):
    old, young = cache / "abc.partial-11111111", cache / "abc.partial-22222222"
    for directory in (old, young):
        (directory / "train").mkdir(parents=True)
    long_ago = time.time() - 3 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    prepare(PairData(**moses(tmp_path, sentences(10))), CHAR, cache)
    assert not old.exists()
    assert young.exists()
