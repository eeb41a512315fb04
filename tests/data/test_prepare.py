"""Every source of pairs is prepared alike; mistakes are told in one line."""

import io
import os
import resource
import threading

import pytest

from data.preparing import CHAR, moses, sentences, text_of, the_error
from regard.data import prepare as prepare_module
from regard.data.batches import make_batch
from regard.data.config import PairData
from regard.data.corpus import Corpus, Counts
from regard.data.prepare import prepare
from regard.errors import DiskError, RegardError
from regard.files import cache_directory
from regard.text.config import TextConfig


def test_standard_input_gives_what_the_file_gives(tmp_path, cache, monkeypatch, no_learning):
    rows = "".join(f"{s}\t{t}\n" for s, t in sentences(50))
    path = tmp_path / "a.tsv"
    path.write_text(rows)
    languages = {"src_lang": "en", "tgt_lang": "de"}
    from_file = prepare(PairData(pairs=str(path), **languages), CHAR, cache)
    no_learning()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(rows.encode())))
    from_stdin = prepare(PairData(pairs="-", **languages), CHAR, cache)
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
    ready = prepare(PairData(src=data["src"], tgt=str(pipe)), CHAR, cache)
    feeder.join()
    assert ready.languages == ("en", "de")
    assert ready.counts.read == 50


def test_mistakes_on_standard_input_are_named_so(cache, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\nalone\n")))
    assert the_error({"pairs": "-"}, cache).startswith("stdin:2: one column; ")


def test_jsonl_and_tmx_are_prepared_by_language(tmp_path, cache):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"translation": {{"en": "{s}", "de": "{t}"}}}}\n' for s, t in sentences(20)))
    ready = prepare(PairData(pairs=str(path), src_lang="en", tgt_lang="de"), CHAR, cache)
    back = prepare(PairData(pairs=str(path), src_lang="de", tgt_lang="en"), CHAR, cache)
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


@pytest.mark.parametrize("variable", ["REGARD_CACHE", "XDG_CACHE_HOME"])
def test_a_cache_that_cannot_be_written_says_so(tmp_path, monkeypatch, variable):
    (tmp_path / "file").write_text("a file")
    monkeypatch.delenv("REGARD_CACHE")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    place = cache_directory() / "corpora"
    with pytest.raises(DiskError) as caught:
        prepare(PairData(**moses(tmp_path, sentences(5))), CHAR, place)
    assert str(caught.value).startswith(f"{place}: ")
    assert str(caught.value).endswith("; set REGARD_CACHE, which names the cache, to a directory that can be written")


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, cache):
    data = moses(tmp_path, sentences(3000))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        message = the_error(data, cache, kind=DiskError)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "no space left to write; free some space" in message
    assert len(prepare(PairData(**data), CHAR, cache).train) == 2970


def test_a_hundred_thousand_characters_are_counted(tmp_path, cache):
    pairs = [*sentences(20), ("é" * 100_000, "lang"), ("kurz", "a b " * 25_000)]
    ready = prepare(PairData(**moses(tmp_path, pairs)), TextConfig(vocabulary=300), cache)
    assert ready.counts == Counts(read=22, kept=19, too_long=2, held_out=1)


def test_progress_is_told(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(prepare_module, "REPORT_EVERY", 20)
    heard = []
    prepare(PairData(**moses(tmp_path, sentences(50))), CHAR, cache, lambda doing, count: heard.append((doing, count)))
    assert [count for doing, count in heard if doing == "reading"] == [0, 20, 40]
    assert [doing for doing, count in heard if count == 40] == ["reading", "learning the vocabulary", "encoding"]


def test_the_pocket_corpus_is_the_default_and_brings_alignments(cache):
    from regard.data.pocket import corpus as pocket

    data = PairData(pocket=300, seed=3)
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

    ready = prepare(PairData(pocket=300, max_length=6), TextConfig(kind="word"), cache)
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
    ready = prepare(PairData(**moses(tmp_path, sentences(30))), CHAR, cache)
    assert len(Corpus.open(cache / ready.key / "train")) == 29
