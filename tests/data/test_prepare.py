"""The cache is reused, rebuilt and shared; the held-out pairs are what was promised; mistakes are told in one line."""

import io
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from regard.data import encoding
from regard.data import prepare as prepare_module
from regard.data.batches import make_batch
from regard.data.config import DataConfig
from regard.data.corpus import Corpus, Counts
from regard.data.entries import is_intact
from regard.data.holdout import hold_out
from regard.data.prepare import prepare
from regard.errors import DataError, DiskError, RegardError
from regard.text.build import learn_pair
from regard.text.config import TextConfig

CHAR = TextConfig(kind="char")


def moses(directory, pairs, stem="train"):
    source, target = directory / f"{stem}.en", directory / f"{stem}.de"
    source.write_text("".join(f"{s}\n" for s, _ in pairs), encoding="utf-8")
    target.write_text("".join(f"{t}\n" for _, t in pairs), encoding="utf-8")
    return {"src": str(source), "tgt": str(target)}


def sentences(count, start=0):
    return [(f"house {i}", f"Haus {i}") for i in range(start, start + count)]


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def no_learning(monkeypatch):
    """Call it to make any further learning an error."""

    def forbid():
        def refuse(*_):
            raise AssertionError("learned again")

        monkeypatch.setattr(prepare_module, "learn_pair", refuse)

    return forbid


def text_of(corpus, tokenizers):
    return [
        (tokenizers.source.decode(corpus.source(i).tolist()), tokenizers.target.decode(corpus.target(i).tolist()))
        for i in range(len(corpus))
    ]


def the_error(data, cache, text=CHAR, kind=DataError):
    with pytest.raises(kind) as caught:
        prepare(DataConfig(**data), text, cache)
    assert "\n" not in str(caught.value)
    assert not list(cache.iterdir()), "a failed preparation leaves nothing behind"
    return str(caught.value)


def test_training_and_held_out_pairs_are_a_partition(tmp_path, cache):
    pairs = sentences(300)
    ready = prepare(DataConfig(**moses(tmp_path, pairs)), CHAR, cache)
    assert len(ready.valid) == len(ready.valid_pairs) == 3
    assert ready.held_out
    assert text_of(ready.valid, ready.tokenizers) == ready.valid_pairs
    assert sorted(text_of(ready.train, ready.tokenizers) + ready.valid_pairs) == sorted(pairs)
    assert ready.counts == Counts(read=300, kept=297, held_out=3)
    assert ready.languages == ("en", "de")
    assert (ready.valid_alignments, ready.test_pairs, ready.test_alignments) == (None, None, None)


def test_lines_lead_back_to_the_file(tmp_path, cache):
    pairs = sentences(200)
    pairs[10] = ("", "leer")
    ready = prepare(DataConfig(**moses(tmp_path, pairs)), CHAR, cache)
    assert text_of(ready.train, ready.tokenizers) == [pairs[line - 1] for line in ready.train.lines.tolist()]
    assert ready.valid_pairs == [pairs[line - 1] for line in ready.valid.lines.tolist()]


def test_validation_and_test_files_are_used_as_given(tmp_path, cache):
    train, valid, test = sentences(30), sentences(8, 100), sentences(5, 200)
    valid[2] = ("", "leer")
    valid[4] = ("x" * 30, "zu lang")
    test[1] = ("", "leer")
    data = moses(tmp_path, train)
    data |= {f"valid_{key}": path for key, path in moses(tmp_path, valid, "val").items()}
    data |= {f"test_{key}": path for key, path in moses(tmp_path, test, "test").items()}
    ready = prepare(DataConfig(**data, max_length=20), CHAR, cache)
    assert not ready.held_out
    assert text_of(ready.train, ready.tokenizers) == train
    assert ready.valid_pairs == [pair for i, pair in enumerate(valid) if i not in (2, 4)]
    assert text_of(ready.valid, ready.tokenizers) == ready.valid_pairs
    assert ready.valid_counts == Counts(read=8, kept=6, too_long=1, empty=1)
    assert ready.test_pairs == test


