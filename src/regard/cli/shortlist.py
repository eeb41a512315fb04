"""`regard shortlist`: learns which target pieces a source piece may become, and stores it in the bundle."""

from pathlib import Path
from typing import Annotated

import typer


def shortlist(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle of a translator.")],
    src: Annotated[str, typer.Option(help="Source sentences to learn from: best the training text.")],
    tgt: Annotated[str, typer.Option(help="Their translations, line by line.")],
    frequent: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="The most frequent pieces, candidates of every sentence.")
    ] = 500,
    candidates: Annotated[int, typer.Option(min=1, max=1_000, help="The most candidates of one source piece.")] = 100,
) -> None:
    """Learn which target pieces a source piece may become, for `regard translate --shortlist`."""
    from regard.bundle.rewriting import rewrite_bundle
    from regard.bundle.shortlist import SHORTLIST
    from regard.cli.pairs import read_sides
    from regard.cli.streams import print_status
    from regard.errors import ConfigError
    from regard.foreign import RECORD_BYTES
    from regard.tasks.load import opened_for
    from regard.tasks.translate.shortlist import make_shortlist

    opened = opened_for("translate", bundle)
    if opened.config.directions:
        raise ConfigError(
            f"{bundle}: translates {' and '.join(opened.config.direction_names)}; a shortlist is for a model of one direction"
        )
    sources, targets = read_sides(src, tgt)
    made = make_shortlist(opened, sources, targets, frequent=frequent, candidates=candidates)
    if len(made.model_dump_json()) > RECORD_BYTES:
        raise ConfigError(
            f"--candidates {candidates}: {SHORTLIST} would have more than {RECORD_BYTES:,} bytes; lower it"
        )
    rewrite_bundle(opened, records={SHORTLIST: made})
    own = sum(len(made.candidates(row)) for row in opened.tokenizers.source.encode_batch(sources[:1000]))
    mean, pieces = own / max(1, len(sources[:1000])), len(opened.tokenizers.target.vocabulary) - 1
    print_status(f"a sentence has about {mean:,.0f} candidates of {pieces:,} pieces")
