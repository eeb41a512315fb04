"""`regard align`: which source word each target word looks at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.bundle.config import AlignmentConfig
    from regard.engine.model import Model
    from regard.explain.picking import Candidate

Method = Annotated[
    str | None,
    typer.Option(help="How words are aligned: attention, norm, zeroing, or a file that `regard align --save` wrote."),
]


def align(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str, typer.Option(help="Source sentences.")],
    tgt: Annotated[str, typer.Option(help="Their translations, line by line.")],
    method: Method = None,
    pick: Annotated[
        str | None, typer.Option(metavar="GOLD", help="Try every way on these gold links; print what each is worth.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the best way that --pick found, for --method.")] = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="Keep it in the bundle: it is the model's own way from then on.")
    ] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print word alignments of given pairs in Pharaoh's format: source-target, from 0."""
    from regard.cli.pairs import gold_links, sides
    from regard.cli.streams import results
    from regard.engine.load import load_translator
    from regard.errors import ConfigError
    from regard.files import write_whole
    from regard.metrics.alignment import to_pharaoh

    if pick is None and (save is not None or remember):
        given = "--remember" if save is None else f"--save {save}"
        raise ConfigError(f"{given}: there is nothing to keep without --pick GOLD")
    sources, targets = sides(src, tgt)
    model = load_translator(bundle, device)
    if pick is None:
        lines = [
            to_pharaoh(frozenset(one.links)) for one in model.align(sources, targets, settings=read_method(method))
        ]
    else:
        from regard.explain.picking import METHODS, pick_alignment

        gold, known = gold_links(pick, sources, targets), read_method(method)
        found = pick_alignment(model, sources, targets, gold, METHODS if known is None else [known.method])
        if save is not None:
            write_whole(save, found[0].settings.model_dump_json(indent=2) + "\n")
        if remember:
            _remember(model, found[0].settings)
        lines = [_row("method", "choice", "AER", "precision", "recall", "settings"), *map(_told, found)]
    with results(None) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def read_method(method: str | None) -> "AlignmentConfig | None":
    """What --method says: the name of a method, whose heads are averaged, or the settings that `regard align --save` wrote."""
    from typing import get_args

    from regard.bundle.config import AlignmentConfig, AlignmentMethod
    from regard.errors import ConfigError
    from regard.settings import read_json

    if method is None:
        return None
    if method in get_args(AlignmentMethod):
        return AlignmentConfig.parse({"method": method})
    if not Path(method).is_file():
        raise ConfigError(f"--method {method}: not one of {', '.join(get_args(AlignmentMethod))}, and no file")
    return AlignmentConfig.parse(read_json(Path(method)), method)


def _remember(model: "Model", settings: "AlignmentConfig") -> None:
    from regard.bundle.bundle import rewrite_config

    assert model.bundle is not None, "it was loaded from one"
    rewrite_config(model.bundle.directory, model.bundle.config.model_copy(update={"alignment": settings}))


def _told(candidate: "Candidate") -> str:
    score, settings = candidate.score, candidate.settings
    changed = settings.model_dump(exclude_defaults=True, exclude={"method"})
    rest = " ".join(f"{name}={value}" for name, value in changed.items())
    numbers = (f"{value:.4f}" for value in (score.aer, score.precision, score.recall))
    return _row(settings.method, candidate.choice, *numbers, rest)


def _row(*cells: str) -> str:
    widths = (10, 12, 7, 10, 7, 0)
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
