"""`regard classify`: prints the label of each input line, of each word of it, or of each picture that is named."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.data.unreadable import LEFT_EMPTY, UnreadablePictures

if TYPE_CHECKING:
    from regard.cli.lines import LineResult
    from regard.tasks.classify.classification import Classification, Tagging
    from regard.tasks.classify.classifier import Classifier
    from regard.tasks.classify.tagger import Tagger
    from regard.tasks.classify_images.classifier import PictureClassifier


def classify(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    pictures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PICTURE ..]", help="For a classifier of pictures: PNG or JPEG files."),
    ] = None,
    input_file: Annotated[
        str, typer.Option("-i", "--input", help="Texts, or paths of pictures, one a line; - is stdin.")
    ] = "-",
    output_file: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="Where labels go; stdout by default. If interrupted, run it again: it goes on."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One object a line, with every probability.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
) -> None:
    """Print the label of each line; where words have labels, each word with its label, and a blank line after each text.

    Of pictures, print each path with its label and the probability of that.
    """
    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import identity
    from regard.cli.lines import process_lines, quiet_if_typed
    from regard.data.readers import display_name
    from regard.errors import ConfigError
    from regard.tasks.bundles import read_config
    from regard.tasks.load import load_classifier

    path = find_bundle(bundle)
    task = read_config(path).task
    of_pictures = task == "classify_images"
    if pictures and task == "classify":
        raise ConfigError(
            f'{pictures[0]}: {bundle} classifies texts; the text is piped, echo "TEXT" | regard classify DIR, '
            "or read from a file, regard classify DIR -i FILE"
        )
    if of_pictures:
        _classify_pictures(path, pictures or [], input_file, output_file, as_json, device)
        return
    with quiet_if_typed(input_file):
        processor = ClassifyLines(load_classifier(path, device), as_json, display_name(input_file))
        process_lines(processor, input_file, output_file, settings={"json": as_json, "model": identity(path)})


def _classify_pictures(
    path: Path, pictures: list[str], input_file: str, output_file: str | None, as_json: bool, device: str
) -> None:
    """Classify these pictures; without any, those whose paths are the lines of the input. An unreadable one is an error at the end."""
    from regard.bundle.manifest import identity
    from regard.cli.lines import process_lines, quiet_if_typed
    from regard.cli.streams import open_output
    from regard.tasks.load import load_picture_classifier

    with quiet_if_typed("" if pictures else input_file):
        processor = ClassifyPictures(load_picture_classifier(path, device), as_json)
        if pictures:
            results = processor.process(0, list(range(len(pictures))), pictures)
            with open_output(output_file) as stream:
                stream.writelines(result.lines for result in results)
        else:
            process_lines(processor, input_file, output_file, settings={"json": as_json, "model": identity(path)})
    processor.unreadable.refuse(LEFT_EMPTY)


@dataclass(frozen=True)
class ClassifyPictures:
    """Classifies the pictures whose paths are lines: a `LineProcessor`."""

    classifier: "PictureClassifier"
    as_json: bool
    unreadable: UnreadablePictures = field(default_factory=UnreadablePictures)

    name = "classifying"
    max_batch_width = None  # the classifier batches by itself

    def parse(self, first: int, lines: list[str]) -> list[str]:
        """The lines unchanged."""
        return lines

    def width(self, line: str) -> int:
        """1: all pictures are equally large."""
        return 1

    def process(self, first: int, places: list[int], lines: list[str]) -> "list[LineResult]":
        """The label of each picture; an empty line for one that cannot be read."""
        from regard.cli.lines import LineResult
        from regard.data.pictures import read_picture
        from regard.errors import shown
        from regard.files import to_json_line

        arrays: dict[int, Any] = {}
        for number, line in enumerate(lines):
            with self.unreadable.collected():
                arrays[number] = read_picture(line)
        results = [LineResult("\n")] * len(lines)
        for number, made in zip(arrays, self.classifier.classify(list(arrays.values())), strict=True):
            prediction = replace(made, picture=lines[number])
            label, probability = prediction.label, prediction.probabilities[prediction.label]
            plain = f"{shown(prediction.picture)}\t{shown(label)}\t{probability:.4f}\n"
            results[number] = LineResult(to_json_line(asdict(prediction)) if self.as_json else plain)
        return results


@dataclass(frozen=True)
class ClassifyLines:
    """Classifies lines: a `LineProcessor`."""

    classifier: "Classifier | Tagger"
    as_json: bool
    where: str
    """The input file, for error messages."""

    name = "classifying"
    max_batch_width = None  # the classifier batches by itself

    def parse(self, first: int, lines: list[str]) -> list[str]:
        """The lines unchanged."""
        return lines

    def width(self, line: str) -> int:
        """The number of characters."""
        return len(line)

    def process(self, first: int, places: list[int], lines: list[str]) -> "list[LineResult]":
        """The labels of a batch of lines."""
        from regard.cli.lines import LineResult
        from regard.files import to_json_line

        if first == 0:
            self._refuse_labelled(lines)
        results = []
        predictions: Sequence[Classification | Tagging] = self.classifier.classify(lines)
        for place, prediction in zip(places, predictions, strict=True):
            text, too_long = _format_labels(prediction)
            limit = f"longer than {self.classifier.max_tokens} tokens"
            remarks = () if too_long is None else (f"regard: warning: line {first + place + 1} is {limit}; {too_long}",)
            results.append(LineResult(to_json_line(asdict(prediction)) if self.as_json else text, remarks))
        return results

    def _refuse_labelled(self, lines: list[str]) -> None:
        """Refuse lines of the training format: their labels would be read as text."""
        from regard.data.labelled import split_label
        from regard.errors import DataError

        labels = [split_label(line)[1] for line in lines if line.strip()]
        if len(labels) > 1 and set(labels) <= set(self.classifier.labels):
            raise DataError(
                f"{self.where}: the first {len(labels):,} lines all end in a tab and a label, such as {labels[0]!r}; give the texts alone, "
                "or judge the model by them: regard evaluate DIR --data FILE"
            )


def _format_labels(prediction: "Classification | Tagging") -> tuple[str, str | None]:
    """The printed labels, and what happened to a text that is too long; None if it is not."""
    from regard.tasks.classify.classification import Classification

    if isinstance(prediction, Classification):
        return f"{prediction.label}\n", "its end was not read" if prediction.truncated else None
    lines = [f"{word}\t{label}\n" for word, label in zip(prediction.words, prediction.labels, strict=True)]
    return "".join([*lines, "\n"]), "it was read in parts" if prediction.parted else None
