"""`regard demo`: the whole story in a few minutes, from no data at all to a translator and its report."""

from pathlib import Path
from typing import Annotated, Any

import typer

DEMO: dict[str, Any] = {
    "text": {"vocabulary": 1500},
    "train": {"minutes": 2.75, "batch_tokens": 1536, "validate_every": 250, "save_every": 250},
}
SENTENCES = ("je suis étudiant", "il m'a entarté")


def demo(out: Annotated[Path, typer.Option(help="The run directory.")] = Path("runs/demo")) -> None:
    """Train the pocket French-English translator in about three minutes, use it, and write a report."""
    from regard.cli.streams import say
    from regard.cli.train import train_with_progress

    train_with_progress(DEMO, out)
    from regard.api import load

    model = load(out)
    for translation in model.translate(SENTENCES, beam=5):
        typer.echo(f"{translation.source} -> {translation.text}")
    say(f"your turn: echo 'je vois le chat noir' | regard translate {out}")
