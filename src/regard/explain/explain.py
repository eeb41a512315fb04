"""From a model and a sentence to an `Explanation`: translate, then look at one forced pass over what was said."""

from collections.abc import Collection, Sequence
from typing import Literal, get_args

import torch

from regard.engine.alignment import AlignmentConfig, best_links, token_weights, word_weights
from regard.engine.model import Model
from regard.engine.pairs import Pairs
from regard.errors import ConfigError, DataError
from regard.explain.arrays import NamedArray
from regard.explain.attribution import attribute
from regard.explain.beam_tree import beam_tree
from regard.explain.capture import Captured, capture
from regard.explain.exact_tree import exact_tree
from regard.explain.explanation import ATTENTIONS, Explanation, ModelFacts, Outputs, Search, Side
from regard.explain.picking import METHODS
from regard.explain.records import AlignmentMap
from regard.explain.structure import structure
from regard.explain.what_if import Change, what_if
from regard.models.config import RecurrentConfig, TransformerConfig
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import END

Part = Literal["computation", "searches", "attribution", "structure"]
PARTS: tuple[Part, ...] = get_args(Part)
RANKS = 10  # tokens shown of each output distribution
EXACT_NODES = 2_000  # that the exact search may take; past it, its answer is not proved


def explain(
    model: Model,
    text: str,
    *,
    target: str | None = None,
    beam: int = 5,
    alpha: float = 1.0,
    parts: Collection[Part] = PARTS,
    changes: Sequence[Change] = (),
    name: str | None = None,
) -> Explanation:
    """Everything that can be seen of the translation of `text`, or of the `target` that is given.

    `parts` leaves out what costs most; `changes` is what is tried beside it; `name` is what the model is called.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ConfigError(f"part {unknown[0]!r} of an explanation: not one of {', '.join(PARTS)}")
    source_ids = model.tokenizers.source.encode(text)
    if not source_ids:
        raise DataError(f"{text!r}: nothing to explain; give a sentence")
    if target is None:
        [found] = model.translate([text], beam=beam, alpha=alpha)
        target_ids = [model.tokenizers.target.vocabulary.id_of(piece) for piece in found.tokens]
    else:
        target_ids = model.tokenizers.target.encode(target)
    for which, ids in (("source", source_ids), ("target", target_ids)):
        if len(ids) > model.max_tokens:
            raise DataError(f"the {which} has {len(ids)} tokens, and at most {model.max_tokens} are read; give less")
    seen = capture(model, source_ids, target_ids)
    source, said = side(model.tokenizers.source, source_ids), side(model.tokenizers.target, target_ids)
    wanted = torch.tensor([*target_ids, model.network.end_token], device=seen.logprobs.device)
    token_logprobs = seen.logprobs.gather(1, wanted[:, None])[:, 0]
    attention = {kind: weights for kind in ATTENTIONS if (weights := seen.attention(kind)) is not None}
    computation = {kind: steps for kind in attention if (steps := seen.computation(kind)) is not None}
    alignments = _alignments(model, source_ids, target_ids) if "cross" in attention else {}
    looked = next(iter(alignments.values())).weights if alignments else None
    return Explanation(
        model=facts(model, name),
        source=source,
        target=said,
        given=target is not None,
        logprob=float(token_logprobs.sum()),
        token_logprobs=NamedArray.of(token_logprobs, "target"),
        attention=attention,
        outputs=_outputs(model, seen, token_logprobs),
        computation=computation if "computation" in parts else {},
        alignments=alignments,
        searches=_searches(model, text, beam, alpha) if "searches" in parts else (),
        attribution=(
            attribute(model, source_ids, target_ids, source, said, looked) if "attribution" in parts else None
        ),
        what_if=[what_if(model, source, target_ids, attention, change, beam=beam, alpha=alpha) for change in changes],
        structure=structure(model, source_ids, target_ids) if "structure" in parts else None,
    )


def side(tokenizer: Tokenizer, ids: list[int]) -> Side:
    """Tokens and words of one side; `ids` without an end mark."""
    text = tokenizer.decode(ids)
    return Side(
        text=text,
        tokens=[*(tokenizer.vocabulary.piece(token) for token in ids), END],
        words=text.split(),
        word_of=[*tokenizer.words(ids), None],
    )


def facts(model: Model, name: str | None) -> ModelFacts:
    """What is known of a model beside its weights."""
    config = None if model.bundle is None else model.bundle.config.model
    return ModelFacts(
        name=name or ("model" if model.bundle is None else model.bundle.directory.resolve().name),
        kind=type(model.network).__name__.lower() if config is None else config.kind,
        score=config.score if isinstance(config, TransformerConfig | RecurrentConfig) else None,
        source_language=model.languages.source,
        target_language=model.languages.target,
        parameters=sum(parameter.numel() for parameter in model.network.parameters()),
    )


def _outputs(model: Model, seen: Captured, token_logprobs: torch.Tensor) -> Outputs:
    best = seen.logprobs.topk(min(RANKS, seen.logprobs.shape[1]), dim=1)
    pieces = model.tokenizers.target.vocabulary
    return Outputs(
        tokens=[[pieces.piece(token) for token in row] for row in best.indices.tolist()],
        probabilities=NamedArray.of(best.values.exp(), "target", "rank"),
        said=NamedArray.of(token_logprobs.exp(), "target"),
    )


def _alignments(model: Model, source_ids: list[int], target_ids: list[int]) -> dict[str, AlignmentMap]:
    """The map of each method: the mean of all heads, and the model's own way where it has one."""
    source, target = side(model.tokenizers.source, source_ids), side(model.tokenizers.target, target_ids)
    if not (source.words and target.words):
        return {}
    ways: dict[str, AlignmentConfig] = {method: AlignmentConfig(method=method) for method in METHODS}
    if model.alignment not in ways.values():
        ways = {"picked": model.alignment, **ways}
    maps = {}
    for name, way in ways.items():
        [stack] = model.evidence(Pairs([source_ids], [target_ids]), way.method)
        weights = word_weights(
            token_weights(stack, way.layer, way.heads, way.said),
            model.tokenizers.source.words(source_ids),
            model.tokenizers.target.words(target_ids),
            len(source.words),
            len(target.words),
        )
        links = best_links(weights, way.links, way.least)
        maps[name] = AlignmentMap(source.words, target.words, weights.tolist(), links)
    return maps


def _searches(model: Model, text: str, beam: int, alpha: float) -> list[Search]:
    """Greedy, beam and exact, each by itself, with all that it looked at."""
    found = {
        "greedy": beam_tree(model, text, beam=1, alpha=alpha),
        "beam": beam_tree(model, text, beam=beam, alpha=alpha),
        "exact": exact_tree(model, text, beam=beam, node_limit=EXACT_NODES),
    }
    target = model.tokenizers.target
    return [
        Search(
            name=name,
            text=target.decode(best.tokens),
            tokens=[target.vocabulary.piece(token) for token in best.tokens],
            logprob=best.logprob,
            score=best.score,
            finished=best.finished,
            tree=tree,
            nodes=None if best.proof is None else best.proof.nodes,
            proved=None if best.proof is None else best.proof.proved,
        )
        for name, (best, tree) in found.items()
    ]
