"""Generating text, as a run's objective: contexts, perplexities, and beginnings of the validation text that the model goes on with."""

from pathlib import Path

import numpy as np
import torch

from regard.bundle.config import BundleConfig, Languages, TextsConfig
from regard.data.examples import Contexts
from regard.data.prepare_texts import PreparedTexts
from regard.data.texts import TextCorpus
from regard.engine.load import load_writer
from regard.engine.writer import Writer
from regard.metrics.perplexity import text_perplexities
from regard.models.config import MarkovConfig
from regard.models.network import Learner, NextToken
from regard.text.build import TokenizerPair
from regard.train.config import RunConfig
from regard.train.events import Sample
from regard.train.objective import Final, Measured
from regard.train.start import inherited
from regard.train.translating import vocabulary_sizes
from regard.train.validate import corpus_loss

PROMPT, CONTINUED = 24, 64  # tokens of a sample
FINAL_SAMPLES = 12
COUNTED = 1024  # tokens that are scored at once by a counted model, which remembers fewer than half of them
TOP_P = 0.95  # what is drawn for a sample is not the least probable


class Generating:
    """An objective."""

    def __init__(self, config: RunConfig, prepared: PreparedTexts, base: BundleConfig | None = None) -> None:
        self.config, self.prepared = config, prepared
        pad, longest = prepared.tokenizers.target.vocabulary.pad, config.data.max_length
        self.examples = Contexts(prepared.train, pad, longest, moving=True)
        self._valid = Contexts(prepared.valid, pad, longest, moving=False)
        counted = isinstance(config.model, MarkovConfig)
        self.texts = TextsConfig(documents=config.data.documents, context=COUNTED if counted else longest)
        own = BundleConfig(
            task="generate",
            model=config.model,
            languages=Languages(target=prepared.language),
            vocabulary=vocabulary_sizes(prepared.tokenizers),
            texts=self.texts,
        )
        self.bundle = inherited(own, base)

    @property
    def key(self) -> str:
        return self.prepared.key

    @property
    def tokenizers(self) -> TokenizerPair:
        return self.prepared.tokenizers

    @property
    def left_out(self) -> dict[str, int]:
        held_out = self.prepared.valid.counts.lines if self.prepared.held_out else 0
        return {"empty": self.prepared.train.counts.empty, "held_out": held_out}

    def begin(self, network: Learner) -> None:
        """Nothing is known before the first step."""

    def loss(self, network: Learner, device: torch.device) -> float:
        return corpus_loss(network, self._valid, device)

    def measure(self, network: Learner | NextToken, loss: float) -> Measured:
        assert isinstance(network, NextToken)
        counts = self.prepared.valid.counts
        scores = text_perplexities(loss * counts.tokens, tokens=counts.tokens, words=counts.words, size=counts.bytes)
        return Measured(
            value=-loss,
            scores={name: scores[name] for name in ("perplexity_word", "bits_per_byte")},
            samples=samples(self.writer(network), self.prepared.valid, self.config.train.samples),
        )

    def judge(self, run: Path, device: torch.device) -> Final:
        writer = load_writer(run, device)
        test = self.prepared.test
        corpus = self.prepared.valid if test is None else test
        metrics = {**evaluate_corpus(writer, corpus), "set": "validation" if test is None else "test"}
        shown = samples(writer, corpus, FINAL_SAMPLES)
        rows = [{"prompt": one.source, "reference": one.reference, "text": one.hypothesis} for one in shown]
        return Final(metrics, rows, "samples.jsonl")

    def writer(self, network: NextToken) -> Writer:
        """The network, ready to write."""
        return Writer(network, self.tokenizers.target, self.texts)


def evaluate_corpus(writer: Writer, corpus: TextCorpus) -> dict[str, float | int]:
    """The perplexities of a text, every token behind at least half a context where there is as much before it."""
    documents = np.split(corpus.ids, corpus.offsets[1:-1])
    total = -sum(float(logprobs.sum()) for logprobs in writer.logprobs(documents))
    counts = corpus.counts
    found = text_perplexities(total, tokens=counts.tokens, words=counts.words, size=counts.bytes)
    sizes = {"evaluated_tokens": counts.tokens, "evaluated_words": counts.words, "evaluated_bytes": counts.bytes}
    return {"nats_per_token": total / counts.tokens, **found, **sizes}


def samples(writer: Writer, corpus: TextCorpus, count: int) -> tuple[Sample, ...]:
    """Beginnings from all over a text, how it goes on, and how the model goes on."""
    if writer.texts.documents == "line":
        starts = corpus.begins[np.linspace(0, len(corpus.begins) - 1, min(count, len(corpus.begins)), dtype=np.int64)]
        ends = [int(corpus.offsets[np.searchsorted(corpus.offsets, start, side="right")]) for start in starts]
    else:
        starts = np.linspace(0, max(0, len(corpus.ids) - PROMPT - CONTINUED), count, dtype=np.int64)
        ends = [len(corpus.ids)] * count
    prompts, references = [], []
    for start, end in zip(starts.tolist(), ends, strict=True):
        ids = [int(token) for token in corpus.ids[start : min(end, start + PROMPT + CONTINUED)]]
        told = ids[: min(PROMPT, len(ids) // 2, writer.texts.context // 2)]
        prompts.append(writer.text(told))
        references.append(writer.continued(told, ids[len(told) :]))
    written = writer.generate(prompts, max_length=CONTINUED, top_p=TOP_P)
    return tuple(map(Sample, prompts, references, (one.text for one in written)))
