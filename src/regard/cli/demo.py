"""`regard demo`: trains a small translator on the pocket corpus, uses it, and writes its report."""

from pathlib import Path
from typing import Annotated, Any

import typer

DEMO: dict[str, Any] = {
    "data": {"pocket": 100_000},
    "text": {"vocabulary": 2500},
    "model": {"preset": "tiny", "layers": 2, "dropout": 0.0},  # sentences hardly repeat: there is nothing to overfit
    "train": {"minutes": 2.95, "label_smoothing": 0.05, "validate_every": 400, "save_every": 400},
}
SENTENCES = ("je suis étudiant", "il m'a entarté")


def demo(
    out: Annotated[Path, typer.Option(help="The run directory.")] = Path("runs/demo"),
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")] = None,
) -> None:
    """Train the pocket French-English translator in about three minutes, use it, and write a report."""
    from regard.cli.streams import open_output, print_status
    from regard.cli.train import train_with_progress
    from regard.settings import override

    train_with_progress(override(DEMO, sets or []), out)
    from regard.tasks.load import load_translator

    translations = load_translator(out).translate(SENTENCES, beam=5)
    with open_output(None) as stream:
        stream.writelines(f"{translation.source} -> {translation.text}\n" for translation in translations)
    print_status(f"your turn: echo 'je vois le chat noir' | regard translate {out}")
