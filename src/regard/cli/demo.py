"""`regard demo`: trains a small translator on the pocket corpus, uses it, writes its report, and says what it knows."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from regard.data.config import PairData

DEMO: dict[str, Any] = {
    "data": {"pocket": 100_000},
    "text": {"vocabulary": 3000},
    "model": {"preset": "tiny", "layers": 2, "dropout": 0.0},  # sentences hardly repeat: there is nothing to overfit
    "train": {
        "max_steps": 1700,  # about three minutes of two idle cores; a slow or busy machine takes longer and learns as much
        "minutes": 60.0,
        "label_smoothing": 0.05,
        "validate_every": 400,
        "save_every": 400,
    },
}
SENTENCES = ("je suis étudiant", "il m'a entarté", "Le chat noir dort.", "Est-ce que tu parles anglais ?")
COMMANDS = (
    'echo "Nous n\'avons jamais vu ce film." | {regard} translate {out}',
    'echo "Où est le livre de Marie ?" | {regard} translate {out} --align',
    'echo "elle me manque" | {regard} translate {out} --beam 5 --nbest 3',
    '{regard} explain {out} "Le chat noir dort." --out page.html',
)


def demo(
    out: Annotated[Path, typer.Option(help="The run directory.")] = Path("runs/demo"),
    sets: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a setting.")] = None,
) -> None:
    """Train the pocket French-English translator in about three minutes, use it, and write a report."""
    from regard.cli.streams import open_output, print_status
    from regard.cli.train import train_with_progress
    from regard.errors import shown
    from regard.settings import override
    from regard.tasks.fine_tuning import run_settings

    values = override(DEMO, sets or [])
    train_with_progress(values, out)
    from regard.data.config import PairData
    from regard.tasks.load import load_translator

    translations = load_translator(out).translate(SENTENCES, beam=5)
    with open_output(None) as stream:
        stream.writelines(f"{translation.source} -> {shown(translation.text)}\n" for translation in translations)
    data = getattr(run_settings(values, "settings"), "data", None)
    if isinstance(data, PairData) and not data.training_corpora:
        print_status(*_knowledge(data))
    regard = "regard" if shutil.which("regard") else sys.argv[0]  # `make demo` runs it from where no path leads
    names = {"regard": shlex.quote(regard), "out": shlex.quote(str(out))}
    print_status("try:", *(f"  {command.format(**names)}" for command in COMMANDS))


def _knowledge(data: "PairData") -> tuple[str, str]:
    """The model's vocabulary, counted in its training part of the pocket corpus, and its limits, in two lines."""
    from regard.data.pocket.corpus import pocket_split, vocabulary

    pairs = pocket_split(train=data.pocket, valid=0, test=0, seed=data.seed).train
    french, english = vocabulary(pair.french for pair in pairs), vocabulary(pair.english for pair in pairs)
    return (
        f"it knows {len(french):,} French and {len(english):,} English words, every form counted, from {len(pairs):,} "
        "everyday sentences; French to English only",
        "it does not know any other word, subject or direction: there it still answers, fluently and wrongly",
    )
