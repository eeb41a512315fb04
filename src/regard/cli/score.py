"""`regard score`: prints log-probabilities of given translations or texts."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.direction_flags import From, To


def score(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str | None, typer.Option(help="Source sentences.")] = None,
    tgt: Annotated[str | None, typer.Option(help="Their translations, line by line.")] = None,
    text: Annotated[str | None, typer.Option(help="For a language model: texts, one a line.")] = None,
    to: To = None,
    from_: From = None,
    alpha: Annotated[float, typer.Option(help="Divide by length^alpha.")] = 0.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="One object a line, with every token's log-probability.")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print log p(target | source) of each pair, or log p of each line of a text, one number a line."""
    from regard.cli.pairs import read_sides
    from regard.cli.streams import open_output
    from regard.errors import ConfigError
    from regard.files import to_json_line
    from regard.tasks.load import load_translator, load_writer

    if text is not None and src is tgt is None:
        from regard.data.readers import read_all

        if (language := to or from_) is not None:
            raise ConfigError(f"--{'from' if to is None else 'to'} {language}: a text is not translated; leave it out")
        scores = load_writer(bundle, device).score(read_all(text), alpha=alpha)
    elif src is not None and tgt is not None and text is None:
        sources, targets = read_sides(src, tgt)
        scores = load_translator(bundle, device).towards(to, from_).score(sources, targets, alpha=alpha)
    else:
        raise ConfigError("give --src F --tgt F for a translator, or --text F for a language model")
    with open_output(None) as stream:
        for scored in scores:
            if as_json:
                record = {
                    "score": scored.score,
                    "logprob": scored.logprob,
                    "tokens": scored.tokens,
                    "perplexity": scored.perplexity,
                    "token_logprobs": scored.token_logprobs,
                }
                stream.write(to_json_line(record))
            else:
                stream.write(f"{scored.score:.6f}\n")
