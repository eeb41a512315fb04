"""`regard explain`: explains a translation, what a language model or classifier makes of a text, or the label or caption of a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.errors import shown

if TYPE_CHECKING:
    from regard.explain.explanation import AttentionName, Explanation, LayerMixing
    from regard.tasks.translate.translator import Translator

BEAM, ALPHA = 5, 1.0
"""The search of a translation or a caption, where nothing else is given."""


def explain(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    sentence: Annotated[
        str,
        typer.Argument(
            metavar="SENTENCE|PICTURE",
            help="What is translated or read; or a PNG or JPEG file that is classified or described.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Write a page (.html), a figure (.png, .svg, .pdf) or the data (.json).")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Explain this translation, label or caption instead of the model's own.")
    ] = None,
    beside: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Another run or bundle, side by side; may be repeated.")
    ] = None,
    prefix: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="What if the translation began with this? May be repeated, as the others."),
    ] = None,
    replace: Annotated[
        list[str] | None, typer.Option(metavar="WORD=OTHER", help="What if this source word were another?")
    ] = None,
    mask: Annotated[list[str] | None, typer.Option(metavar="WORD", help="What if it did not see this word?")] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HEAD", help="What if this head were silent? cross.3.1: layer 3, head 1; encoder, decoder."
        ),
    ] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = BEAM,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = ALPHA,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Show where a model looks while it translates a sentence, or classifies or describes a picture, and why it said what it said.

    Of a language model or a classifier: what each layer makes of a text, by attention weights, gates, filters and gradients.
    """
    from regard.activity import activity
    from regard.cli.streams import open_output
    from regard.tasks.load import open_given

    task = open_given(bundle).config.task
    searching = {"beam": beam != BEAM, "alpha": alpha != ALPHA}
    if task in ("classify_images", "caption"):
        refused: dict[str, object] = {"prefix": prefix, "replace": replace, "mask": mask, "without": without}
        if task == "classify_images":
            refused |= {"beside": beside, **searching}
        _refuse_for_pictures(refused, "describes" if task == "caption" else "classifies")
        if task == "caption":
            _explain_caption([bundle, *(beside or ())], sentence, out, target, beam, alpha, device)
        else:
            _explain_picture(bundle, sentence, out, target, device)
        return

    if task != "translate":
        given = {"target": target, "prefix": prefix, "replace": replace, "mask": mask, "without": without, **searching}
        refused_names = [f"--{name}" for name, value in given.items() if value]
        _explain_text([bundle, *(beside or ())], sentence, out, device, refused_names)
        return
    with activity("loading torch"):
        from regard.explain.explain import check_request
        from regard.explain.explain import explain as explained
        from regard.explain.sentence_figure import check_drawable
        from regard.explain.sentence_page import PICTURES, check_output, write_explanations
        from regard.explain.what_if import Change, parse_head, parse_replacement
        from regard.tasks.load import load_translator

    if out is not None:
        check_output(out)
    changes = [
        *(Change(prefix=text) for text in prefix or ()),
        *(Change(replace=parse_replacement(text)) for text in replace or ()),
        *(Change(mask=word) for word in mask or ()),
        *(Change(head=parse_head(text)) for text in without or ()),
    ]
    models = {path: load_translator(path, device, engine="torch") for path in (bundle, *(beside or ()))}
    for path, model in models.items():  # before the slow work for the first of them
        if out is not None and out.suffix in PICTURES and model.bundle is not None:
            check_drawable(path.resolve().name, aligns=model.bundle.config.aligns)
        check_request(model, sentence, target=target, beam=beam, alpha=alpha, changes=changes)
    explanations = [
        explained(
            models[path],
            sentence,
            target=target,
            beam=beam,
            alpha=alpha,
            changes=changes,
            name=path.resolve().name,
        )
        for path in (bundle, *(beside or ()))
    ]
    for path, explanation in zip((bundle, *(beside or ())), explanations, strict=True):
        _note_missing_weights(models[path], explanation)
    if out is not None:
        write_explanations(explanations, out)
    with open_output(None) as stream:
        stream.write(f"{shown(out)}\n" if out is not None else "\n".join(map(_text, explanations)))


