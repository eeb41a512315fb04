"""`regard quantize`: writes a translator with weights of 8 bits, and says what that gains and loses."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.direction_flags import From, To


def quantize(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle of a translator.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The bundle that is written; it must not exist.")],
    src: Annotated[
        str | None, typer.Option(help="Sentences to judge it on; without them the validation set of the run.")
    ] = None,
    ref: Annotated[str | None, typer.Option(help="Their translations, line by line.")] = None,
    to: To = None,
    from_: From = None,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    beam: Annotated[int, typer.Option(min=1, max=1_000, help="Hypotheses kept at each step; 1 is greedy.")] = 5,
    licence: Annotated[
        str | None, typer.Option("--license", help="Licence of the weights, for the model card, such as apache-2.0.")
    ] = None,
) -> None:
    """Write a translator with weights of 8 bits, a quarter of the size. Prints size, BLEU and chrF before and after."""
    from regard.bundle.precision import automatic
    from regard.cli.pairs import read_sides
    from regard.cli.streams import open_output, print_status
    from regard.errors import ConfigError
    from regard.extras import require
    from regard.interop.quantize import measured, quantize_model

    require("torch", "regard quantize")
    if (src is None) != (ref is None):
        raise ConfigError("--src and --ref go together; give both, or neither for the validation set of the run")
    pairs = None if src is None or ref is None else read_sides(src, ref)
    name = "" if src is None else Path(src).name
    record = quantize_model(
        bundle, out, pairs, to=to, from_=from_, judged_on=name, beam=beam, tokenize=tokenize, licence=licence
    )
    with open_output(None) as stream:
        stream.write(f"{'weights':9}{'bytes':>14}{'BLEU':>8}{'chrF':>8}\n")
        for stored in ("float32", "int8"):
            scores = "".join(f"{record.scores[score][stored]:8.2f}" for score in ("bleu", "chrf"))
            stream.write(f"{stored:9}{record.sizes[stored]:14,}{scores}\n")
    print_status(f"{record.judged_on}: {record.sentences:,} sentences, beam {record.beam}")
    chosen, refused = automatic(measured(record), {"int8"})
    print_status(f"--precision auto of {bundle} would use {chosen}", *refused)
    print_status(f"{out}: a bundle in int8; try `regard translate {out}`")
