"""`regard score`: how probable given translations are."""

import json
from pathlib import Path
from typing import Annotated

import typer


def score(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str, typer.Option(help="Source sentences.")],
    tgt: Annotated[str, typer.Option(help="Their translations, line by line.")],
    alpha: Annotated[float, typer.Option(help="Divide by length^alpha.")] = 0.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="One object a line, with every token's log-probability.")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print log p(target | source) of each pair, one number a line."""
    from regard.cli.pairs import sides
    from regard.cli.streams import results
    from regard.engine.load import load

    sources, targets = sides(src, tgt)
    scores = load(bundle, device).score(sources, targets, alpha=alpha)
    with results(None) as stream:
        for one in scores:
            if as_json:
                record = {
                    "score": one.score,
                    "logprob": one.logprob,
                    "tokens": one.tokens,
                    "perplexity": one.perplexity,
                    "token_logprobs": one.token_logprobs,
                }
                stream.write(json.dumps(record) + "\n")
            else:
                stream.write(f"{one.score:.6f}\n")
