"""`regard explain`: explains a translation, what a language model or classifier makes of a text, or the label or caption of a picture."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.direction_flags import From, To
from regard.errors import ConfigError, shown

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
    to: To = None,
    from_: From = None,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = BEAM,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = ALPHA,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Show where a model looks while it translates a sentence, or classifies or describes a picture, and why it said what it said.

    Of a language, classifying or masked model: what each layer makes of a text, by attention weights, gates, filters and gradients.
    """
    from regard.activity import activity
    from regard.cli.streams import open_output, print_status
    from regard.tasks.load import open_given, opened_for

    task = open_given(bundle).config.task
    with activity("loading torch"):
        from regard.explain.table import VERB, check_explainable
        from regard.tasks.table import TASKS

    check_explainable(task)
    row = VERB[task]
    options = {
        "target": target,
        "beside": beside,
        "prefix": prefix,
        "replace": replace,
        "mask": mask,
        "without": without,
    }
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    given |= {name: value for name, value, usual in (("beam", beam, BEAM), ("alpha", alpha, ALPHA)) if value != usual}
    keywords = row.keywords(given, str(bundle))
    if out is not None:
        row.check_output(out)
    paths = [bundle, *(beside or ())]
    models = {path: TASKS[task].load(opened_for(task, path), device, "torch", "float32") for path in paths}
    if task == "translate":
        models = {path: model.towards(to, from_) for path, model in models.items()}
    elif (language := to or from_) is not None:
        raise ConfigError(f"--{'from' if to is None else 'to'} {language}: {bundle} is a model to {task}; leave it out")
    for path, model in models.items():  # before the slow work for the first of them
        row.check(model, sentence, path.resolve().name, keywords, out)
    explanations = [row.explain(models[path], sentence, name=path.resolve().name, **keywords) for path in paths]
    for path, explanation in zip(paths, explanations, strict=True):
        for note in row.notes(models[path], explanation):
            print_status(note)
    if out is not None:
        row.write(explanations, out)
    with open_output(None) as stream:
        stream.write(f"{shown(out)}\n" if out is not None else "\n".join(map(row.as_text, explanations)))
