"""`regard evaluate`: translate a test set and score it, with the signatures that make scores comparable; the perplexity of a text; how well
labels are told.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from regard.cli.align import Method

if TYPE_CHECKING:
    from regard.bundle.config import AlignmentConfig
    from regard.bundle.ctranslate2 import Precision
    from regard.engine.load import Engine
    from regard.engine.model import Model
    from regard.metrics.alignment import Links


def evaluate(
    bundle: Annotated[Path, typer.Argument(metavar="DIR", help="A run or a bundle.")],
    src: Annotated[str | None, typer.Option(help="Source sentences.")] = None,
    ref: Annotated[str | None, typer.Option(help="Reference translations, line by line.")] = None,
    text: Annotated[str | None, typer.Option(help="For a language model: the text to predict.")] = None,
    data: Annotated[
        str | None, typer.Option(help="For a classifier: lines of text, tab, label; or of token, tab, label.")
    ] = None,
    beam: Annotated[int, typer.Option(help="Hypotheses kept at each step; 1 is greedy.")] = 5,
    alpha: Annotated[float, typer.Option(help="Scores are divided by length^alpha.")] = 1.0,
    tokenize: Annotated[str, typer.Option(help="How BLEU cuts words: 13a, none, intl, char, zh, ..")] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Compare without case.")] = False,
    gold_align: Annotated[
        str | None, typer.Option(help="Gold alignments (Pharaoh) of src and ref: adds the error rate.")
    ] = None,
    align_method: Method = None,
    output: Annotated[str | None, typer.Option("-o", "--output", help="Keep the translations here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:N or mps.")] = "cpu",
    engine: Annotated[str, typer.Option(help="auto, torch, or ct2: CTranslate2, faster on a CPU.")] = "auto",
    precision: Annotated[str, typer.Option(help="Of CTranslate2's weights: float32 or int8.")] = "float32",
) -> None:
    """Print what a model is worth on a test set.

    A translator's BLEU, chrF, TER, exact match, length and perplexity; the perplexities of a text; or how well labels are told.
    """
    from regard.cli.align import read_method
    from regard.cli.pairs import gold_links, sides
    from regard.cli.streams import refuse_own_input, results, say
    from regard.engine.load import load_translator
    from regard.errors import ConfigError, DataError
    from regard.files import to_json_line
    from regard.metrics.evaluation import evaluate_translations
    from regard.metrics.translation import TOKENIZERS

    if data is not None and src is ref is text is None:
        _evaluate_labels(bundle, data, device, as_json)
        return
    if text is not None and src is ref is data is None:
        _evaluate_text(bundle, text, device, as_json)
        return
    if src is None or ref is None or text is not None or data is not None:
        raise ConfigError(
            "give --src F --ref F for a translator, --text F for a language model, or --data F for a classifier"
        )
    if tokenize not in TOKENIZERS:
        raise ConfigError(f"--tokenize {tokenize}: not one of {', '.join(TOKENIZERS)}")
    refuse_own_input(output, src, ref)
    sources, references = sides(src, ref)
    if not any(map(str.strip, sources)):
        raise DataError(f"{src}: no sentences to evaluate on")
    for side, lines in ((src, sources), (ref, references)):
        if empty := sum(not line.strip() for line in lines):
            say(f"{side}: {empty:,} of {len(lines):,} lines are empty, and judged as they are")
    gold = None if gold_align is None else gold_links(gold_align, sources, references)
    settings = read_method(align_method, "--align-method")
    model = load_translator(bundle, device, cast("Engine", engine), cast("Precision", precision))
    hypotheses = [one.text for one in model.translate(sources, beam=beam, alpha=alpha)]
    forced = model.score(sources, references)
    values = evaluate_translations(
        hypotheses,
        references,
        total_nll=-sum(one.logprob for one in forced),
        tokens=sum(len(one.token_logprobs) for one in forced),
        tokenize=tokenize,
        lowercase=lowercase,
    )
    values |= {"sentences": len(sources), "beam": beam, "alpha": alpha}
    if gold is not None:
        values |= _alignment(model, sources, references, gold, settings)
    if output is not None:
        with results(output) as stream:
            stream.writelines(f"{line}\n" for line in hypotheses)
    with results(None) as stream:
        stream.write(to_json_line(values) if as_json else _table(values))


def _evaluate_labels(bundle: Path, data: str, device: str, as_json: bool) -> None:
    from regard.cli.streams import results
    from regard.data.labelled import read_labelled, read_tagged, strange_label
    from regard.engine.labeller import Labeller
    from regard.engine.load import load_labeller
    from regard.errors import DataError
    from regard.files import to_json_line
    from regard.metrics.classification import evaluate_labels

    labeller = load_labeller(bundle, device)
    untagged = isinstance(labeller, Labeller)
    rows = list(read_labelled(data) if untagged else read_tagged(data, labeller.tokenizer.normalise))
    strange = strange_label(rows, labeller.labels)
    if not rows or strange is not None:
        what = ": no labelled texts in it" if strange is None else f":{strange[0]}: no such label as {strange[1]!r}"
        raise DataError(f"{data}{what}; the labels are {', '.join(labeller.labels)}")
    sentences = [row.text for row in rows]
    if isinstance(labeller, Labeller):
        found = [one.label for one in labeller.classify(sentences)]
    else:
        found = [label for one in labeller.classify(sentences) for label in one.labels]
    values = evaluate_labels(found, [label for row in rows for label in row.labels], labeller.labels)
    with results(None) as stream:
        if as_json:
            stream.write(to_json_line({**values, "labels": list(labeller.labels)}))
            return
        stream.write(f"accuracy {100 * values['accuracy']:6.2f} %\nF1       {100 * values['f1']:6.2f} %\n\n")
        stream.write("how often each label (a row) was taken for each (a column)\n")
        stream.write(_confusion(labeller.labels, values["confusion"]))


def _confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    rows = [["", *labels], *([label, *map(str, row)] for label, row in zip(labels, counts, strict=True))]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    lines = ([row[0].ljust(first), *map(str.rjust, row[1:], others)] for row in rows)
    return "".join(f"{'  '.join(cells)}\n" for cells in lines)


def _evaluate_text(bundle: Path, text: str, device: str, as_json: bool) -> None:
    import tempfile

    from regard.cli.streams import results
    from regard.data.readers import read_lines
    from regard.data.texts import TextCorpus, write_texts
    from regard.engine.load import load_writer
    from regard.errors import DataError
    from regard.files import to_json_line
    from regard.train.generating import evaluate_corpus

    writer = load_writer(bundle, device)
    with tempfile.TemporaryDirectory() as home:  # a text may be longer than memory
        counts = write_texts(Path(home), read_lines(text), writer.tokenizer, writer.texts.documents)
        if not counts.words:
            raise DataError(f"{text}: no text to evaluate on; give a file that has some")
        values = evaluate_corpus(writer, TextCorpus(Path(home)))
    with results(None) as stream:
        stream.write(to_json_line(values) if as_json else "".join(f"{k:<16} {v:12,.6g}\n" for k, v in values.items()))


def _alignment(
    model: "Model",
    sources: list[str],
    references: list[str],
    gold: "list[tuple[Links, Links]]",
    settings: "AlignmentConfig | None",
) -> dict[str, float]:
    from regard.metrics.alignment import alignment_error_rate

    predicted = [frozenset(one.links) for one in model.align(sources, references, settings=settings)]
    result = alignment_error_rate(predicted, [sure for sure, _ in gold], [possible for _, possible in gold])
    return {"aer": result.aer, "alignment_precision": result.precision, "alignment_recall": result.recall}


def _table(values: dict[str, Any]) -> str:
    signatures = values["signatures"]
    lines = [f"{name:<12} {values[name]:8.3f}  {signatures.get(name, '')}".rstrip() for name in _shown(values)]
    return "\n".join([*lines, f"{'sentences':<12} {values['sentences']:8d}"]) + "\n"


def _shown(values: dict[str, Any]) -> list[str]:
    return [name for name, value in values.items() if isinstance(value, float)]
