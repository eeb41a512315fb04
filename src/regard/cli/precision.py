"""`regard precision`: measures what a translator loses in the precisions of CTranslate2, and stores it in the bundle."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.direction_flags import From, To


def precision(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle of a translator.")],
    src: Annotated[str, typer.Option(help="Source sentences: best the validation set.")],
    ref: Annotated[str, typer.Option(help="Their translations, line by line.")],
    to: To = None,
    from_: From = None,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    beam: Annotated[int, typer.Option(min=1, max=1_000, help="Hypotheses kept at each step; 1 is greedy.")] = 5,
) -> None:
    """Measure the BLEU of a translator in float32, bfloat16 and int8, for `--precision auto`."""
    from regard.bundle.precision import PRECISION_FILE, PRECISIONS, MeasuredPrecisions, Precision, automatic
    from regard.bundle.quantised import refuse_quantised
    from regard.bundle.rewriting import rewrite_bundle
    from regard.cli.pairs import read_sides
    from regard.cli.streams import open_output, print_status
    from regard.errors import DataError
    from regard.metrics.translation import bleu
    from regard.tasks.load import load_translator, opened_for
    from regard.tasks.translate.load import available_precisions

    opened = opened_for("translate", bundle)
    refuse_quantised(opened.files, "measure the bundle that it was made of")
    sources, references = read_sides(src, ref)
    if not sources:
        raise DataError(f"{src}: no lines; give the sentences of a validation set")
    available = available_precisions()
    found: dict[Precision, float] = {}
    for name in PRECISIONS:
        if name in available:
            translator = load_translator(bundle, engine="ct2", precision=name).towards(to, from_)
            texts = [one.text for one in translator.translate(sources, beam=beam)]
            found[name] = min(bleu(texts, references, tokenize=tokenize).value, 100.0)  # rounding may exceed it
    measured = MeasuredPrecisions(sentences=len(sources), bleu=found)
    rewrite_bundle(opened, records={PRECISION_FILE: measured})
    with open_output(None) as stream:
        for name, value in found.items():
            stream.write(f"{name:9} BLEU {value:.2f}  {value - found['float32']:+.2f}\n")
    chosen, refused = automatic(measured, available)
    print_status(f"--precision auto uses {chosen} here", *refused)
