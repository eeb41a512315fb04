"""`regard align`: which source word each target word looks at."""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from regard.cli.direction_flags import From, To

if TYPE_CHECKING:
    from regard.bundle.config import AlignmentConfig
    from regard.explain.picking import Candidate
    from regard.metrics.alignment import Joint, Links
    from regard.tasks.translate.translator import Translator

PAIRS_AT_ONCE = 256

Method = Annotated[
    str | None,
    typer.Option(
        help="How words are aligned: attention, norm, zeroing, copy, or a file that `regard align --save` wrote."
    ),
]


def align(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str, typer.Option(help="Source sentences.")],
    tgt: Annotated[str, typer.Option(help="Their translations, line by line.")],
    to: To = None,
    from_: From = None,
    method: Method = None,
    pick: Annotated[
        str | None, typer.Option(metavar="GOLD", help="Try every way on these gold links; print what each is worth.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the best way that --pick found, for --method.")] = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="Keep it in the bundle: it is the model's own way from then on.")
    ] = False,
    reverse: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A model from target to source, whose links are joined with those of DIR."),
    ] = None,
    reverse_method: Annotated[str | None, typer.Option(help="As --method, for the model of --reverse.")] = None,
    join: Annotated[
        str | None, typer.Option(help="Which links of two directions to keep: grow-diag (the default), both or either.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print word alignments of given pairs in Pharaoh's format: source-target, from 0."""
    from regard.cli.pairs import gold_links, read_sides
    from regard.cli.streams import open_output
    from regard.files import write_whole
    from regard.metrics.alignment import flipped, joined, to_pharaoh
    from regard.tasks.load import load_translator

    _check_options(pick, save, remember, reverse, reverse_method, join)
    sources, targets = read_sides(src, tgt)
    translator, settings = load_translator(bundle, device).towards(to, from_), read_method(method)
    if pick is None:
        links = _links(translator, sources, targets, settings)
        if reverse is not None:
            reverse_settings = read_method(reverse_method, "--reverse-method")
            reverse_translator = _reverse(load_translator(reverse, device), translator)
            _check_directions(translator, reverse_translator)
            backwards = map(flipped, _links(reverse_translator, targets, sources, reverse_settings))
            rule = cast("Joint", join or "grow-diag")
            links = (joined(*both, rule) for both in zip(links, backwards, strict=True))
        lines: Iterable[str] = map(to_pharaoh, links)
    else:
        from regard.explain.picking import METHODS, pick_alignment

        gold = gold_links(pick, sources, targets)
        methods = METHODS if settings is None else [settings.method]
        candidates = pick_alignment(translator, sources, targets, gold, methods)
        if save is not None:
            write_whole(save, candidates[0].settings.model_dump_json(indent=2) + "\n")
        if remember:
            _remember(translator, candidates[0].settings)
        lines = [_row("method", "choice", "AER", "precision", "recall", "settings"), *map(_candidate_row, candidates)]
    with open_output(None) as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _check_options(
    pick: str | None,
    save: Path | None,
    remember: bool,
    reverse: Path | None,
    reverse_method: str | None,
    join: str | None,
) -> None:
    """Refuse options that do not go together, before any file is read."""
    from regard.errors import ConfigError
    from regard.metrics.alignment import Joint

    for option, value in (("--join", join), ("--reverse-method", reverse_method)):
        if reverse is None and value is not None:
            raise ConfigError(f"{option} {value}: there is nothing to join without --reverse DIR")
    if reverse is not None and pick is not None:
        raise ConfigError(f"--reverse {reverse}: pick the way of each model by itself, with --remember, then join them")
    if join is not None and join not in get_args(Joint):
        raise ConfigError(f"--join {join}: not one of {', '.join(get_args(Joint))}")
    if pick is None and (save is not None or remember):
        given = "--remember" if save is None else f"--save {save}"
        raise ConfigError(f"{given}: there is nothing to keep without --pick GOLD")


def _links(
    translator: "Translator", sources: list[str], targets: list[str], settings: "AlignmentConfig | None"
) -> Iterator["Links"]:
    """The links of each pair, computed in chunks of `PAIRS_AT_ONCE`."""
    from regard.cli.streams import print_status
    from regard.engine.input_length import TruncationWarning

    for start in range(0, len(sources), PAIRS_AT_ONCE):
        chunk = slice(start, start + PAIRS_AT_ONCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)  # reported below with the line's number
            alignments = translator.align(sources[chunk], targets[chunk], settings=settings)
        for line, alignment in enumerate(alignments, start + 1):
            if alignment.truncated:
                print_status(
                    f"regard: warning: line {line} is longer than {translator.max_tokens} tokens; its end has no links"
                )
            yield frozenset(alignment.links)


def _reverse(reverse: "Translator", translator: "Translator") -> "Translator":
    """The reverse model, from the target language to the source language of the model if it has several."""
    from regard.errors import ConfigError

    if not reverse.directions.seen:
        return reverse
    if translator.languages.source is None:
        raise ConfigError(
            f"--reverse {reverse.directions.name}: to which language? Give --from too, the source language"
        )
    return reverse.towards(translator.languages.source, translator.languages.target)


def _check_directions(translator: "Translator", reverse: "Translator") -> None:
    """Refuse a reverse model whose languages are not those of the model, swapped."""
    from regard.errors import ConfigError

    assert reverse.bundle is not None, "it was loaded from one"
    ours, theirs = translator.languages, reverse.languages
    both = [(ours.source, theirs.target), (ours.target, theirs.source)]
    if any(None not in pair and pair[0] != pair[1] for pair in both):
        raise ConfigError(
            f"--reverse {reverse.bundle.directory}: it translates from {theirs.source} to {theirs.target}; "
            f"give a model from {ours.target} to {ours.source}"
        )


def read_method(method: str | None, option: str = "--method") -> "AlignmentConfig | None":
    """The alignment settings of an option: a method by name (all heads averaged), or a file that `regard align --save` wrote."""
    from regard.bundle.config import AlignmentConfig, AlignmentMethod
    from regard.bundle.format1 import renamed_keys
    from regard.errors import ConfigError
    from regard.settings import read_json

    if method is None:
        return None
    if method in get_args(AlignmentMethod):
        return AlignmentConfig.parse({"method": method})
    if not Path(method).is_file():
        raise ConfigError(f"{option} {method}: not one of {', '.join(get_args(AlignmentMethod))}, and no file")
    return AlignmentConfig.parse(renamed_keys("alignment", read_json(Path(method))), method)


def _remember(translator: "Translator", settings: "AlignmentConfig") -> None:
    """Store the settings in the config of the bundle."""
    from regard.bundle.rewriting import rewrite_config

    assert translator.bundle is not None, "it was loaded from one"
    rewrite_config(translator.bundle, translator.bundle.config.model_copy(update={"alignment": settings}))


def _candidate_row(candidate: "Candidate") -> str:
    score, settings = candidate.score, candidate.settings
    changed = settings.model_dump(exclude_defaults=True, exclude={"method"})
    rest = " ".join(f"{name}={value}" for name, value in changed.items())
    numbers = (f"{value:.4f}" for value in (score.aer, score.precision, score.recall))
    return _row(settings.method, candidate.choice, *numbers, rest)


def _row(*cells: str) -> str:
    widths = (10, 12, 7, 10, 7, 0)
    return " ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
