"""The model card: a `README.md` with the YAML header of the Hugging Face Hub. It tells only what the bundle, the run and the user say."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.bundle.config import BundleSettings, Languages
from regard.bundle.opened import OpenBundle
from regard.bundle.quantised import Quantised, quantised_record
from regard.bundle.weights import tensor_shapes
from regard.errors import FileError, RegardError, shown
from regard.files import write_whole
from regard.foreign import RECORD_BYTES, read_bytes
from regard.interop.languages import language_name
from regard.metrics.scores import METRICS
from regard.settings import read_json
from regard.tasks.load import open_given
from regard.tasks.run_files import read_metrics
from regard.tasks.runs import METRICS_FILE, is_run
from regard.text.reserved import language_name as language_tag

CARD = "README.md"


@dataclass(frozen=True)
class _Purpose:
    """The words of a card for a task."""

    pipeline: str
    """The task by its name on the hub."""
    verb: str
    """What the model is there to do."""
    data: str = "text"
    """What it was trained on."""


_PURPOSES = {
    "translate": _Purpose("translation", "translate"),
    "generate": _Purpose("text-generation", "generate text"),
    "classify": _Purpose("text-classification", "classify text"),
    "classify_images": _Purpose("image-classification", "classify pictures", "pictures"),
    "caption": _Purpose("image-to-text", "caption pictures", "pictures"),
    "forecast": _Purpose("time-series-forecasting", "forecast time series", "series"),
    "pretrain": _Purpose("fill-mask", "fill gaps in text"),
}
_TAGGING = _Purpose("token-classification", "tag the words of texts")
_GENERATED = {
    "translate": "the pocket corpus, which regard generates",
    "caption": "the scenes corpus, which regard generates",
}
"""What a run without files was trained on."""
_DATA_FILES = ("src", "tgt", "pairs", "text", "labelled", "images", "captions", "series")
_TRANSFORMERS = (
    "from transformers import {network}, AutoTokenizer\n\n"
    'model, tokenizer = {network}.from_pretrained("{name}"), AutoTokenizer.from_pretrained("{name}")\n'
    'batch = tokenizer(["..."], return_tensors="pt", padding=True)\n'
    "print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True))"
)
_NETWORKS = {"translate": "AutoModelForSeq2SeqLM", "generate": "AutoModelForCausalLM"}
"""Task -> the class of `transformers` that reads an export of it."""
_USE = {
    "regard": 'import regard\n\nmodel = regard.load("{name}")',
    "transformers": _TRANSFORMERS,
    "onnxruntime": "from pathlib import Path\n\nimport onnxruntime\n\n"
    'sessions = {{path.stem: onnxruntime.InferenceSession(path) for path in Path("{name}").glob("*.onnx")}}',
    "ctranslate2": 'import ctranslate2\n\ntranslator = ctranslate2.Translator("{name}")',
    "argostranslate": 'import argostranslate.package\n\nargostranslate.package.install_from_path("{name}")',
}


_TAG = "Each source begins with the piece of its target language, before the pieces of the text."
_TAG_NOTES = {
    "regard": 'Name the target language: `model.translate([..], to="{to}")`. ' + _TAG,
    "transformers": _TAG
    + " The tokenizer does not read it in a text: insert `tokenizer.convert_tokens_to_ids(tag)` before the ids.",
    "onnxruntime": _TAG + " Insert its id, the place of the tag in the list of pieces.",
    "ctranslate2": _TAG + " Insert it before the pieces of sentencepiece.",
}
"""How a model of several directions is told the target language, by the program that reads it."""


@dataclass(frozen=True)
class CardFacts:
    """The facts of a model that its bundle may not have."""

    source: str | None = None
    """The code of the source language."""
    target: str | None = None
    licence: str | None = None
    """The licence of the weights, by its identifier on the hub, such as `apache-2.0`."""

    def languages(self, bundle: OpenBundle) -> Languages:
        """The languages that were given, else those of the bundle."""
        known = bundle.config.languages
        return Languages(source=self.source or known.source, target=self.target or known.target)


def model_card(
    bundle: OpenBundle, library: str, facts: CardFacts, quantised: Quantised | None = None, place: str | None = None
) -> str:
    """The text of the card.

    library: the program that reads the files beside it. quantised: of weights that are written in 8 bits. place: the name of the file or
    directory that the card will be in; None: the bundle's.
    """
    quantised = quantised or quantised_record(bundle.files)
    config, languages = bundle.config, facts.languages(bundle)
    metrics, data = _of_run(bundle)
    scores = [name for name in METRICS if isinstance(metrics.get(name), int | float)]
    header: dict[str, Any] = {
        "language": _codes(config, languages) or None,
        "license": facts.licence,
        "library_name": library,
        "pipeline_tag": _purpose(config).pipeline or None,
        "tags": ["regard", config.task, *(["int8"] if quantised else [])],
        "model-index": _results(bundle, metrics, scores) if scores else None,
    }
    yaml = "".join(f"{key}: {_yaml(value)}\n" for key, value in header.items() if value is not None)
    return f"---\n{yaml}---\n\n" + "\n".join(
        _body(bundle, library, languages, facts, metrics, scores, data, quantised, place or bundle.name)
    )


def card_of_copy(bundle: OpenBundle, facts: CardFacts) -> str:
    """The card of a copy of a bundle: the one beside it, which may have been edited, if no other facts are given."""
    if facts == CardFacts():
        with suppress(OSError, FileError, UnicodeDecodeError):
            return read_bytes(bundle.directory / CARD, RECORD_BYTES, root=bundle.directory).decode("utf-8")
    return model_card(bundle, "regard", facts)


def write_run_card(run: Path) -> None:
    """Write the card of a finished run beside its best model, if there is none: a card may be edited."""
    bundle = open_given(run)
    path = bundle.directory / CARD
    if not path.exists():
        write_whole(path, model_card(bundle, "regard", CardFacts()))


def _body(
    bundle: OpenBundle,
    library: str,
    languages: Languages,
    facts: CardFacts,
    metrics: Mapping[str, Any],
    scores: list[str],
    data: list[str],
    quantised: Quantised | None,
    place: str,
) -> Iterator[str]:
    config, purpose = bundle.config, _purpose(bundle.config)
    directions = getattr(config, "directions", ())
    pairs = [one.pair for one in directions] or [(languages.source, languages.target)]
    named = [" to ".join(language_name(code) for code in pair if code) for pair in pairs]
    yield f"# {_plain(bundle.name)}\n"
    between = f": {_plain(', '.join(named))}" if any(named) else ""
    yield f"A model to {_plain(purpose.verb)}{between}. Trained with regard {_plain(config.regard)}.\n"
    use = _USE[library].format(name=_plain(place), network=_NETWORKS.get(config.task))
    yield f"```python\n{use}\n```\n"
    if directions:
        tags = ", ".join(f"`{tag}`" for tag in dict.fromkeys(language_tag(one.target) for one in directions))
        yield f"{_TAG_NOTES[library].format(to=_plain(directions[0].target))} The tags: {tags}.\n"
    yield "| | |\n| --- | --- |"
    yield f"| network | {_network(config)} |"
    yield f"| parameters | {_parameters(config)} |"
    if quantised is not None:
        yield f"| weights | {_quantised(quantised)} |"
    yield f"| training {purpose.data} | {', '.join(data) or 'not recorded'} |"
    if isinstance(metrics.get("seconds"), int | float):
        yield f"| training time | {metrics['seconds'] / 60:,.1f} minutes, {metrics.get('steps') or '?'} steps |"
    yield f"| licence | {_plain(facts.licence or 'not stated: ask who gave you the model')} |\n"
    if scores:
        before = ", before quantising" if quantised is not None else ""
        yield f"## Scores on the {_plain(metrics.get('set') or 'test')} set{before}\n"
        yield "| score | value | signature |\n| --- | --- | --- |"
        signatures = metrics.get("signatures") or {}
        for name in scores:
            signature = signatures.get(name)
            row = METRICS[name]
            value = f"{row.number(metrics[name])} {row.unit}".rstrip()
            yield f"| {row.heading} | {value} | {f'`{_plain(signature)}`' if signature else ''} |"
        yield from _by_direction(metrics)
        yield ""
    yield "## Limits\n"
    yield f"It knows the kind of {purpose.data} that it was trained on. Its answers to other {purpose.data} may look right and be wrong."
    yield "Check its answers before others rely on them."
    reach = config.reach
    if reach is not None and purpose.data == "text":
        yield f"It reads at most {reach:,} tokens at once."
    yield ""


def _by_direction(metrics: Mapping[str, Any]) -> Iterator[str]:
    """A table of the scores of each direction; nothing for a model of one."""
    several = metrics.get("directions")
    if not isinstance(several, dict) or not several:
        return
    rows = {name: own for name, own in several.items() if isinstance(own, dict)}
    names = [name for name in METRICS if all(isinstance(own.get(name), int | float) for own in rows.values())]
    yield "\nThe scores above are the means of these directions:\n"
    yield f"| direction | {' | '.join(METRICS[name].heading for name in names)} |"
    yield f"| --- |{' --- |' * len(names)}"
    for direction, own in rows.items():
        yield f"| {_plain(direction)} | {' | '.join(METRICS[name].number(own[name]) for name in names)} |"


def _codes(config: BundleSettings, languages: Languages) -> list[str]:
    """The codes of all languages, each once."""
    several = [code for one in getattr(config, "directions", ()) for code in one.pair]
    return list(dict.fromkeys(several or [code for code in (languages.source, languages.target) if code]))


def _purpose(config: BundleSettings) -> _Purpose:
    """The words for the task of a bundle; those of an extension's task are its name."""
    if getattr(config, "labels_of", "text") == "token":
        return _TAGGING
    return _PURPOSES.get(config.task, _Purpose("", config.task, "data"))


