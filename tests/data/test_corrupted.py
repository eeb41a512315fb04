"""Corrupted examples: contexts of texts, the same whatever the batch, the worker or the number of readings."""

import numpy as np
import pytest

from regard.data.corrupted import CorruptedExamples
from regard.data.objectives import OBJECTIVES
from regard.data.texts import TextCorpus, write_texts
from regard.text.build import learn
from regard.text.config import OneTextConfig

LINES = ["the cat sat on the mat. it slept", "", "a dog", "x", "the old sailor saw three lighthouses " * 4] * 6
LONGEST = 20


@pytest.fixture(scope="module")
def tokenizer():
    return learn(OneTextConfig.parse({"vocabulary": 360, "reserved": {"mask": True, "sentinels": 12}}), LINES)


@pytest.fixture(params=[(kind, documents) for kind in OBJECTIVES for documents in ("line", "file")], ids=str)
def examples(request, tokenizer, tmp_path):
    kind, documents = request.param
    write_texts(tmp_path, LINES, tokenizer, documents)
    objective, vocabulary = OBJECTIVES[kind](), tokenizer.vocabulary
    return CorruptedExamples(
        TextCorpus(tmp_path),
        vocabulary,
        objective.corrupter(vocabulary),
        LONGEST,
        in_place=objective.in_place,
        lines=documents == "line",
        moving=documents == "line",
    )


def rows(batch, pad):
    """(indices, source, target) of each example, without padding on the right."""
    for index, source, target in zip(batch.indices, batch.source.tolist(), batch.target_out.tolist(), strict=True):
        while source[-1] == pad:
            source.pop()
        while target and target[-1] == pad:
            target.pop()
        yield index, source, target


def test_an_example_does_not_depend_on_its_batch(examples, tokenizer):
    pad = tokenizer.vocabulary.pad
    for epoch in (0, 3):
        found = {}
        for batch in examples.plan(120, seed=7, epoch=epoch):
            for part in examples.split(batch, 2, 7, epoch):
                if len(part):
                    made = examples.batch(part, 7, epoch)
                    assert max(made.source.numel(), made.target_out.numel()) <= 120
                    assert made.tokens == int((made.target_out != pad).sum())
                    found |= {index: (source, target) for index, source, target in rows(made, pad)}
        assert sorted(found) == list(range(len(examples.plan(1, 7, epoch))))
        for index, alone in found.items():
            [(_, *again)] = rows(examples.batch([index], 7, epoch), pad)
            assert tuple(again) == alone
            assert 0 not in alone[0][:-1]
            assert alone[0][-1] == 0, "one end mark, at the end"


def test_epochs_and_seeds_corrupt_otherwise(examples):
    longest = int(np.argmax(examples._contexts.of(1, 0)[1]))
    seen = {tuple(examples.corrupted(longest, seed, epoch).source.tolist()) for seed in (1, 2) for epoch in range(4)}
    assert len(seen) > 4


def test_readings_have_the_same_corruption(examples):
    once, twice = examples.batch([0, 2], 1, 1), examples.batch([0, 2], 1, 1, readings=2)
    assert twice.source.tolist() == once.source.tolist() * 2
    assert twice.target_out.tolist() == once.target_out.tolist()