def test_copies_of_held_out_pairs_are_not_trained_on(tmp_path, cache):
    pairs = sentences(60) * 2
    pairs += [(s, t + "!") for s, t in sentences(60)]
    ready = prepare(DataConfig(**moses(tmp_path, pairs)), CHAR, cache)
    (held,) = ready.valid_pairs
    trained = text_of(ready.train, ready.tokenizers)
    copies = pairs.count(held) - 1
    assert held not in trained
    assert ready.counts == Counts(read=180, kept=179 - copies, held_out=1, duplicates_of_validation=copies)
    assert len(trained) == 179 - copies


@pytest.mark.parametrize(("usable", "wanted"), [(2, 1), (99, 1), (100, 1), (250, 2), (99_999, 999), (150_000, 1000)])
def test_one_percent_is_held_out_within_bounds(usable, wanted):
    held = hold_out(((f"s{i}", f"t{i}") for i in range(usable)), max_length=256, seed=1)
    assert (len(held.pairs), held.usable) == (wanted, usable)
    assert all(pair == (f"s{line - 1}", f"t{line - 1}") for line, pair in held.pairs)


def test_the_hold_out_depends_on_its_seed_alone():
    pairs = sentences(3000)
    first, again, other = (hold_out(pairs, 256, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_hold_out_is_the_one_that_it_always_was():
    """Each usable pair gets the next number of one generator, and the smallest are taken."""
    pairs = sentences(25_000)
    for index in range(0, 25_000, 7):
        pairs[index] = (" ", "\u200b")[index % 2], "x"
    usable = [line for line, (source, _) in enumerate(pairs, 1) if source not in (" ", "\u200b")]
    generator = np.random.default_rng([4, 0])
    numbers = {line: generator.random() for line in usable}
    chosen = sorted(sorted(usable, key=numbers.__getitem__)[: len(usable) // 100])
    held = hold_out(pairs, 256, 4)
    assert held.usable == len(usable)
    assert list(held.pairs) == [(line, pairs[line - 1]) for line in chosen]


def test_every_pair_is_as_likely_to_be_held_out():
    pairs = sentences(200)
    times = [0] * 201
    for seed in range(600):
        for line, _ in hold_out(pairs, 256, seed).pairs:
            times[line] += 1
    # 1200 draws over 200 pairs: each 6 times, and the chi-square of 199 degrees stays below 280 in 9999 of 10000.
    assert sum((count - 6) ** 2 / 6 for count in times[1:]) < 280


def test_what_cannot_validate_is_never_held_out():
    pairs = [("", "x"), ("\u200b\ufeff", "x"), ("a" * 100_000, "x"), ("a", " \x07 "), ("b", "y")]
    for seed in range(20):
        held = hold_out(pairs, 256, seed)
        assert (held.pairs, held.usable) == (((5, ("b", "y")),), 1)


def test_the_same_content_is_encoded_once(tmp_path, cache, no_learning):
    files = moses(tmp_path, sentences(50))
    first = prepare(DataConfig(**files), CHAR, cache)
    no_learning()
    (tmp_path / "elsewhere").mkdir()
    moved = moses(tmp_path / "elsewhere", sentences(50))
    again = prepare(DataConfig(**moved), CHAR, cache)
    assert again.key == first.key
    assert again.counts == first.counts
    assert again.valid_pairs == first.valid_pairs
    assert text_of(again.train, again.tokenizers) == text_of(first.train, first.tokenizers)


def test_dropout_shares_the_entry(tmp_path, cache, no_learning):
    data = DataConfig(**moses(tmp_path, sentences(50)))
    first = prepare(data, TextConfig(vocabulary=300), cache)
    no_learning()
    assert prepare(data, TextConfig(vocabulary=300, dropout=0.1), cache).key == first.key


def test_whatever_alters_the_encoding_alters_the_key(tmp_path, cache):
    files = moses(tmp_path, sentences(50))
    changed = moses(tmp_path, [*sentences(49), ("house 49", "Haus 49 ")], "changed")
    valid = {f"valid_{key}": path for key, path in files.items()}
    variants = [
        (DataConfig(**files), CHAR),
        (DataConfig(**changed), CHAR),
        (DataConfig(src=files["tgt"], tgt=files["src"]), CHAR),
        (DataConfig(**files, max_length=100), CHAR),
        (DataConfig(**files, seed=2), CHAR),
        (DataConfig(**files, **valid), CHAR),
        (DataConfig(**files), TextConfig(kind="char", lowercase=True)),
        (DataConfig(**files), TextConfig(kind="word")),
    ]
    assert len({prepare(data, text, cache).key for data, text in variants}) == len(variants)
    # With validation files the seed chooses nothing.
    assert prepare(DataConfig(**files, **valid, seed=5), CHAR, cache).key in os.listdir(cache)


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
    data = DataConfig(**moses(tmp_path, sentences(50)))
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
    data = DataConfig(**moses(tmp_path, sentences(50)))
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
    data = DataConfig(**moses(tmp_path, sentences(50)))
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
    data = DataConfig(**moses(tmp_path, sentences(50)))

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
    data = DataConfig(**moses(tmp_path, pairs), max_length=6)
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
        assert len(prepare(DataConfig(**moses(tmp_path, pairs)), CHAR, cache).train) == 396


INTERRUPTED = """
import sys, time
from regard.cli import main, progress
from regard.data import encoding, prepare
from regard.train.events import Preparing

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
    prepare(DataConfig(**moses(tmp_path, sentences(10))), CHAR, cache)
    assert not old.exists()
    assert young.exists()


def test_standard_input_gives_what_the_file_gives(tmp_path, cache, monkeypatch, no_learning):
    rows = "".join(f"{s}\t{t}\n" for s, t in sentences(50))
    path = tmp_path / "a.tsv"
    path.write_text(rows)
    languages = {"src_lang": "en", "tgt_lang": "de"}
    from_file = prepare(DataConfig(pairs=str(path), **languages), CHAR, cache)
    no_learning()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
    from_stdin = prepare(DataConfig(pairs="-", **languages), CHAR, cache)
    assert from_stdin.key == from_file.key
    assert from_stdin.languages == ("en", "de")
    assert os.listdir(cache) == [from_file.key], "the copy of the input is gone"


def test_a_pipe_is_read_once(tmp_path, cache):
    data = moses(tmp_path, sentences(50))
    pipe = tmp_path / "pipe.de"
    os.mkfifo(pipe)
    content = (tmp_path / "train.de").read_bytes()
    feeder = threading.Thread(target=lambda: pipe.write_bytes(content))
    feeder.start()
    ready = prepare(DataConfig(src=data["src"], tgt=str(pipe)), CHAR, cache)
    feeder.join()
    assert ready.languages == ("en", "de")
    assert ready.counts.read == 50


def test_mistakes_on_standard_input_are_named_so(cache, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\nalone\n")))
    assert the_error({"pairs": "-"}, cache).startswith("stdin:2: one column; ")


def test_jsonl_and_tmx_are_prepared_by_language(tmp_path, cache):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"translation": {{"en": "{s}", "de": "{t}"}}}}\n' for s, t in sentences(20)))
    ready = prepare(DataConfig(pairs=str(path), src_lang="en", tgt_lang="de"), CHAR, cache)
    back = prepare(DataConfig(pairs=str(path), src_lang="de", tgt_lang="en"), CHAR, cache)
    assert sorted(text_of(ready.train, ready.tokenizers) + ready.valid_pairs) == sorted(sentences(20))
    assert [pair[::-1] for pair in back.valid_pairs] == ready.valid_pairs


def test_empty_and_hopeless_corpora_are_refused(tmp_path, cache):
    names = f"{tmp_path}/train.en and {tmp_path}/train.de"
    message = the_error(moses(tmp_path, []), cache)
    assert message.startswith(f"{names}: no sentence pairs to train on in 0 lines")
    message = the_error(moses(tmp_path, [("", ""), ("a", ""), (" ", "b")]), cache)
    assert message.startswith(f"{names}: no sentence pairs to train on in 3 lines")
    message = the_error(moses(tmp_path, [("a", "b"), ("", "")]), cache)
    assert message.startswith(f"{names}: only one usable sentence pair")
    message = the_error(moses(tmp_path, [("a", "b")] * 4), cache)
    assert message.startswith(f"{names}: no sentence pairs to train on: all equal the 1 held out")
    message = the_error({**moses(tmp_path, [(f"sentence {i}", "b") for i in range(4)]), "max_length": 8}, cache)
    assert message.startswith(f"{names} (held out): no sentence pairs left of 1: 0 with an empty side, 1 longer than")
    assert "data.max_length = 8 tokens" in message


def test_empty_training_or_validation_files_are_named(tmp_path, cache):
    good, bad = moses(tmp_path, sentences(5), "good"), moses(tmp_path, [], "bad")
    message = the_error({**bad, "valid_src": good["src"], "valid_tgt": good["tgt"]}, cache)
    assert message.startswith(f"{tmp_path}/bad.en and {tmp_path}/bad.de: no sentence pairs")
    message = the_error({**good, "valid_src": bad["src"], "valid_tgt": bad["tgt"]}, cache)
    assert message.startswith(f"{tmp_path}/bad.en and {tmp_path}/bad.de: no sentence pairs in it; give")


@pytest.mark.parametrize("role", ["src", "valid_tgt", "test_src"])
def test_a_missing_file_is_named_before_any_work(tmp_path, cache, role, no_learning):
    no_learning()
    files = moses(tmp_path, sentences(5))
    data = files | {f"{part}_{key}": path for part in ("valid", "test") for key, path in files.items()}
    data[role] = str(tmp_path / "none.en")
    assert the_error(data, cache) == f"{tmp_path}/none.en: no such file; check the path"


def test_a_cache_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(DiskError, match="choose another place"):
        prepare(DataConfig(**moses(tmp_path, sentences(5))), CHAR, tmp_path / "cache")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, cache):
    data = moses(tmp_path, sentences(3000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        message = the_error(data, cache, kind=DiskError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "no space left to write; free some space" in message
    assert len(prepare(DataConfig(**data), CHAR, cache).train) == 2970


def test_a_hundred_thousand_characters_are_counted(tmp_path, cache):
    pairs = [*sentences(20), ("é" * 100_000, "lang"), ("kurz", "a b " * 25_000)]
    ready = prepare(DataConfig(**moses(tmp_path, pairs)), TextConfig(vocabulary=300), cache)
    assert ready.counts == Counts(read=22, kept=19, too_long=2, held_out=1)


def test_progress_is_told(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(prepare_module, "REPORT_EVERY", 20)
    heard = []
    prepare(
        DataConfig(**moses(tmp_path, sentences(50))), CHAR, cache, lambda doing, count: heard.append((doing, count))
    )
    assert [count for doing, count in heard if doing == "reading"] == [0, 20, 40]
    assert [doing for doing, count in heard if count == 40] == ["reading", "learning the vocabulary", "encoding"]


def test_the_pocket_corpus_is_the_default_and_brings_alignments(cache):
    from regard.data.pocket import corpus as pocket

    data = DataConfig(pocket=300, seed=3)
    ready = prepare(data, TextConfig(kind="word"), cache)
    split = pocket.pocket_split(train=300, valid=300, test=300, seed=3)
    assert ready.languages == ("fr", "en")
    assert not ready.held_out
    assert ready.counts.kept == 300
    assert ready.valid_pairs == [(pair.french, pair.english) for pair in split.valid]
    assert ready.valid_alignments == [pair.alignment for pair in split.valid]
    assert ready.test_pairs == [(pair.french, pair.english) for pair in split.test]
    assert ready.test_alignments == [pair.alignment for pair in split.test]
    batch = make_batch(ready.train, range(4), ready.tokenizers)
    assert batch.tokens == int(ready.train.target_lengths[:4].sum()) + 4


def test_alignments_stay_with_their_pairs_when_some_are_too_long(cache):
    from regard.data.pocket import corpus as pocket

    ready = prepare(DataConfig(pocket=300, max_length=6), TextConfig(kind="word"), cache)
    gold = {
        (pair.french, pair.english): pair.alignment for pair in pocket.pocket_split(train=300, valid=300, seed=1).valid
    }
    assert 0 < len(ready.valid_pairs) < len(gold)
    assert ready.valid_alignments == [gold[pair] for pair in ready.valid_pairs]


def test_every_refusal_is_ours(tmp_path, cache):
    (tmp_path / "bad.en").write_bytes(b"a\n\xff\n")
    (tmp_path / "bad.de").write_bytes(b"a\nb\n")
    data = {"src": str(tmp_path / "bad.en"), "tgt": str(tmp_path / "bad.de")}
    assert the_error(data, cache, kind=RegardError).startswith(
        f"{tmp_path}/bad.en:2: not UTF-8 (byte 0xff at column 1)"
    )


def test_an_entry_can_be_opened_by_itself(tmp_path, cache):
    ready = prepare(DataConfig(**moses(tmp_path, sentences(30))), CHAR, cache)
    assert len(Corpus.open(cache / ready.key / "train")) == 29