def _of_run(bundle: OpenBundle) -> tuple[Mapping[str, Any], list[str]]:
    """(the metrics, the names of the training files) of the run that the bundle is a checkpoint of. Damaged files say nothing."""
    run = bundle.given
    if run is None or not run.is_dir() or not is_run(run):
        return {}, []
    try:
        data = read_json(run / "config.json").get("data")
        files = _training_files(data) if isinstance(data, dict) else []
        metrics = read_metrics(run) if (run / METRICS_FILE).exists() else {}
    except RegardError:
        return {}, []
    generated = _GENERATED.get(bundle.config.task)
    if not files and generated is not None:
        return metrics, [generated]
    return metrics, [f"`{_plain(Path(str(name)).name)}`" for name in files]


def _training_files(data: Mapping[str, Any]) -> list[Any]:
    """The files that a run's settings name, those of several corpora included."""
    corpora = data.get("corpora")
    tables = [data, *(corpora if isinstance(corpora, list) else [])]
    return [table[name] for table in tables if isinstance(table, dict) for name in _DATA_FILES if table.get(name)]


def _results(bundle: OpenBundle, metrics: Mapping[str, Any], scores: list[str]) -> list[dict[str, Any]]:
    """The results as the hub's `model-index` has them."""
    test_set = str(metrics.get("set") or "test")
    values = [{"type": score, "value": metrics[score], "name": METRICS[score].heading} for score in scores]
    result = {
        "task": {"type": _purpose(bundle.config).pipeline or bundle.config.task},
        "dataset": {"name": test_set, "type": test_set},
        "metrics": values,
    }
    return [{"name": bundle.name, "results": [result]}]