def _explain_text(paths: list[Path], text: str, out: Path | None, device: str, refused: list[str]) -> None:
    """Explain what language models and classifiers make of a text."""
    from regard.activity import activity
    from regard.cli.streams import open_output
    from regard.errors import ConfigError

    with activity("loading torch"):
        from regard.explain.sentence_page import PICTURES, check_output, write_explanations
        from regard.explain.table import explain_served
        from regard.tasks.load import load_served

    if refused:
        raise ConfigError(f"{refused[0]}: {shown(paths[0])} does not translate; this option is for translators")
    if out is not None:
        check_output(out)
        if out.suffix in PICTURES:
            raise ConfigError(f"{out}: only a translation is drawn; write .html or .json")
    models = {path: load_served(path, device, "torch") for path in paths}
    explanations = [explain_served(models[path], text, name=path.resolve().name) for path in paths]
    if out is not None:
        write_explanations(explanations, out)
    with open_output(None) as stream:
        stream.write(f"{shown(out)}\n" if out is not None else "\n".join(map(_text, explanations)))


def _explain_caption(
    bundles: list[Path], picture: str, out: Path | None, caption: str | None, beam: int, alpha: float, device: str
) -> None:
    """Explain the caption of a picture by one or several models."""
    from regard.activity import activity
    from regard.cli.streams import open_output

    with activity("loading torch"):
        from regard.explain.caption_page import write_captioned
        from regard.explain.captions import explain_caption
        from regard.explain.sentence_page import check_output
        from regard.tasks.load import load_captioner

    if out is not None:
        check_output(out)
    explanations = [
        explain_caption(
            load_captioner(path, device), picture, caption=caption, beam=beam, alpha=alpha, name=path.resolve().name
        )
        for path in bundles
    ]
    if out is not None:
        write_captioned(explanations, out)
    with open_output(None) as stream:
        stream.write(f"{shown(out)}\n" if out is not None else "\n".join(one.as_text() for one in explanations))


def _refuse_for_pictures(given: Mapping[str, object], does: str) -> None:
    """Refuse the first of the options that is given. does: what the model does with pictures."""
    from regard.errors import ConfigError

    flag = next((flag for flag, value in given.items() if value), None)
    if flag is not None:
        raise ConfigError(f"--{flag}: is about sentences, and the model {does} pictures; leave it out")


def _explain_picture(bundle: Path, picture: str, out: Path | None, label: str | None, device: str) -> None:
    from regard.activity import activity
    from regard.cli.streams import open_output

    with activity("loading torch"):
        from regard.explain.picture_page import check_picture_output, explanation_text, write_picture_explanations
        from regard.explain.pictures import explain_picture
        from regard.tasks.load import load_picture_classifier

    if out is not None:
        check_picture_output(out)
    explanation = explain_picture(load_picture_classifier(bundle, device), picture, label=label)
    if out is not None:
        write_picture_explanations([explanation], out)
    with open_output(None) as stream:
        stream.write(f"{shown(out)}\n" if out is not None else explanation_text(explanation))


def _note_missing_weights(model: "Translator", explanation: "Explanation") -> None:
    """Say in one line which layers have no attention weights, because their mixer computes none."""
    from regard.cli.streams import print_status
    from regard.models.config import TransformerConfig

    config = None if model.bundle is None else model.bundle.config.model
    if not isinstance(config, TransformerConfig):
        return
    sides: tuple[tuple[AttentionName, tuple[str, ...]], ...]
    sides = ("encoder", config.mixers[0]), ("decoder", config.mixers[1])
    for side, mixers in sides:
        shown_layers = explanation.attention[side].shape["layer"] if side in explanation.attention else 0
        if shown_layers < len(mixers):
            print_status(
                f"{side}: layer {shown_layers + 1} ({mixers[shown_layers]}) has no attention weights, so none are shown from there on"
            )


def _text(explanation: "Explanation") -> str:
    """The translation, its aligned words and its what-if translations, line by line."""
    lines = [shown(explanation.target.text), f"log-probability {explanation.logprob:.4f}"]
    for method, alignment in explanation.alignments.items():
        for source, target in alignment.links:
            weight = alignment.weights[target][source]
            words = f"{shown(alignment.target_words[target])}\t{shown(alignment.source_words[source])}"
            lines.append(f"{words}\t{weight:.3f}\t{method}")
    lines += [_mixing(layer) for layer in explanation.mixing]
    lines += [
        f"{shown(changed.name)}\t{shown(changed.text)}\tlog-probability {changed.logprob:.4f}"
        for changed in explanation.what_if
    ]
    return "".join(f"{line}\n" for line in lines)


def _mixing(layer: "LayerMixing") -> str:
    """One line on the positions that a layer mixes."""
    parts = [f"90 % of its receptive field within {layer.width:.1f} tokens"]
    if layer.gates is not None:
        means = layer.gates.values.mean(axis=1)
        parts.append(", ".join(f"{name} {mean:.2f}" for name, mean in zip(layer.gate_names, means, strict=True)))
    return "\t".join([f"{layer.stack} {layer.layer + 1}", shown(layer.mixer), *parts])
