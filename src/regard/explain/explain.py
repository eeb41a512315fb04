"""Explains the translation of a sentence: translate it, then record one forced pass over the translation."""

from collections.abc import Collection, Sequence

import torch

from regard.activity import activity
from regard.bundle.config import AlignmentConfig
from regard.errors import ConfigError, DataError
from regard.explain.arrays import NamedArray
from regard.explain.attribution import attribute
from regard.explain.beam_tree import beam_tree
from regard.explain.capture import CapturedPass, capture
from regard.explain.exact_tree import exact_tree
from regard.explain.explanation import (
    ATTENTIONS,
    PARTS,
    Explanation,
    LayerMixing,
    ModelFacts,
    Outputs,
    Part,
    Search,
    Side,
)
from regard.explain.mixing import layer_mixing, mixers_of, probe_of_mixing, weighted_layers
from regard.explain.picking import METHODS
from regard.explain.records import AlignmentMap
from regard.explain.structure import structure
from regard.explain.what_if import Change, check_changes, what_if
from regard.models.config import RecurrentConfig, TransformerBase
from regard.search.options import SearchOptions
from regard.tasks.checks import check_list, check_text
from regard.tasks.translate.alignment import best_links, token_weights, word_weights
from regard.tasks.translate.pairs import Pairs
from regard.tasks.translate.translator import Translator
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import END

RANKS = 10  # tokens shown of each output distribution
EXACT_NODES = 2_000  # limit of the exact search; beyond it, its answer is not proved


def explain(
    model: Translator,
    text: str,
    *,
    target: str | None = None,
    beam: int = 5,
    alpha: float = 1.0,
    parts: Collection[Part] | None = None,
    changes: Sequence[Change] = (),
    name: str | None = None,
) -> Explanation:
    """Explain the model's translation of `text`, or the given `target`.

    `parts`: the costly parts to include (by default all). `changes`: interventions to try. `name`: the name to show for the model.
    """
    parts = PARTS if parts is None else parts
    check_request(model, text, target=target, beam=beam, alpha=alpha, parts=parts, changes=changes)
    with activity("explaining"):
        return _explanation(model, text, target, beam, alpha, parts, changes, name)


def check_request(
    model: Translator,
    text: str,
    *,
    target: str | None = None,
    beam: int = 5,
    alpha: float = 1.0,
    parts: Collection[Part] = (),
    changes: Sequence[Change] = (),
) -> None:
    """Refuse what `explain` cannot do, without its slow work. The arguments are those of `explain`."""
    check_text(text)
    if target is not None:
        check_text(target, "target")
    check_list(parts, "parts", f"parts={list(PARTS[:2])}")
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise ConfigError(f"part {unknown[0]!r} of an explanation: not one of {', '.join(PARTS)}")
    SearchOptions(beam=beam, alpha=alpha)
    source_ids = model.tokenizers.source.encode(text)
    if not source_ids:
        raise DataError(f"{text!r}: nothing to explain; give a sentence")
    target_ids = [] if target is None else model.tokenizers.target.encode(target)
    for which, ids in (("source", source_ids), ("target", target_ids)):
        if len(ids) > model.max_tokens:
            raise DataError(f"the {which} has {len(ids)} tokens, and at most {model.max_tokens} are read; give less")
    check_changes(model, side(model.tokenizers.source, source_ids), source_ids, changes)


def _explanation(
    model: Translator,
    text: str,
    target: str | None,
    beam: int,
    alpha: float,
    parts: Collection[Part],
    changes: Sequence[Change],
    name: str | None,
) -> Explanation:
    source_ids = model.tokenizers.source.encode(text)
    if target is None:
        [best] = model.translate([text], beam=beam, alpha=alpha)
        target_ids = [model.tokenizers.target.vocabulary.id_of(piece) for piece in best.tokens]
    else:
        target_ids = model.tokenizers.target.encode(target)
    captured = capture(model, source_ids, target_ids)
    source, translation = side(model.tokenizers.source, source_ids), side(model.tokenizers.target, target_ids)
    wanted = torch.tensor([*target_ids, model.network.end_token], device=captured.logprobs.device)
    token_logprobs = captured.logprobs.gather(1, wanted[:, None])[:, 0]
    attention = {kind: weights for kind in ATTENTIONS if (weights := captured.attention(kind)) is not None}
    computation = {kind: steps for kind in attention if (steps := captured.computation(kind)) is not None}
    alignments = _alignments(model, source_ids, target_ids) if "cross" in attention else {}
    first_map = next(iter(alignments.values())).weights if alignments else None
    return Explanation(
        model=model_facts(model, name),
        source=source,
        target=translation,
        given=target is not None,
        logprob=float(token_logprobs.sum()),
        token_logprobs=NamedArray.of(token_logprobs, "target"),
        attention=attention,
        outputs=_outputs(model, captured, token_logprobs),
        computation=computation if "computation" in parts else {},
        alignments=alignments,
        mixing=_mixing(model, captured, source_ids, target_ids) if "mixing" in parts else (),
        searches=_searches(model, text, beam, alpha) if "searches" in parts else (),
        attribution=(
            attribute(model, source_ids, target_ids, source, translation, first_map) if "attribution" in parts else None
        ),
        what_if=[what_if(model, source, target_ids, attention, change, beam=beam, alpha=alpha) for change in changes],
        structure=structure(model, source_ids, target_ids) if "structure" in parts else None,
    )


