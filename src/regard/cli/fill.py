"""`regard fill`: fills the gaps of texts with a pretrained model."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.cli.lines import LineResult
    from regard.tasks.pretrain.filler import Filler
    from regard.tasks.pretrain.filling import Filling


def fill(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT ..]", help='Texts with gaps, "the <mask> sat"; else -i.')
    ] = None,
    input_file: Annotated[str, typer.Option("-i", "--input", help="Texts with gaps, one a line; - is stdin.")] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where filled texts go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    nbest: Annotated[int, typer.Option(help="The best pieces of each gap, or texts, beneath each text.")] = 1,
    beam: Annotated[int, typer.Option(help="Hypotheses that a model of denoising or spans keeps.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="One object a text, with every probability.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print each text with its gaps filled. A gap is <mask>, or for a model of spans also <extra_id_0>, <extra_id_1> and so on."""
    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import identity
    from regard.cli.lines import process_lines, quiet_if_typed
    from regard.cli.streams import open_output, print_status
    from regard.data.readers import display_name
    from regard.errors import ConfigError
    from regard.search.checks import check_count
    from regard.tasks.load import load_filler

    check_count("--nbest", nbest)
    check_count("--beam", beam)
    if texts and input_file != "-":
        raise ConfigError(f"-i {input_file}: there are texts on the command line too; leave out the one or the other")
    path = find_bundle(bundle)
    with quiet_if_typed("" if texts else input_file):
        processor = FillLines(
            load_filler(path, device), nbest, beam, as_json, "text " if texts else f"{display_name(input_file)}:"
        )
        if texts:
            results = processor.process(0, list(range(len(texts))), processor.parse(0, texts))
            with open_output(output_file) as stream:
                stream.writelines(result.lines for result in results)
            for result in results:
                print_status(*result.remarks)
        else:
            settings = {"json": as_json, "nbest": nbest, "beam": beam, "model": identity(path)}
            process_lines(processor, input_file, output_file, settings=settings)
    if processor.lines and not processor.gaps and processor.filler.gaps.needed:
        print_status("note: there is no <mask> in the text, so nothing was filled")


@dataclass
class FillLines:
    """Fills the gaps of lines: a `LineProcessor`."""

    filler: "Filler"
    nbest: int
    beam: int
    as_json: bool
    where: str
    """What stands before the number of a line in errors."""
    lines: int = 0
    """Lines that were read and are not empty."""
    gaps: int = 0
    """Gaps in them."""

    name = "filling"
    max_batch_width = None  # the filler batches by itself

    def parse(self, first: int, lines: list[str]) -> list[str]:
        """The lines unchanged. A gap that the model does not have is a `DataError` with the line."""
        from regard.errors import DataError

        for number, line in enumerate(lines, first + 1):
            if complaint := self.filler.complaint(line):
                raise DataError(f"{self.where}{number}: {complaint}")
            self.lines += bool(line.strip())
            self.gaps += self.filler.gaps.count(line)
        return lines

    def width(self, line: str) -> int:
        """The number of characters."""
        return len(line)

    def process(self, first: int, places: list[int], lines: list[str]) -> "list[LineResult]":
        """The filled texts of a batch of lines."""
        from regard.cli.lines import LineResult
        from regard.files import to_json_line

        results = []
        for place, filling in zip(places, self.filler.fill(lines, nbest=self.nbest, beam=self.beam), strict=True):
            limit = f"regard: warning: line {first + place + 1} is longer than {self.filler.max_tokens} tokens; its end was not read"
            remarks = (limit,) if filling.truncated else ()
            shown = to_json_line(asdict(filling)) if self.as_json else _shown(filling, self.nbest)
            results.append(LineResult(shown, remarks))
        return results


def _shown(filling: "Filling", nbest: int) -> str:
    """The filled text, and with several candidates a line for each gap, or each further text."""
    lines = [filling.filled]
    if nbest > 1:
        lines += [
            f"  {number}: {', '.join(f'{one.text or one.piece} {one.probability:.3f}' for one in gap)}"
            for number, gap in enumerate(filling.gaps, 1)
        ]
        lines += [f"  {text}" for text in filling.alternatives[1:]]
    return "".join(f"{line}\n" for line in lines)