def _network(config: BundleSettings) -> str:
    model = config.model
    facts = [getattr(model, "kind", type(model).__name__)]
    facts += [
        f"{name} {getattr(model, name)}"
        for name in ("layers", "width", "heads", "norm", "positions")
        if hasattr(model, name)
    ]
    return _plain(", ".join(facts))


def _quantised(record: Quantised) -> str:
    """How the weights are stored, and what that changed."""
    before, after = (record.sizes[stored] for stored in ("float32", "int8"))
    changes = [
        f"{METRICS[name].heading} {values['float32']:.2f} to {values['int8']:.2f}"
        for name, values in record.scores.items()
    ]
    judged = f"{record.sentences:,} sentences ({_plain(record.judged_on)}, beam {record.beam})"
    return f"8 bits: {before:,} bytes became {after:,}; {', '.join(changes)} on {judged}"


def _parameters(config: BundleSettings) -> str:
    if config.counted:
        return "counted"
    return f"{sum(math.prod(shape) for shape in tensor_shapes(config).values()):,}"


def _plain(text: object) -> str:
    """A text of others in Markdown: one line, without the characters of a table, a link or HTML."""
    return "".join(f"&#{ord(sign)};" if sign in "|<>[]`" else sign for sign in shown(text))


def _yaml(value: Any) -> str:
    """A value in YAML's flow style, of which JSON is a part."""
    return json.dumps(value, ensure_ascii=True)
