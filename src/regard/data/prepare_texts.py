"""From settings to the encoded text of a language model, once: kept as `data.prepare` keeps pairs.

    cache/<key>/tokenizers/  train/  valid/  [test/]  prepared.json

Without a validation text the last tenth of the lines validates, counted in characters. Nothing here knows a model.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from regard.data.config import DataConfig
from regard.data.entries import entry, settled
from regard.data.inputs import digest_of
from regard.data.prepare import Progress, reported
from regard.data.readers import read_lines, shown
from regard.data.texts import FORMAT, TextCorpus, TextCounts, write_texts
from regard.errors import DataError
from regard.text.build import TokenizerPair, known_by, learn_single, load_tokenizers, save_tokenizers
from regard.text.config import TextConfig

ROLES = ("text", "valid_text", "test_text")
HELD_OUT = 10  # one character in so many
MOST_HELD_OUT = 1_000_000  # characters

Lines = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class PreparedTexts:
    """Text that is ready to train on."""

    key: str
    language: str | None
    tokenizers: TokenizerPair  # the same one twice
    train: TextCorpus
    valid: TextCorpus
    test: TextCorpus | None
    held_out: bool  # whether the validation text was taken from the training text


def prepare_texts(
    data: DataConfig,
    text: TextConfig,
    cache: Path,
    progress: Progress | None = None,
    known: TokenizerPair | None = None,
) -> PreparedTexts:
    """Encode what `data` names with a tokeniser learned as `text` says, or a known one, or reuse the entry of `cache` that holds it."""
    assert data.text is not None, "a language model needs a text"
    with settled(data, ROLES, cache) as files:
        paths = {role: path for role in ROLES if (path := getattr(files, role)) is not None}
        depends = {
            "format": [FORMAT],
            "inputs": {role: digest_of(path) for role, path in paths.items()},
            "text": text.model_dump(mode="json", exclude={"dropout", "joint"}),
            "documents": data.documents,
            **known_by(known),
        }
        key = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:32]
        directory, _ = entry(cache, key, lambda staging: _build(staging, files, text, progress, known))
        return PreparedTexts(
            key=key,
            language=data.tgt_lang,
            tokenizers=load_tokenizers(directory / "tokenizers"),
            train=TextCorpus(directory / "train"),
            valid=TextCorpus(directory / "valid"),
            test=TextCorpus(directory / "test") if "test_text" in paths else None,
            held_out="valid_text" not in paths,
        )


def _build(
    staging: Path, data: DataConfig, text: TextConfig, progress: Progress | None, known: TokenizerPair | None
) -> dict[str, object]:
    """Fill an entry. The tokeniser learns from training text only."""
    assert data.text is not None
    everything = partial(_lines, data.text)
    if data.valid_text is not None:
        parts: dict[str, Lines] = {"train": everything, "valid": partial(_lines, data.valid_text)}
        names = {"train": shown(data.text), "valid": shown(data.valid_text)}
    else:
        cut = _last_tenth(data.text, progress)
        parts = {"train": lambda: islice(everything(), cut), "valid": lambda: islice(everything(), cut, None)}
        names = {"train": shown(data.text), "valid": f"{shown(data.text)} (its last tenth)"}
    if data.test_text is not None:
        parts["test"], names["test"] = partial(_lines, data.test_text), shown(data.test_text)
    for part, lines in parts.items():
        if not any(line.strip() for line in lines()):
            raise DataError(f"{names[part]}: no text in it; give a file that has some")
    tokenizers = known or learn_single(text, reported(parts["train"](), "learning the vocabulary", progress))
    save_tokenizers(tokenizers, staging / "tokenizers")
    counts: dict[str, TextCounts] = {
        part: write_texts(staging / part, reported(lines(), "encoding", progress), tokenizers.target, data.documents)
        for part, lines in parts.items()
    }
    return {"format": FORMAT, "counts": {part: asdict(count) for part, count in counts.items()}}


def _lines(path: str) -> Iterator[str]:
    return (line.removesuffix("\r") for line in read_lines(path))


def _last_tenth(path: str, progress: Progress | None) -> int:
    """The number of lines before the last tenth of a text. Both parts have lines with something in them."""
    sizes = [len(line) + 1 if line.strip() else 0 for line in reported(_lines(path), "reading", progress)]
    full = [number for number, size in enumerate(sizes) if size]
    if not full:
        raise DataError(f"{shown(path)}: no text in it; give a file that has some")
    if len(full) == 1:
        raise DataError(
            f"{shown(path)}: only one line of text, and the last lines must be held out; add lines, or give data.valid_text"
        )
    left = min(sum(sizes) // HELD_OUT, MOST_HELD_OUT)
    cut = len(sizes)
    while left > 0 and cut > 0:
        cut -= 1
        left -= sizes[cut]
    return min(max(cut, full[0] + 1), full[-1])
