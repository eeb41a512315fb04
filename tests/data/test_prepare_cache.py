"""The cache of prepared corpora is reused, rebuilt and shared, by threads and by processes; nothing unfinished stays in it."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from data.preparing import CHAR, moses, sentences, text_of, the_error
from regard.cache import locked
from regard.data import encoding, entries
from regard.data import prepare as prepare_module
from regard.data.config import PairData
from regard.data.entries import is_intact
from regard.data.prepare import prepare
from regard.errors import DataError, ResourceError
from regard.files import sha256_of
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
    assert told.startswith("loading torch ..\ninterrupted before training began; run the same command again")
    assert told.count("\n") == 2
    assert list((tmp_path / "cache" / "corpora").iterdir()) == []
    assert not (tmp_path / "run").exists()


def test_only_the_leftovers_of_dead_writers_are_cleared_away(tmp_path, cache):
    dead, alive = cache / "abc.partial-11111111", cache / "abc.partial-22222222"
    for directory in (dead, alive):
        (directory / "train").mkdir(parents=True)
    (cache / "input.partial-33333333.tsv").write_bytes(b"a\tb\n")
    long_ago = time.time() - 3 * 24 * 3600
    os.utime(alive, (long_ago, long_ago))  # no clock decides
    with locked(alive):
        prepare(PairData(**moses(tmp_path, sentences(10))), CHAR, cache)
    assert not dead.exists()
    assert alive.exists()
    assert not list(cache.glob("input*"))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, cache, monkeypatch):
    files = moses(tmp_path, sentences(50))
    hold_out = prepare_module.hold_out

    def changed(*arguments):
        moses(tmp_path, [*sentences(49), ("another 9", "anders 9")])  # as many bytes, and no line more
        return hold_out(*arguments)

    monkeypatch.setattr(prepare_module, "hold_out", changed)
    message = the_error(files, cache)
    assert message.startswith(f"{tmp_path}/train.en: its content has changed while it was read; run the same command")
    monkeypatch.undo()
    ready = prepare(PairData(**files), CHAR, cache)
    assert ("another 9", "anders 9") in text_of(ready.train, ready.tokenizers) + ready.valid_pairs


@pytest.mark.parametrize("late", ["learn_pair", "write_numbered"])
def test_every_pass_over_the_text_is_compared(tmp_path, cache, monkeypatch, late):
    files = moses(tmp_path, sentences(50))
    original = getattr(prepare_module, late)

    def changed(*arguments, **options):
        with open(files["tgt"], "r+b") as target:
            target.write(b"h")  # one bit
        return original(*arguments, **options)

    monkeypatch.setattr(prepare_module, late, changed)
    assert "train.de: its content has changed while it was read" in the_error(files, cache)


def test_an_entry_whose_staging_lost_a_file_is_not_installed(tmp_path, cache, monkeypatch):
    data = PairData(**moses(tmp_path, sentences(50)))
    require = prepare_module._require_each

    def cleaned(*arguments):
        [lines] = cache.rglob("valid/lines")
        shutil.rmtree(lines.parent)  # as a cleaner of old files does
        (lines.parent).mkdir()
        return require(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(prepare_module, "_require_each", cleaned)
        with pytest.raises(DataError):
            prepare(data, CHAR, cache)
    assert os.listdir(cache) == []
    assert len(prepare(data, CHAR, cache).train) == 49


def resign(directory):
    """Make the record of an entry agree with its files, as if it had been written so."""
    record = json.loads((directory / "prepared.json").read_text(encoding="utf-8"))
    names = [str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()]
    record["files"] = {name: sha256_of(directory / name) for name in names if name != "prepared.json"}
    (directory / "prepared.json").write_text(json.dumps(record), encoding="utf-8")


@pytest.mark.parametrize(
    "name", ["train/lines", "valid.jsonl", "tokenizers/tokenizer.json", "tokenizers/joint.vocab.json"]
)
@pytest.mark.parametrize("harm", ["delete", "empty", "cut"])
def test_an_entry_that_was_written_wrong_is_built_again(tmp_path, cache, name, harm):
    data = PairData(**moses(tmp_path, sentences(50)))
    first = prepare(data, CHAR, cache)
    expected = text_of(first.train, first.tokenizers)
    path = cache / first.key / name
    if harm == "delete":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-5] if harm == "cut" else b"")
    resign(cache / first.key)
    again = prepare(data, CHAR, cache)
    assert text_of(again.train, again.tokenizers) == expected
    assert len(again.valid_pairs) == len(again.valid)
    assert os.listdir(cache) == [first.key]


def test_too_few_file_handles_do_not_cost_a_sound_entry(tmp_path, cache, monkeypatch, no_learning):
    data = PairData(**moses(tmp_path, sentences(50)))
    first = prepare(data, CHAR, cache)
    no_learning()

    def exhausted(path):
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(entries, "sha256_of", exhausted)
        with pytest.raises(ResourceError, match="ulimit -n"):
            prepare(data, CHAR, cache)
    assert prepare(data, CHAR, cache).key == first.key


def test_a_file_that_is_cut_while_it_is_mapped_is_named(tmp_path, cache):
    """Reading past its end would be SIGBUS, which nothing can catch."""
    ready = prepare(PairData(**moses(tmp_path, sentences(2000))), CHAR, cache)
    every = np.arange(len(ready.train))
    ready.train.sources(every)
    path = ready.train.directory / "source.ids"
    os.truncate(path, 10)
    with pytest.raises(DataError, match=r"source\.ids: missing or damaged; delete"):
        ready.train.sources(every)


def test_a_deleted_entry_stays_mapped(tmp_path, cache):
    ready = prepare(PairData(**moses(tmp_path, sentences(2000))), CHAR, cache)
    every = np.arange(len(ready.train))
    expected = ready.train.sources(every)
    shutil.rmtree(ready.train.directory)
    assert (ready.train.sources(every).ids == expected.ids).all()


def test_the_cache_has_a_quota(tmp_path, cache, monkeypatch):
    """The entry that was not used for longest goes; the new entry stays even if it is too large alone."""
    keys = []
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        data = PairData(**moses(tmp_path / str(number), sentences(50, start=100 * number)))
        keys.append(prepare(data, CHAR, cache).key)
        os.utime(cache / keys[-1], (number, number))
    assert len(os.listdir(cache)) == 3
    prepare(PairData(**moses(tmp_path / "0", sentences(50))), CHAR, cache)  # used again
    size = sum(path.stat().st_size for path in (cache / keys[0]).rglob("*") if path.is_file())
    monkeypatch.setenv("REGARD_CACHE_GB", str(2.5 * size / 1e9))
    data = PairData(**moses(tmp_path, sentences(50, start=1000)))
    new = prepare(data, CHAR, cache).key
    assert set(os.listdir(cache)) == {keys[0], new}
    monkeypatch.setenv("REGARD_CACHE_GB", "0")
    last = prepare(PairData(**moses(tmp_path, sentences(60, start=1000))), CHAR, cache).key
    assert os.listdir(cache) == [last]


def test_an_entry_that_another_process_prunes_before_it_is_opened_is_built_again(tmp_path, cache, monkeypatch):
    pruned = []

    def prune(cache, keep):
        if not pruned:
            shutil.rmtree(keep)
        pruned.append(keep)

    monkeypatch.setattr(entries, "prune", prune)
    ready = prepare(PairData(**moses(tmp_path, sentences(10))), CHAR, cache)
    assert len(pruned) == 2
    assert ready.train
