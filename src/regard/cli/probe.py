"""`regard probe`: failure analysis of a translator or a language model, as a table, JSON or a page."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.direction_flags import From, To


def probe(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[
        str | None, typer.Option(help="Source sentences of a test set; by default those of the run.")
    ] = None,
    ref: Annotated[str | None, typer.Option(help="Their reference translations.")] = None,
    text: Annotated[str | None, typer.Option(help="For a language model: the test text.")] = None,
    train_src: Annotated[
        str | None, typer.Option(help="Training sources, for memorised sentences; by default those of the run.")
    ] = None,
    train_tgt: Annotated[
        str | None, typer.Option(help="Training targets; the training text of a language model.")
    ] = None,
    other: Annotated[str | None, typer.Option(help="Source sentences of another domain.")] = None,
    templates: Annotated[
        str | None, typer.Option(help="Your own templates of the gender check: TSV, see docs/probing.md.")
    ] = None,
    checks: Annotated[
        str | None, typer.Option(metavar="NAME,NAME", help="Only these checks, such as gender,copying; by default all.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a page (.html) or the data (.json) too.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object in place of the table.")] = False,
    most: Annotated[int, typer.Option(min=1, help="Sentences of the test set that are used at most.")] = 200,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses kept at each step of a translator; 1 is greedy.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Decides the sample of sentences and every change of them.")] = 1,
    to: To = None,
    from_: From = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = "auto",
    precision: Annotated[str, typer.Option(help="CTranslate2's weights: float32, bfloat16, int8 or auto.")] = "float32",
) -> None:
    """Look for failures: bias, copying, loops, hallucination, sensitivity, rare words, lengths, memorised text.

    Print one line a check: its name, verdict, number, and an example of what went wrong.
    """
    from regard.activity import activity
    from regard.cli.streams import open_output, print_status, refuse_own_input
    from regard.files import to_json_line

    with activity("loading"):
        from regard.explain.failures.analysis import probe_path
        from regard.explain.failures.checks import chosen_checks
        from regard.explain.failures.inputs import GivenTexts
        from regard.explain.failures.page import check_analysis_file
        from regard.explain.failures.subject import ProbeOptions

    names = [] if checks is None else [name.strip() for name in checks.split(",")]
    chosen_checks(names)  # refused before the model is loaded
    if out is not None:
        check_analysis_file(out)
        refuse_own_input(str(out), src, ref, text, train_src, train_tgt, other, templates)
    given = GivenTexts(src, ref, text, train_src, train_tgt, other, templates)
    options = ProbeOptions(most=most, beam=beam, seed=seed)
    loading = {"device": device, "engine": engine, "precision": precision}
    analysis = probe_path(bundle, given, options, names, to=to, from_=from_, **loading)
    if out is not None:
        analysis.save(out)
    with open_output(None) as stream:
        stream.write(to_json_line(analysis.to_dict()) if as_json else analysis.to_text())
    if out is not None:
        print_status(f"written: {out}")
