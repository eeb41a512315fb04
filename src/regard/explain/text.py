"""Explains what a language model, a classifier or a masked model makes of one text: its attention weights, and what its other layers mix.

The result is the `Explanation` of a translation, with a text in the place of the sentence: of a language model the target is the text
itself, with the probability of every token; of a classifier it is the label; of a masked model, the most probable piece for each gap.
"""

from typing import Any

import torch
from torch import Tensor

from regard.activity import activity
from regard.errors import ConfigError, DataError, shown
from regard.explain.arrays import NamedArray
from regard.explain.capture import CapturedPass
from regard.explain.explanation import AttentionName, Explanation, LayerMixing, ModelFacts, Outputs, Side
from regard.explain.mixing import layer_mixing, mixers_of, probe_of_mixing, weighted_layers
from regard.models.config import TransformerBase
from regard.ops.probe import Probe
from regard.tasks.checks import check_text
from regard.tasks.classify.classifier import Classifier, LabelServer
from regard.tasks.generate.writer import Writer
from regard.tasks.pretrain.filler import Filler, MaskFiller
from regard.text.reserved_text import encode_reserved
from regard.text.vocabulary import END, Vocabulary

_SHOWN = 80  # characters of a text in an error
RANKS = 10  # tokens or labels shown of each output distribution
MOST_TOKENS = 512
"""Tokens of a text that can be explained: maps of all pairs are part of an explanation."""


Explained = Writer | Classifier | MaskFiller


def explain_text(model: Writer | LabelServer | Filler, text: str, *, name: str | None = None) -> Explanation:
    """Explain what a language model, a classifier or a masked model makes of `text`. `name`: the name to show for the model."""
    check_text(text)
    stack: AttentionName = "decoder" if isinstance(model, Writer) else "encoder"
    if isinstance(model, Filler) and not isinstance(model, MaskFiller):
        raise ConfigError(
            f"a pretrained model of objective {model.config.objective.name!r} cannot be explained yet; there is 'mask'"
        )
    if not isinstance(model, Explained):
        raise ConfigError("a tagger cannot be explained yet; there are translators, language models and classifiers")
    config = None if model.bundle is None else model.bundle.config.model
    mixers = mixers_of(model.network, config).get(stack)
    pools = getattr(model.network, "pooling", None) == "attention"
    if mixers is None and not pools:
        kind = type(model.network).__name__ if config is None else config.kind
        raise ConfigError(
            f"a model of kind {kind!r} has no layers that mix positions; only transformers are explained, "
            "and classifiers with model.pooling 'attention'"
        )
    ids = _encoded(model, text)
    _check_length(model, ids, text)
    with activity("explaining"):
        fed = _fed(model, ids)
        plain = Probe("*")
        logprobs = _logprobs(model, fed, plain)
        captured = CapturedPass(plain, logprobs)
        attention, computation = captured.attention(stack), captured.computation(stack)
        mixing = _mixing(model, fed, stack, mixers or [], plain)
        source, target, chosen = _sides(model, text, ids, logprobs)
        said = logprobs.gather(1, torch.tensor(chosen, device=logprobs.device)[:, None])[:, 0]
        return Explanation(
            model=ModelFacts(
                name=name or ("model" if model.bundle is None else model.bundle.name),
                kind=type(model.network).__name__.lower() if config is None else config.kind,
                score=config.score if isinstance(config, TransformerBase) else None,
                source_language=None,
                target_language=None,
                parameters=sum(parameter.numel() for parameter in model.network.parameters()),
            ),
            source=source,
            target=target,
            given=isinstance(model, Writer),
            logprob=float(said.sum()),
            token_logprobs=NamedArray.of(said, "target"),
            attention={} if attention is None else {stack: attention},
            computation={} if computation is None else {stack: computation},
            outputs=_outputs(model, logprobs, said),
            mixing=mixing,
            pooling=NamedArray.of(plain["pooling.weights"][0], "token") if pools else None,
            task=_task(model),
        )


def _mixing(
    model: Explained, fed: list[int], stack: AttentionName, mixers: list[str], plain: Probe
) -> list[LayerMixing]:
    """The mixing of each layer, from a second pass with gradients; empty of a recurrent network, which has no such layers."""
    if not mixers:
        return []
    probe = probe_of_mixing()
    _logprobs(model, fed, probe, gradients=True)
    return layer_mixing(probe, stack, mixers, weighted_layers(plain, stack, len(mixers)))


def _task(model: Explained) -> str:
    if isinstance(model, MaskFiller):
        return "pretrain"
    return "generate" if isinstance(model, Writer) else "classify"


