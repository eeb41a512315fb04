"""`regard caption`: describes pictures that are named as arguments or, one path a line, on standard input or in a file."""

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from regard.cli import search_flags as flags
from regard.data.unreadable import LEFT_EMPTY, UnreadablePictures
from regard.errors import shown
from regard.files import to_json_line
from regard.search.options import SearchKeywords

if TYPE_CHECKING:
    from regard.cli.lines import LineResult
    from regard.search.options import SearchOptions
    from regard.tasks.caption.caption import Caption
    from regard.tasks.caption.captioner import Captioner, ReadPicture

WITHOUT = ("shortlist",)  # search options that need the words of a source


@flags.search_flags(without=WITHOUT)
def caption(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    pictures: Annotated[
        list[str] | None, typer.Argument(metavar="[PICTURE ..]", help="PNG or JPEG files; without any, -i names them.")
    ] = None,
    input_file: Annotated[str, typer.Option("-i", "--input", help="Paths of pictures, one a line; - is stdin.")] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where captions go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    *,
    search: SearchKeywords,
    with_prefix: Annotated[
        bool, typer.Option("--with-prefix", help="After a tab, lines hold what the caption begins with.")
    ] = False,
    with_phrases: Annotated[
        bool, typer.Option("--with-phrases", help="After tabs, lines hold phrases that the caption must contain.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line, with scores and tokens.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Describe pictures with a trained model: one caption a line."""
    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import identity
    from regard.cli.lines import process_lines, quiet_if_typed
    from regard.cli.streams import open_output, print_status
    from regard.engine.constraints import ConstraintWarning
    from regard.tasks.load import load_captioner

    options = flags.search_options(search)
    path = find_bundle(bundle)
    with quiet_if_typed("" if pictures else input_file):
        processor = CaptionLines(load_captioner(path, device), options, with_prefix, with_phrases, as_json)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)  # reported with the line's number
        if pictures:
            rows = processor.parse(0, pictures)
            results = processor.process(0, list(range(len(rows))), rows)
            with open_output(output_file) as stream:
                for result in results:
                    for remark in result.remarks:
                        print_status(remark)
                    stream.write(result.lines)
            processor.unreadable.refuse(LEFT_EMPTY)
            return
        settings = {**asdict(options), "with_prefix": with_prefix, "with_phrases": with_phrases, "json": as_json}
        with quiet_if_typed(input_file):
            process_lines(processor, input_file, output_file, settings={**settings, "model": identity(path)})
        processor.unreadable.refuse(LEFT_EMPTY)


class Line(NamedTuple):
    """The parsed fields of an input line."""

    path: str
    prefix: str
    phrases: list[str]


@dataclass(frozen=True)
class CaptionLines:
    """Describes the pictures whose paths are lines: a `LineProcessor`."""

    captioner: "Captioner"
    options: "SearchOptions"
    with_prefix: bool
    with_phrases: bool
    as_json: bool
    unreadable: UnreadablePictures = field(default_factory=UnreadablePictures)

    name = "describing"
    max_batch_width = None  # the captioner batches by itself

    def parse(self, first: int, lines: list[str]) -> list[Line]:
        """The fields of each line."""
        paths, prefixes, phrases = flags.fields(lines, self.with_prefix, self.with_phrases)
        none: list[str] = [""] * len(paths)
        return [*map(Line, paths, prefixes or none, phrases or [[] for _ in paths])]

    def width(self, line: Line) -> int:
        """1: all pictures are equally large."""
        return 1

    def process(self, first: int, places: list[int], lines: list[Line]) -> "list[LineResult]":
        """The captions of a batch of pictures. A blank line gives a blank line, and so does a picture that cannot be read."""
        from regard.cli.lines import LineResult

        pictures: dict[int, ReadPicture] = {}
        for place, line in enumerate(lines):
            if line.path.strip():
                with self.unreadable.collected():
                    pictures[place] = self.captioner.read_one(line.path)
        named = list(pictures)
        captions = self.captioner.search(
            list(pictures.values()),
            replace(self.options, seed=(self.options.seed + first) % 2**64),
            prefixes=[lines[place].prefix for place in named] if self.with_prefix else None,
            phrases=[lines[place].phrases for place in named] if self.with_phrases else None,
        )
        results = [LineResult("\n") for _ in lines]
        for place, made in zip(named, captions, strict=True):
            text = "".join(f"{line}\n" for line in self._lines(first + places[place], made))
            results[place] = LineResult(text, tuple(self._remarks(first + places[place], made)))
        return results

    def _lines(self, number: int, made: "Caption") -> Iterator[str]:
        if self.as_json:
            record = {"picture": made.picture, **_fields(made)}
            if self.options.nbest > 1:
                record["nbest"] = [_fields(alternative) for alternative in made.alternatives]
            yield to_json_line(record).rstrip("\n")
            return
        if self.options.nbest == 1:
            yield made.text
            return
        for alternative in made.alternatives:
            rank = alternative.score if alternative.utility is None else alternative.utility
            yield " ||| ".join([str(number), alternative.text, f"F0={alternative.logprob:.6f}", f"{rank:.6f}"])

    def _remarks(self, number: int, made: "Caption") -> Iterator[str]:
        """Warnings and proofs for a picture, printed to stderr."""
        name = f"line {number + 1} ({shown(made.picture)})"
        if made.timed_out:
            yield f"regard: warning: {name}: --time-limit {self.options.time_limit:g} ended its search"
        for missing in made.unmet:
            yield f"regard: warning: {name}: its caption does not have {missing!r}"
        if made.proof is not None:
            yield f"regard: {name}: {made.proof}"


def _fields(made: "Caption") -> dict[str, Any]:
    fields: dict[str, Any] = {
        "caption": made.text,
        "score": made.score,
        "logprob": made.logprob,
        "finished": made.finished,
        "tokens": made.tokens,
    }
    if made.utility is not None:
        fields["utility"] = made.utility
    if made.unmet:
        fields["unmet"] = made.unmet
    if made.proof is not None:
        fields["proof"] = asdict(made.proof)
    if made.timed_out:
        fields["timed_out"] = True
    return fields
