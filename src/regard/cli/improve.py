"""`regard improve`: more from little text. Models translate text of one language, or the run's own, and a new model learns from it too."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.cli.improving import Improver
    from regard.tasks.improve.gain import Improvement


def improve(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A finished run of a translator.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the stages are kept; give it again to go on.")
    ] = None,
    mono_tgt: Annotated[
        str | None, typer.Option(metavar="FILE", help="Text in the target language, which is translated back.")
    ] = None,
    mono_src: Annotated[
        str | None, typer.Option(metavar="FILE", help="Text in the source language, which is translated forward.")
    ] = None,
    own_text: Annotated[
        bool,
        typer.Option("--own-text", help="Translate the training text in both directions too; so without --mono-.."),
    ] = False,
    reverse: Annotated[
        str | None, typer.Option(metavar="DIR", help="A model from target to source, in place of one that is trained.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Models of each direction that translate, with a seed each.")] = 1,
    ensemble: Annotated[int, typer.Option(metavar="N", help="N more models translate forward together with RUN.")] = 0,
    rounds: Annotated[int, typer.Option(help="Translate and train so often; then by the improved models.")] = 1,
    factor: Annotated[float, typer.Option(help="Steps of the improved model, as a multiple of RUN's.")] = 2.0,
    minutes: Annotated[
        float | None, typer.Option(help="Minutes of training and translating in all, in place of steps.")
    ] = None,
    from_run: Annotated[bool, typer.Option("--from-run", help="Start the improved model from RUN's weights.")] = False,
    real_weight: Annotated[float, typer.Option(help="How often an epoch has each pair of the run's own.")] = 1.0,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step, to translate and to judge.")] = 5,
    sample: Annotated[bool, typer.Option("--sample", help="Draw the translations back instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="For --sample: below 1 sharper, above 1 flatter.")] = 1.0,
    min_score: Annotated[
        float | None, typer.Option(help="Drop translations of a lower log-probability a token, such as -1.5.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="FILTER", help="Leave a filter out; may be repeated.")
    ] = None,
    no_language_check: Annotated[
        bool, typer.Option("--no-language-check", help="Accept text and pairs in any language.")
    ] = False,
    sets: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of every model that is trained.")
    ] = None,
    sets_improved: Annotated[
        list[str] | None,
        typer.Option("--set-improved", metavar="KEY=VALUE", help="A setting of the improved model alone."),
    ] = None,
    other_src: Annotated[
        str | None, typer.Option(metavar="FILE", help="Held-out text of another kind, to judge on too.")
    ] = None,
    other_ref: Annotated[str | None, typer.Option(metavar="FILE", help="Its translation, line by line.")] = None,
    test: Annotated[bool, typer.Option("--test", help="Judge on the test text of RUN's settings too.")] = False,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    resamples: Annotated[int, typer.Option(help="Test sets drawn by the paired bootstrap.")] = 1000,
    device: Annotated[str, typer.Option(help="Where translations are made: cpu, cuda, cuda:N or mps.")] = "cpu",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and do nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
) -> None:
    """Make more of little text: translate it by models in both directions, filter that, and train on all of it.

    The same command again goes on where it was; finished stages are not repeated. The gain is measured on the validation text of RUN.
    """
    given = {**locals(), "language_check": not no_language_check}  # first: the flags, and nothing else
    from regard.cli.streams import open_output, print_status
    from regard.cli.train import train_with_progress
    from regard.errors import ConfigError
    from regard.extras import require
    from regard.files import to_json_line
    from regard.tasks.improve.arguments import read_arguments

    if out is None or out == Path():
        raise ConfigError(
            "--out DIR is missing, or is the current directory: where should the stages be kept? For example --out runs/improved"
        )
    arguments, judging = read_arguments(given)
    if not dry_run:
        require("torch", "training")
    from regard.cli.improving import improver

    call = improver(run, arguments, judging, out)
    if dry_run:
        call.refuse_changes()
        with open_output(None) as stream:
            stream.write(plan_table(call))
        return
    try:
        improvement = call.run(train_with_progress, print_status)
    except KeyboardInterrupt:
        print_status(f"interrupted; what is finished is kept in {out}: run the same command again to go on")
        raise
    with open_output(None) as stream:
        stream.write(to_json_line(improvement.to_dict()) if as_json else gain_table(improvement))


def plan_table(call: "Improver") -> str:
    """The stages, what is done of them, and how many minutes they are expected to take."""
    from regard.cli.tables import draw_tables
    from regard.explain.tables import Table

    states = call.states()
    rows = [
        [f"{stage.place}: {stage.doing}", state, f"{stage.minutes:.1f}" if stage.minutes else "-"]
        for stage, state in zip(call.stages, states, strict=True)
    ]
    total = sum(stage.minutes for stage in call.stages)
    left = sum(stage.minutes for stage, state in zip(call.stages, states, strict=True) if state != "done")
    note = f"{call.out}: about {total:.1f} minutes in all, {left:.1f} of them left; RUN took {call.base.minutes:.1f} to train"
    how = "estimated from the speed of RUN, without validations" if total else "RUN's log does not tell its speed"
    return draw_tables([Table(["stage", "state", "minutes"], rows)], [note, how])


def gain_table(improvement: "Improvement") -> str:
    """The scores of RUN and of the improved models on each held-out text, and the gain in words."""
    from regard.cli.tables import draw_tables
    from regard.explain.tables import Table

    rows = []
    for text in improvement.texts:
        for one in text.systems:
            test = one.bleu.against_baseline
            gain = ["-", "-"] if test is None else [f"{test.difference:+.2f}", f"{test.p_value:.4f}"]
            scores = [f"{one.bleu.value:.2f}", *gain, f"{one.chrf.value:.2f}", f"{one.perplexity:.3f}"]
            rows.append([f"{text.name}: {one.system}", f"{text.sentences:,}", *scores])
    record = improvement.record
    signature = record.texts[0].systems[0].bleu.signature
    notes = [
        *(text.verdict() for text in improvement.texts),
        f"{record.total_minutes:.1f} minutes in all, beside {record.run_minutes:.1f} of RUN; the model: {improvement.model}",
        f"p: paired bootstrap, {record.judging.resamples:,} resamples of the sentences, one seed; perplexity per token of RUN",
        *([] if signature is None else [f"BLEU: {signature}"]),
    ]
    headings = ["", "sentences", "BLEU", "difference", "p", "chrF", "perplexity"]
    return draw_tables([Table(headings, rows)], notes)