def _encoded(model: Explained, text: str) -> list[int]:
    """The ids of the text. A masked model needs a gap in it."""
    if isinstance(model, Writer):
        return model.encode(text)
    if not isinstance(model, MaskFiller):
        return model.tokenizer.encode(text)
    if complaint := model.complaint(text):
        raise DataError(f"{shown(text, _SHOWN)!r}: {complaint}")
    if text and not model.gaps.count(text):
        raise DataError(f"{shown(text, _SHOWN)!r}: there is no gap to explain; write <mask> in the place of a piece")
    return encode_reserved(model.tokenizer, model.gaps.named(text))


def _check_length(model: Explained, ids: list[int], text: str) -> None:
    if not ids:
        raise DataError(f"{text!r}: nothing to explain; give a text")
    most = min(MOST_TOKENS, model.network.context or MOST_TOKENS) if isinstance(model, Writer) else MOST_TOKENS
    if not isinstance(model, Writer):
        most = min(most, model.max_tokens)
    if len(ids) > most:
        raise DataError(f"the text has {len(ids)} tokens, and at most {most} are explained; give less")


def _fed(model: Explained, ids: list[int]) -> list[int]:
    """The ids that the network reads: of a language model the start token and all but the last, of another all and an end mark."""
    return [model.network.start_token, *ids[:-1]] if isinstance(model, Writer) else [*ids, Vocabulary.EOS]


def _logprobs(model: Explained, fed: list[int], probe: Probe, *, gradients: bool = False) -> Tensor:
    """[T, V] of a language model, [1, labels] of a classifier, [gaps, V] of a masked model, in float64."""
    with model.evaluating(gradients=gradients) as served:
        network: Any = served
        rows = torch.tensor([fed], device=next(network.parameters()).device)
        nothing = rows[:, :0]
        hidden = (
            network.hidden(nothing, rows, probe) if isinstance(model, Writer) else network.hidden(rows, nothing, probe)
        )
        if isinstance(model, MaskFiller):
            hidden = hidden[:, rows[0] == model.tokenizer.vocabulary.reserved.mask]
        logits: Tensor = network.project(hidden)[0]
        if isinstance(model, MaskFiller):  # as it fills
            logits[:, [index for index in model.tokenizer.vocabulary.special if index < logits.shape[1]]] = -torch.inf
        return torch.log_softmax(logits.double(), dim=-1).detach()


def _sides(model: Explained, text: str, ids: list[int], logprobs: Tensor) -> tuple[Side, Side, list[int]]:
    """(source, target, the chosen output of each step)."""
    pieces = [model.tokenizer.vocabulary.piece(token) for token in ids]
    if isinstance(model, Writer):
        source = Side(text=text, tokens=[], words=[], word_of=[])
        return source, Side(text=text, tokens=pieces, words=text.split(), word_of=[None] * len(pieces)), ids
    first = ["(class)"] if getattr(model.network, "pooling", None) == "class" else []
    tokens = [*first, *pieces, END]
    if isinstance(model, MaskFiller):
        source = Side(text=text, tokens=tokens, words=text.split(), word_of=[None] * len(tokens))
        return source, *_filled(model, ids, logprobs.argmax(dim=1).tolist())
    best = int(logprobs[0].argmax())
    label = model.labels[best]
    source = Side(text=text, tokens=tokens, words=text.split(), word_of=[None] * len(tokens))
    return source, Side(text=label, tokens=[label], words=[label], word_of=[0]), [best]


def _filled(model: MaskFiller, ids: list[int], best: list[int]) -> tuple[Side, list[int]]:
    """(the filled text, of which the tokens are the best piece for each gap; these pieces)."""
    vocabulary, left = model.tokenizer.vocabulary, iter(best)
    text = model.tokenizer.decode([next(left) if token == vocabulary.reserved.mask else token for token in ids])
    pieces = [vocabulary.piece(token) for token in best]
    words = [model.tokenizer.decode([token]) for token in best]
    return Side(text=text, tokens=pieces, words=words, word_of=list(range(len(best)))), best


def _outputs(model: Explained, logprobs: Tensor, said: Tensor) -> Outputs:
    best = logprobs.topk(min(RANKS, logprobs.shape[1]), dim=1)
    names = model.labels if isinstance(model, Classifier) else model.tokenizer.vocabulary.pieces
    return Outputs(
        tokens=[[names[place] for place in row] for row in best.indices.tolist()],
        probabilities=NamedArray.of(best.values.exp(), "target", "rank"),
        said=NamedArray.of(said.exp(), "target"),
    )
