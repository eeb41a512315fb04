"""Evaluates language models by perplexity, for the end of training, `regard evaluate` and the report."""

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.readers import read_lines
from regard.data.texts import TextCorpus, write_texts
from regard.errors import DataError
from regard.metrics.perplexity import text_perplexities
from regard.tasks.generate.writer import Writer
from regard.training.events import Sample
from regard.training.objective import Evaluation

PROMPT, CONTINUED = 24, 64  # tokens of a sample
FINAL_SAMPLES = 12
TOP_P = 0.95  # nucleus sampling, so that samples avoid improbable tokens


@dataclass(frozen=True)
class GenerateTest:
    """A test set: an encoded text."""

    corpus: TextCorpus
    name: str | None = None
    """The set of the run that it is: test or validation."""
    samples: int = 0
    """The number of samples: passages that the model continues, for a person to read."""


def evaluate_writer(writer: Writer, test: GenerateTest) -> Evaluation:
    """The perplexities of the text, and examples of how the model continues it."""
    metrics: dict[str, Any] = {**corpus_perplexities(writer, test.corpus), "set": test.name}
    samples = continuations(writer, test.corpus, test.samples) if test.samples else ()
    rows = [{"prompt": sample.source, "reference": sample.reference, "text": sample.hypothesis} for sample in samples]
    return Evaluation(metrics, rows)


def corpus_perplexities(writer: Writer, corpus: TextCorpus) -> dict[str, float | int]:
    """The perplexities of a text. Every token is scored with at least half a context, if that much text precedes it."""
    documents = np.split(corpus.ids, corpus.offsets[1:-1])
    total = -sum(float(logprobs.sum()) for logprobs in writer.logprobs(documents))
    counts = corpus.counts
    perplexities = text_perplexities(total, tokens=counts.tokens, words=counts.words, size=counts.bytes)
    sizes = {"evaluated_tokens": counts.tokens, "evaluated_words": counts.words, "evaluated_bytes": counts.bytes}
    return {"nats_per_token": total / counts.tokens, **perplexities, **sizes}


def continuations(writer: Writer, corpus: TextCorpus, count: int) -> tuple[Sample, ...]:
    """Passages from all over a text, each with its true continuation and the model's."""
    if writer.texts.documents == "line":
        starts = corpus.begins[np.linspace(0, len(corpus.begins) - 1, min(count, len(corpus.begins)), dtype=np.int64)]
        ends = [int(corpus.offsets[np.searchsorted(corpus.offsets, start, side="right")]) for start in starts]
    else:
        starts = np.linspace(0, max(0, len(corpus.ids) - PROMPT - CONTINUED), count, dtype=np.int64)
        ends = [len(corpus.ids)] * count
    prompts, references = [], []
    for start, end in zip(starts.tolist(), ends, strict=True):
        ids = [int(token) for token in corpus.ids[start : min(end, start + PROMPT + CONTINUED)]]
        prompt = ids[: min(PROMPT, len(ids) // 2, writer.texts.context // 2)]
        prompts.append(writer.text(prompt))
        references.append(writer.continued(prompt, ids[len(prompt) :]))
    generations = writer.generate(prompts, max_length=CONTINUED, top_p=TOP_P)
    return tuple(map(Sample, prompts, references, (generation.text for generation in generations)))


def test_from_flags(writer: Writer, flags: Mapping[str, Any]) -> GenerateTest:
    """The test set of `regard evaluate --text F`."""
    text = flags["text"]
    home = Path(tempfile.mkdtemp())  # a text may be longer than memory
    test = None
    try:
        counts = write_texts(home, read_lines(text), writer.tokenizer, writer.texts.documents)
        if not counts.words:
            raise DataError(f"{text}: no text to evaluate on; give a file that has some")
        test = GenerateTest(TextCorpus(home))
    finally:
        if test is None:
            shutil.rmtree(home, ignore_errors=True)
    weakref.finalize(test, shutil.rmtree, home, ignore_errors=True)
    return test
