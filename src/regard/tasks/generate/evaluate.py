"""Evaluates language models by perplexity, for the end of training, `regard evaluate` and the report."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.texts import TextCorpus
from regard.metrics.perplexity import text_perplexities
from regard.tasks.encoded_text import encoded_text
from regard.tasks.generate.writer import Writer
from regard.text.lines import newline_of
from regard.text.normalise import SPACE_MARK
from regard.text.tokenizer import word_ends
from regard.text.vocabulary import BYTE_PIECES
from regard.training.events import Sample
from regard.training.objective import Evaluation

PROMPT, CONTINUED = 24, 64  # tokens of a sample
FINAL_SAMPLES = 12
EXAMPLES = 3  # words without a probability that a note names
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
    notes = [*_spelled(writer, test.corpus)]
    if metrics["nats_per_token"] == math.inf:
        notes.append(_infinite(writer, test.corpus))
    if notes:
        metrics["notes"] = notes
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
    """Passages from all over a text, each with its true continuation and the model's. They begin and are cut between words."""
    prompts, references = [], []
    for ids in _passages(writer, corpus, count):
        prompt = ids[: _words_within(writer, ids, min(PROMPT, len(ids) // 2, writer.texts.context // 2))]
        prompts.append(writer.text(prompt))
        references.append(writer.continued(prompt, ids[len(prompt) :]))
    generations = writer.generate(prompts, max_length=CONTINUED, top_p=TOP_P)
    return tuple(map(Sample, prompts, references, (generation.text for generation in generations)))


def _passages(writer: Writer, corpus: TextCorpus, count: int) -> list[list[int]]:
    """Up to `count` different passages: the beginnings of documents; of one running text, passages that begin with a word."""
    if writer.texts.documents == "line":
        chosen = np.linspace(0, len(corpus.begins) - 1, min(count, len(corpus.begins)), dtype=np.int64)
        spans = [(int(corpus.offsets[number]), int(corpus.offsets[number + 1])) for number in chosen]
    else:
        starts = np.linspace(0, max(0, len(corpus.ids) - PROMPT - CONTINUED), count, dtype=np.int64)
        begins = dict.fromkeys(_word_begin(writer, corpus, int(start)) for start in starts)
        spans = [(start, len(corpus.ids)) for start in begins]
    return [corpus.ids[start : min(end, start + PROMPT + CONTINUED)].tolist() for start, end in spans]


def _word_begin(writer: Writer, corpus: TextCorpus, start: int) -> int:
    """The first place from `start` on where a word begins; `start` itself within a very long word."""
    if not start:
        return 0
    first_end, *_ = word_ends(writer.tokenizer, corpus.ids[start - 1 : start + PROMPT].tolist())
    return start + first_end if first_end < PROMPT else start


def _words_within(writer: Writer, ids: list[int], most: int) -> int:
    """How many of the first tokens are whole words, at most `most`; `most` if the first word is longer."""
    return max((end + 1 for end in word_ends(writer.tokenizer, ids) if end < most), default=most)


def _spelled(writer: Writer, corpus: TextCorpus) -> Iterator[str]:
    """A note on unknown words, which a word tokenizer spells in bytes: they make the perplexity per token look better."""
    if writer.tokenizer.kind != "word":
        return
    vocabulary = writer.tokenizer.vocabulary
    words = int(np.count_nonzero(corpus.ids == vocabulary.id_of(SPACE_MARK)))  # a known word has its mark in its piece
    if words:
        spelling = {vocabulary.id_of(piece) for piece in BYTE_PIECES} - {newline_of(vocabulary)}
        tokens = words + int(np.isin(corpus.ids, list(spelling)).sum())
        yield (
            f"{words:,} of {corpus.counts.words:,} words are unknown: they are spelled in {tokens:,} tokens, and the perplexity per token "
            "counts each of these; the perplexity per word counts each word once"
        )


def _infinite(writer: Writer, corpus: TextCorpus) -> str:
    """Explains an infinite perplexity: the first words without a probability, and what to do."""
    documents = np.split(corpus.ids, corpus.offsets[1:-1])
    impossible = 0
    examples: dict[str, None] = {}
    for ids, logprobs in zip(documents, writer.logprobs(documents), strict=True):
        places = np.flatnonzero(logprobs == -np.inf)
        impossible += len(places)
        for place in places:
            if len(examples) < EXAMPLES:
                examples[_word_at(writer, ids, int(place))] = None
    return (
        f"the perplexity is infinite: {impossible:,} of {len(corpus.ids):,} tokens have no probability, as the training text has them "
        f"nowhere in their context ({', '.join(examples)}); model.smoothing = 'kneser_ney' gives every token some"
    )


def _word_at(writer: Writer, ids: NDArray[Any], place: int) -> str:
    """A word of a document and the one before it, such as 'photos' after 'my'."""
    tokenizer = writer.tokenizer
    ends = np.flatnonzero(np.isin(ids, (newline_of(tokenizer.vocabulary), tokenizer.vocabulary.EOS)))
    begin = max(ends[ends < place], default=-1) + 1
    line = ids[begin : min(ends[ends >= place], default=len(ids))].tolist()
    words = tokenizer.decode(line).split(" ")
    if place == begin + len(line):
        return f"the end after {words[-1]!r}"
    number = tokenizer.words(line)[place - begin]
    return f"{words[number]!r} after {words[number - 1]!r}" if number else f"{words[number]!r} at the start"


def test_from_flags(writer: Writer, flags: Mapping[str, Any]) -> GenerateTest:
    """The test set of `regard evaluate --text F`."""
    return GenerateTest(encoded_text(flags["text"], writer.tokenizer, writer.texts.documents))
