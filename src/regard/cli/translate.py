"""`regard translate`: lines in, lines out, in order; an empty line gives an empty line."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from regard.cli import search_flags as flags
from regard.cli.align import Method
from regard.search.options import NODE_LIMIT

if TYPE_CHECKING:
    from regard.bundle.ctranslate2 import Precision
    from regard.cli.lines import Answer
    from regard.engine.load import Engine
    from regard.engine.model import Model
    from regard.engine.options import SearchOptions
    from regard.engine.translation import Source, Translation


def translate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    input_file: Annotated[str, typer.Option("-i", "--input", help="Text to translate; - is stdin.")] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where results go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    beam: flags.Beam = 5,
    alpha: flags.Alpha = 1.0,
    length_form: flags.LengthForm = "power",
    coverage: flags.Coverage = 0.0,
    stop: flags.Stop = "likely",
    nbest: flags.Nbest = 1,
    groups: flags.Groups = 1,
    diversity: flags.Diversity = 0.5,
    sample: flags.Sample = False,
    temperature: flags.Temperature = 1.0,
    top_k: flags.TopK = 0,
    top_p: flags.TopP = 1.0,
    seed: flags.Seed = 0,
    mbr: flags.Mbr = 0,
    exact: flags.Exact = False,
    node_limit: flags.NodeLimit = NODE_LIMIT,
    min_length: flags.MinLength = 0,
    max_length: flags.MaxLength = None,
    no_repeat: flags.NoRepeat = 0,
    suppress: flags.Suppress = None,
    with_prefix: flags.WithPrefix = False,
    with_phrases: flags.WithPhrases = False,
    ensemble: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Another run or bundle to decide with; may be repeated.")
    ] = None,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments after a tab (Pharaoh, source-target).")
    ] = False,
    align_method: Method = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = "auto",
    precision: Annotated[str, typer.Option(help="Of CTranslate2's weights: float32 or int8.")] = "float32",
) -> None:
    """Translate text with a trained model."""
    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import identity
    from regard.cli.align import read_method
    from regard.cli.lines import work_on_lines
    from regard.engine.translation import DemandWarning, TruncationWarning

    options = flags.search_options(
        beam=beam,
        alpha=alpha,
        length_form=length_form,
        coverage=coverage,
        stop=stop,
        nbest=nbest,
        groups=groups,
        diversity=diversity,
        sample=sample,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
        mbr=mbr,
        exact=exact,
        node_limit=node_limit,
        min_length=min_length,
        max_length=max_length,
        no_repeat=no_repeat,
        suppress=suppress,
    )
    bundles = [find_bundle(path) for path in (bundle, *(ensemble or ()))]
    settings = read_method(align_method, "--align-method")
    model = _model(bundles, device, engine, precision)
    model.alignment = settings or model.alignment
    job = Job(model, options, with_prefix, with_phrases, align)
    same = {
        **asdict(options),
        "with_prefix": with_prefix,
        "with_phrases": with_phrases,
        "align": align,
        "align_method": model.alignment.model_dump(mode="json"),
        "engine": engine,
        "precision": precision,
        "models": [identity(path) for path in bundles],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)  # told with the line's number
        warnings.simplefilter("ignore", DemandWarning)
        job.check()
        work_on_lines(job, input_file, output_file, settings=same)


class Line(NamedTuple):
    """What a line holds."""

    source: "Source"
    prefix: str
    phrases: Sequence[str]


@dataclass(frozen=True)
class Job:
    """What is done with each line: a `Work`."""

    model: "Model"
    options: "SearchOptions"
    with_prefix: bool
    with_phrases: bool
    align: bool

    name = "translating"

    def check(self) -> None:
        """Tell a mistake in the options before anything is read."""
        demanding = int(self.with_prefix or self.with_phrases)
        self.model.search(
            [""] * demanding,
            self.options,
            prefixes=["a"] * demanding if self.with_prefix else None,
            phrases=[["a"]] * demanding if self.with_phrases else None,
        )

    @property
    def together(self) -> int | None:
        """Tokens of a batch."""
        from regard.engine.batching import FAST_BATCH_TOKENS

        return None if self.options.draws else FAST_BATCH_TOKENS  # draws are numbered by the window

    def read(self, lines: list[str]) -> list[Line]:
        """The lines in tokens."""
        texts, prefixes, phrases = flags.fields(lines, self.with_prefix, self.with_phrases)
        nothing = [""] * len(texts)
        return [*map(Line, self.model.read(texts), prefixes or nothing, phrases or nothing)]

    def width(self, line: Line) -> int:
        """Its tokens."""
        return len(line.source.ids)

    def answers(self, first: int, places: list[int], lines: list[Line]) -> "list[Answer]":
        """The answers to some of a window's lines."""
        from regard.cli.lines import Answer

        options = replace(self.options, seed=self.options.seed + first)
        found = self.model.search_read(
            [line.source for line in lines],
            options,
            prefixes=[line.prefix for line in lines] if self.with_prefix else None,
            phrases=[line.phrases for line in lines] if self.with_phrases else None,
            scores=options.nbest > 1,  # nobody sees them otherwise
        )
        return [
            Answer(
                "".join(f"{line}\n" for line in self._lines(first + place, translation)),
                tuple(self._remarks(first + place, translation)),
            )
            for place, translation in zip(places, found, strict=True)
        ]

    def _lines(self, number: int, translation: "Translation") -> Iterator[str]:
        if self.options.nbest == 1:
            yield f"{translation.text}\t{_pharaoh(translation)}" if self.align else translation.text
            return
        for one in translation.alternatives:
            rank = one.score if one.utility is None else one.utility
            fields = [str(number), one.text, f"F0={one.logprob:.6f}", f"{rank:.6f}"]
            yield " ||| ".join([*fields, _pharaoh(one)] if self.align else fields)

    def _remarks(self, number: int, translation: "Translation") -> Iterator[str]:
        """What is to be said of a line beside its translation."""
        if translation.truncated:
            limit = f"longer than {self.model.max_tokens} tokens"
            yield f"regard: warning: line {number + 1} is {limit}; its end was not read"
        for missing in translation.unmet:
            yield f"regard: warning: line {number + 1}: its translation does not have {missing!r}"
        if translation.proof is not None:
            found = "most probable of all" if translation.proof.proved else "not proved to be the most probable"
            yield f"regard: line {number + 1}: {found}, {translation.proof.nodes} nodes"


def _model(bundles: list[Path], device: str, engine: str, precision: str) -> "Model":
    from regard.engine.load import load_translator
    from regard.errors import ConfigError

    if len(bundles) == 1:
        return load_translator(bundles[0], device, cast("Engine", engine), cast("Precision", precision))
    if engine not in ("auto", "torch") or precision != "float32":
        raise ConfigError(
            f"--engine {engine} --precision {precision}: an ensemble runs on torch, in float32; leave them out"
        )
    from regard.engine.ensemble import load_ensemble

    return load_ensemble(bundles, device)


def _pharaoh(translation: "Translation") -> str:
    from regard.metrics.alignment import to_pharaoh

    return to_pharaoh(frozenset(translation.alignment))
