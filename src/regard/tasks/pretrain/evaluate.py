"""Evaluates pretrained models, for the end of training, `regard evaluate` and the report.

The text is corrupted always in the same way. A model of an encoder-decoder is given the true text so far at each token.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regard.activity import activity
from regard.data.corrupted import CorruptedExamples
from regard.models.network import ROWS_AT_ONCE, Learner
from regard.text.reserved_text import decode_reserved
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import Vocabulary
from regard.training.events import Sample
from regard.training.loss import VALIDATION_TOKENS
from regard.training.objective import Evaluation

FINAL_SAMPLES = 12


@dataclass(frozen=True)
class PretrainTest:
    """A test set: texts that are corrupted."""

    examples: CorruptedExamples
    name: str | None = None
    """The set of the run that it is: test or validation."""
    samples: int = 0
    """The number of examples that are shown, for a person to read."""


@dataclass(frozen=True)
class Judgement:
    """How well a model says what stood at the corrupted places."""

    loss: float
    """-log p of a predicted token, in nats."""
    accuracy: float
    """The share of predicted tokens whose most probable token is right."""
    tokens: int
    """Predicted tokens."""


@torch.no_grad()  # not inference mode: a position table that grows here is used in training again
def judged(network: Learner, examples: CorruptedExamples, vocabulary: Vocabulary) -> Judgement:
    """The loss and the accuracy of a network in evaluation mode. End marks and sentinels, which are easy, do not count."""
    device = next(network.parameters()).device
    ordinary = torch.ones(len(vocabulary), dtype=torch.bool, device=device)
    ordinary[list(vocabulary.special)] = False
    total, right, tokens = 0.0, 0, 0
    batches = examples.plan(VALIDATION_TOKENS, seed=0, epoch=0)
    with activity("scoring", len(batches), "batches") as progress:
        for numbers in batches:
            batch = examples.batch(numbers, seed=0, epoch=0).to(device)
            real = ordinary[batch.target_out]
            hidden, targets = network.hidden(batch.source, batch.target_in)[real], batch.target_out[real]
            for rows, wanted in zip(torch.split(hidden, ROWS_AT_ONCE), torch.split(targets, ROWS_AT_ONCE), strict=True):
                logprobs = network.project(rows).log_softmax(dim=-1)
                total -= float(logprobs.gather(1, wanted[:, None]).sum())
                right += int((logprobs.argmax(dim=-1) == wanted).sum())
                tokens += len(wanted)
            progress.advance()
    return Judgement(total / max(1, tokens), right / max(1, tokens), tokens)


@torch.no_grad()
def samples(network: Learner, examples: CorruptedExamples, tokenizer: Tokenizer, count: int) -> tuple[Sample, ...]:
    """Examples from all over a text: what is read, what is wanted, and the most probable token at each predicted place."""
    shown = []
    device = next(network.parameters()).device
    for number in np.unique(np.linspace(0, len(examples) - 1, min(count, len(examples)), dtype=np.int64)):
        batch = examples.batch([int(number)], seed=0, epoch=0).to(device)
        real = batch.target_out[0] != network.target_pad
        best = network.project(network.hidden(batch.source, batch.target_in)[0][real]).argmax(dim=-1)
        rows = (batch.source[0], batch.target_out[0][real], best)
        shown.append(Sample(*(decode_reserved(tokenizer, row.tolist()) for row in rows)))
    return tuple(shown)


def evaluate_pretrained(network: Learner, tokenizer: Tokenizer, test: PretrainTest) -> Evaluation:
    """Loss, perplexity and accuracy at the corrupted places, and examples."""
    judgement = judged(network, test.examples, tokenizer.vocabulary)
    loss = judgement.loss
    metrics: dict[str, Any] = {
        "nats_per_token": loss,
        "perplexity": math.exp(loss) if loss < 700 else math.inf,
        "accuracy": judgement.accuracy,
        "predicted_tokens": judgement.tokens,
        "set": test.name,
    }
    shown = samples(network, test.examples, tokenizer, test.samples) if test.samples else ()
    rows = [{"source": one.source, "reference": one.reference, "hypothesis": one.hypothesis} for one in shown]
    return Evaluation(metrics, rows)