def side(tokenizer: Tokenizer, ids: list[int]) -> Side:
    """The tokens and words of one side. `ids` have no end mark."""
    text = tokenizer.decode(ids)
    return Side(
        text=text,
        tokens=[*(tokenizer.vocabulary.piece(token) for token in ids), END],
        words=text.split(),
        word_of=[*(word if word >= 0 else None for word in tokenizer.words(ids)), None],
    )


def model_facts(model: Translator, name: str | None) -> ModelFacts:
    """The name, kind, languages and size of a model."""
    config = None if model.bundle is None else model.bundle.config.model
    return ModelFacts(
        name=name or ("model" if model.bundle is None else model.bundle.name),
        kind=type(model.network).__name__.lower() if config is None else config.kind,
        score=config.score if isinstance(config, TransformerBase | RecurrentConfig) else None,
        source_language=model.languages.source,
        target_language=model.languages.target,
        parameters=sum(parameter.numel() for parameter in model.network.parameters()),
    )


def _outputs(model: Translator, captured: CapturedPass, token_logprobs: torch.Tensor) -> Outputs:
    best = captured.logprobs.topk(min(RANKS, captured.logprobs.shape[1]), dim=1)
    pieces = model.tokenizers.target.vocabulary
    return Outputs(
        tokens=[[pieces.piece(token) for token in row] for row in best.indices.tolist()],
        probabilities=NamedArray.of(best.values.exp(), "target", "rank"),
        said=NamedArray.of(token_logprobs.exp(), "target"),
    )


def _mixing(
    model: Translator, captured: CapturedPass, source_ids: list[int], target_ids: list[int]
) -> list[LayerMixing]:
    """The mixing of each layer, if a layer has no attention weights."""
    stacks = mixers_of(model.network, None if model.bundle is None else model.bundle.config.model)
    weighted = {stack: weighted_layers(captured.probe, stack, len(names)) for stack, names in stacks.items()}
    if all(len(weighted[stack]) == len(names) for stack, names in stacks.items()):
        return []
    probe = probe_of_mixing()
    model.forced([source_ids], [target_ids], probe, gradients=True)
    return [layer for stack, names in stacks.items() for layer in layer_mixing(probe, stack, names, weighted[stack])]


def _alignments(model: Translator, source_ids: list[int], target_ids: list[int]) -> dict[str, AlignmentMap]:
    """The alignment map of each method, with all heads averaged, and first that of the model's own settings if they differ."""
    source, target = side(model.tokenizers.source, source_ids), side(model.tokenizers.target, target_ids)
    if not (source.words and target.words):
        return {}
    settings: dict[str, AlignmentConfig] = {method: AlignmentConfig(method=method) for method in METHODS}
    if model.alignment not in settings.values():
        settings = {"picked": model.alignment, **settings}
    maps = {}
    for name, config in settings.items():
        [stack] = model.evidence(Pairs([source_ids], [target_ids]), config.method)
        weights = word_weights(
            token_weights(stack, config.layer, config.heads, config.shift),
            model.tokenizers.source.words(source_ids),
            model.tokenizers.target.words(target_ids),
            len(source.words),
            len(target.words),
        )
        links = best_links(weights, config.links, config.least)
        maps[name] = AlignmentMap(source.words, target.words, weights.tolist(), links)
    return maps


def _searches(model: Translator, text: str, beam: int, alpha: float) -> list[Search]:
    """The results and trees of greedy, beam and exact search."""
    with activity("greedy, beam and exact search"):
        searches = {
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
        for name, (best, tree) in searches.items()
    ]
