"""Several corpora prepare as their concatenation; weights change the epochs and nothing else."""

from collections import Counter

import numpy as np

from data.preparing import CHAR, moses, sentences, text_of, the_error
from regard.data.config import PairData
from regard.data.examples import PairExamples
from regard.data.prepare import prepare


def two(tmp_path, first, second, weights=(1, 1)):
    files = [moses(tmp_path, pairs, stem) for stem, pairs in (("a", first), ("b", second))]
    return {"corpora": [{**file, "weight": weight} for file, weight in zip(files, weights, strict=True)]}


def test_weight_one_is_plain_concatenation(tmp_path):
    first, second = sentences(150), sentences(250, 500)
    ready = prepare(PairData(**two(tmp_path, first, second)), CHAR, tmp_path / "cache")
    joined = prepare(PairData(**moses(tmp_path, first + second, "ab")), CHAR, tmp_path / "cache")
    for side in ("source", "target", "lines"):
        ours, theirs = (getattr(one.train, side) for one in (ready, joined))
        if side == "lines":
            assert np.array_equal(ours, theirs)
        else:
            assert all(np.array_equal(ours(n), theirs(n)) for n in range(len(joined.train)))
    assert ready.valid_pairs == joined.valid_pairs
    assert ready.counts == joined.counts
    assert ready.languages == ("en", "de")
    assert sum(part.examples for part in ready.parts) == len(ready.train)
    plans = [PairExamples(one.train, one.tokenizers, parts=one.parts).plan(200, 1, 3) for one in (ready, joined)]
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(*plans, strict=True))


def test_held_out_pairs_and_their_copies_are_in_no_corpus(tmp_path):
    """Both corpora have the same 200 sentences: what is held out of one is left out of the other."""
    ready = prepare(PairData(**two(tmp_path, sentences(200), sentences(200), (1, 3))), CHAR, tmp_path / "cache")
    held = set(ready.valid_pairs)
    assert held
    assert not held & set(text_of(ready.train, ready.tokenizers))
    counts = ready.counts
    assert (counts.read, counts.held_out) == (400, 4)
    assert counts.kept + counts.held_out + counts.duplicates_of_validation == 400
    examples = PairExamples(ready.train, ready.tokenizers, parts=ready.parts)
    numbers = np.concatenate(examples.plan(300, 1, 0))
    seen = Counter((numbers % len(ready.train)).tolist())
    first = ready.parts[0].examples
    assert {seen[n] for n in range(first)} == {1}
    assert {seen[n] for n in range(first, len(ready.train))} == {3}


def test_the_cache_knows_files_and_their_order_but_not_weights(tmp_path):
    cache = tmp_path / "cache"
    data = two(tmp_path, sentences(60), sentences(60, 100))
    key = prepare(PairData(**data), CHAR, cache).key
    entry = {path.name: path.stat().st_ino for path in cache.iterdir()}  # the time is that of its last use
    weighted = prepare(PairData(**two(tmp_path, sentences(60), sentences(60, 100), (0.5, 2))), CHAR, cache)
    assert weighted.key == key
    assert [part.weight for part in weighted.parts] == [0.5, 2]
    assert {path.name: path.stat().st_ino for path in cache.iterdir()} == entry
    turned = PairData(corpora=tuple(reversed(PairData(**data).corpora)))
    assert prepare(turned, CHAR, cache).key != key


def test_occurrences_of_a_pair_are_segmented_differently(tmp_path):
    from regard.text.config import TextConfig

    pairs = [(f"the small house number {n}", f"das kleine Haus Nummer {n}") for n in range(80)]
    data = two(tmp_path, pairs, pairs[:1] * 5, (1, 1))
    ready = prepare(PairData(**data), TextConfig(vocabulary=300), tmp_path / "cache")
    examples = PairExamples(ready.train, ready.tokenizers, dropout=0.5, parts=ready.parts)
    total = len(ready.train)
    batch = examples.batch(np.array([7, 7 + total, 7 + 2 * total]), 1, 0)
    assert batch.indices == (7, 7, 7)
    assert len({tuple(row.tolist()) for row in batch.source}) > 1
    parts = examples.split(np.array([7, 7 + total, 3, 5 + total]), 2, 1, 0)
    assert np.concatenate(parts).tolist() == [7, 7 + total, 3, 5 + total]


def test_messages_name_the_file_and_its_line(tmp_path):
    data = two(tmp_path, sentences(30), sentences(30, 100))
    ready = prepare(PairData(**data), CHAR, tmp_path / "cache")
    examples = PairExamples(ready.train, ready.tokenizers, parts=ready.parts)
    last = len(ready.train) - 1
    name = f"{tmp_path}/b.en and {tmp_path}/b.de"
    assert examples.where([np.array([last + len(ready.train)])], 1, 0) == f"training lines {name}:30"


def test_a_corpus_that_adds_nothing_is_refused(tmp_path):
    cache = tmp_path / "cache"
    assert the_error(two(tmp_path, sentences(30), [("", "leer")] * 3), cache).startswith(
        f"{tmp_path}/b.en and {tmp_path}/b.de: no sentence pairs to train on in 3 lines"
    )
    long = [("x" * 40, "y" * 40)] * 3
    message = the_error({**two(tmp_path, sentences(30), long), "max_length": 20}, cache)
    assert f"{tmp_path}/b.en and {tmp_path}/b.de: none of its 3 lines is left to train on" in message


def test_a_stream_may_be_one_of_the_corpora(tmp_path, monkeypatch):
    import io
    import sys

    class Stdin:
        buffer = io.BytesIO(b"".join(f"street {n}\tStrasse {n}\n".encode() for n in range(20)))

    monkeypatch.setattr(sys, "stdin", Stdin())
    data = PairData(corpora=[moses(tmp_path, sentences(30)), {"pairs": "-"}])
    ready = prepare(data, CHAR, tmp_path / "cache")
    assert [part.lines for part in ready.parts] == [30, 20]
