"""`regard align`: which source word each target word looks at."""

from pathlib import Path
from typing import Annotated

import typer


def align(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str, typer.Option(help="Source sentences.")],
    tgt: Annotated[str, typer.Option(help="Their translations, line by line.")],
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print word alignments of given pairs in Pharaoh's format: source-target, from 0."""
    from regard.cli.pairs import sides
    from regard.cli.streams import results
    from regard.engine.load import load_translator
    from regard.metrics.alignment import to_pharaoh

    sources, targets = sides(src, tgt)
    alignments = load_translator(bundle, device).align(sources, targets)
    with results(None) as stream:
        for alignment in alignments:
            stream.write(to_pharaoh(frozenset(alignment.links)) + "\n")
