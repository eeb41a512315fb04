"""A model measured on text: loss under teacher forcing, and what its translations are worth."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from regard.data.examples import ExampleSet
from regard.engine.model import Model
from regard.metrics.translation import bleu, chrf, exact_match
from regard.train.loss import TeacherForced, batch_loss

VALIDATION_TOKENS = 4096


def corpus_loss(network: TeacherForced, examples: ExampleSet, device: torch.device) -> float:
    """-log p of what is expected per token, end marks counted, in nats."""
    total, tokens = 0.0, 0
    with torch.no_grad():  # not inference mode: a table of positions that grows here is used in training again
        for numbers in examples.plan(VALIDATION_TOKENS, seed=0, epoch=0):
            batch = examples.batch(numbers, seed=0, epoch=0)
            _, nll = batch_loss(network, batch, 0.0, device)
            total += float(nll)
            tokens += batch.tokens
    return total / tokens


@dataclass(frozen=True, slots=True)
class Quality:
    """Greedy translations and their scores."""

    hypotheses: list[str]
    bleu: float
    chrf: float
    exact_match: float


def quality(model: Model, pairs: Sequence[tuple[str, str]]) -> Quality:
    """Translate the sources greedily and compare with the references."""
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    hypotheses = [translation.text for translation in model.translate(sources, beam=1)]
    return Quality(
        hypotheses,
        bleu(hypotheses, references).value,
        chrf(hypotheses, references).value,
        exact_match(hypotheses, references),
    )
