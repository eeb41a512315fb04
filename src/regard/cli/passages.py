"""`regard data passages`: a generated corpus of passages with a question each, and the place of its answer."""

from pathlib import Path
from typing import Annotated

import typer

MOST = 1_000_000


def passages(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new directory.", show_default=False)],
    train: Annotated[int, typer.Option(min=1, max=MOST, help="Questions to learn from.")] = 20_000,
    judged: Annotated[
        int, typer.Option(min=1, max=MOST, help="Questions of valid, of test and of unseen, each.")
    ] = 1_000,
    seed: Annotated[int, typer.Option(min=0, help="Draws the passages.")] = 1,
) -> None:
    """Write train, valid, test and unseen, each as .src (passage and question), .tgt (answer), .align (where it stands) and .tsv.

    The names of the people of unseen are in no other part. The .tsv has the questions for a value as labelled text, for a classifier.
    """
    from regard.activity import activity
    from regard.cli.streams import print_status
    from regard.data.passages import PARTS, passage_files
    from regard.files import refuse_taken, whole_directory

    refuse_taken(out)
    sizes = {part: train if part == "train" else judged for part in PARTS}
    with activity("drawing passages"), whole_directory(out) as staging:
        for part, size in sizes.items():
            for name, lines in passage_files(part, size, seed).items():
                (staging / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for part, size in sizes.items():
        print_status(f"{out / part}: {size:,} question{'s' * (size != 1)}")
