"""`regard explain` for translators, language models, classifiers of texts and masked models: its checks, its remarks and its lines."""

from collections.abc import Callable, Sequence
from pathlib import Path

from regard.errors import ConfigError, shown
from regard.explain.copying import gates
from regard.explain.explain import check_request
from regard.explain.explain import explain as explain_translation
from regard.explain.explanation import AttentionName, Explanation, LayerMixing
from regard.explain.requests import Given
from regard.explain.sentence_figure import check_drawable
from regard.explain.sentence_page import PICTURES, check_output
from regard.explain.what_if import Change, parse_head, parse_replacement
from regard.models.config import PrefixConfig, TransformerBase
from regard.tasks.translate.translator import Translator

CHANGES: dict[str, Callable[[str], Change]] = {
    "prefix": lambda text: Change(prefix=text),
    "replace": lambda text: Change(replace=parse_replacement(text)),
    "mask": lambda word: Change(mask=word),
    "without": lambda head: Change(head=parse_head(head)),
}
"""Option -> the change of the sentence or the network that one value of it means."""
GAP_PIECES = 5
"""Pieces that the text form shows for a gap."""


def explain_sentence(
    model: Translator,
    sentence: str,
    *,
    name: str,
    target: str | None = None,
    beam: int = 5,
    alpha: float = 1.0,
    prefix: Sequence[str] = (),
    replace: Sequence[str] = (),
    mask: Sequence[str] = (),
    without: Sequence[str] = (),
) -> Explanation:
    """The explanation of a translation, with the changes that the options ask for."""
    given = {"prefix": prefix, "replace": replace, "mask": mask, "without": without}
    return explain_translation(
        model, sentence, target=target, beam=beam, alpha=alpha, changes=changes(given), name=name
    )


def check_sentence(model: Translator, sentence: str, name: str, given: Given, out: Path | None) -> None:
    """Refuse what cannot be explained or drawn of a translation."""
    if out is not None and out.suffix in PICTURES and model.bundle is not None:
        check_drawable(name, aligns=model.bundle.config.aligns)
    beam, alpha = given.get("beam", 5), given.get("alpha", 1.0)
    check_request(model, sentence, target=given.get("target"), beam=beam, alpha=alpha, changes=changes(given))


def changes(given: Given) -> list[Change]:
    """The changes that the options ask for, in the order of `CHANGES`."""
    return [make(value) for option, make in CHANGES.items() for value in given.get(option, ())]


def check_text_output(path: Path) -> None:
    """Refuse a file that what is made of a text cannot be written to."""
    check_output(path)
    if path.suffix in PICTURES:
        raise ConfigError(f"{path}: only a translation is drawn; write .html or .json")


def notes_on_weights(model: Translator, explanation: Explanation) -> list[str]:
    """Which layers have no attention weights, because their mixer computes none; and weights that two parts share."""
    config = None if model.bundle is None else model.bundle.config.model
    notes = []
    if written := gates(model, explanation):
        tokens = (f"{shown(token)} {gate:.2f}" for token, gate in zip(explanation.target.tokens, written, strict=True))
        notes.append(f"gate of each token, 1: written, 0: copied: {', '.join(tokens)}")
    if not isinstance(config, TransformerBase):
        return notes
    if isinstance(config, PrefixConfig):
        notes.append("decoder and cross share one softmax: the weights of a row sum to 1 over both")
    sides: tuple[tuple[AttentionName, tuple[str, ...]], ...]
    sides = ("encoder", config.mixers[0]), ("decoder", config.mixers[1])
    for side, mixers in sides:
        shown_layers = explanation.attention[side].shape["layer"] if side in explanation.attention else 0
        if shown_layers < len(mixers):
            notes.append(
                f"{side}: layer {shown_layers + 1} ({mixers[shown_layers]}) has no attention weights, so none are shown from there on"
            )
    return notes


def sentence_text(explanation: Explanation) -> str:
    """The translation, its aligned words and its what-if translations, line by line."""
    lines = [shown(explanation.target.text), f"log-probability {explanation.logprob:.4f}"]
    for method, alignment in explanation.alignments.items():
        for source, target in alignment.links:
            weight = alignment.weights[target][source]
            words = f"{shown(alignment.target_words[target])}\t{shown(alignment.source_words[source])}"
            lines.append(f"{words}\t{weight:.3f}\t{method}")
    if explanation.task == "pretrain":
        lines += [_candidates(explanation, gap) for gap in range(len(explanation.outputs.tokens))]
    lines += [_mixing(layer) for layer in explanation.mixing]
    if explanation.pooling is not None:
        weights = zip(explanation.source.tokens, explanation.pooling.values, strict=True)
        lines += [f"pooling\t{shown(token)}\t{weight:.3f}" for token, weight in weights]
    lines += [
        f"{shown(changed.name)}\t{shown(changed.text)}\tlog-probability {changed.logprob:.4f}"
        for changed in explanation.what_if
    ]
    return "".join(f"{line}\n" for line in lines)


def _candidates(explanation: Explanation, gap: int) -> str:
    """One line on the most probable pieces of a gap."""
    outputs = explanation.outputs
    pairs = zip(outputs.tokens[gap], outputs.probabilities.values[gap], strict=True)
    return "\t".join(
        [f"gap {gap + 1}", *(f"{shown(piece)} {probability:.3f}" for piece, probability in list(pairs)[:GAP_PIECES])]
    )


def _mixing(layer: LayerMixing) -> str:
    """One line on the positions that a layer mixes."""
    parts = [f"90 % of its receptive field within {layer.width:.1f} tokens"]
    if layer.gates is not None:
        means = layer.gates.values.mean(axis=1)
        parts.append(", ".join(f"{name} {mean:.2f}" for name, mean in zip(layer.gate_names, means, strict=True)))
    return "\t".join([f"{layer.stack} {layer.layer + 1}", shown(layer.mixer), *parts])
