"""Prepares the text of a language model: learns the tokeniser, encodes, and caches the result like `data.prepare`.

    cache/<key>/tokenizers/  train/  valid/  [test/]  prepared.json

Without a validation text the last tenth of the lines, counted in characters, is held out; of a tiny text nothing, and the model is
validated on the text that it learned. It knows no model.
"""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from regard.data.config import TextData
from regard.data.entries import cached_entry, files_of_parts, seekable_inputs
from regard.data.inputs import digest_of
from regard.data.prepare import PreparationListener, with_progress
from regard.data.readers import NO_DIGESTS, Digests, display_name, read_lines
from regard.data.texts import FILES, FORMAT, TextCorpus, TextCounts, write_texts
from regard.errors import DataError
from regard.text.build import TokenizerPair, learn_single, load_tokenizers, save_tokenizers, tokenizers_fingerprint
from regard.text.config import OneTextConfig

ROLES = ("text", "valid_text", "test_text")
HELD_OUT = 10  # one character in 10 is held out
MOST_HELD_OUT = 1_000_000  # characters
TINY = 500  # characters: of a shorter text nothing is held out, since a line of it may be a third of all

LineReader = Callable[[], Iterator[str]]


@dataclass(frozen=True)
class PreparedTexts:
    """Text that is ready to train on."""

    key: str
    language: str | None
    tokenizers: TokenizerPair  # both are the same
    train: TextCorpus
    valid: TextCorpus
    test: TextCorpus | None
    held_out: bool  # whether the validation text was taken from the training text
    tiny: bool  # whether nothing was held out, so that the validation text is the training text


def prepare_texts(
    data: TextData,
    text: OneTextConfig,
    cache: Path,
    progress: PreparationListener | None = None,
    base_tokenizers: TokenizerPair | None = None,
) -> PreparedTexts:
    """Encode the texts of `data`, or reuse their entry in `cache`. Learns a tokeniser unless `base_tokenizers` are given."""
    assert data.text is not None, "a language model needs a text"
    with seekable_inputs(data, ROLES, cache) as files:
        paths = {role: path for role in ROLES if (path := getattr(files, role)) is not None}
        tiny = "valid_text" not in paths and _is_tiny(paths["text"])
        fingerprint = {role: digest_of(path) for role, path in paths.items()}
        digests = {path: fingerprint[role] for role, path in paths.items()}
        key_parts = {
            "format": [FORMAT],
            "inputs": fingerprint,
            "text": text.key("dropout", "joint"),
            "documents": data.documents,
            **tokenizers_fingerprint(base_tokenizers),
            **({"tiny": TINY} if tiny else {}),
        }
        key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]
        has_test = "test_text" in paths
        return cached_entry(
            cache,
            key,
            required=files_of_parts(("train", "valid", *(["test"] if has_test else ())), FILES),
            build=lambda staging: _build(staging, files, text, progress, base_tokenizers, digests, tiny=tiny),
            opened=lambda directory, _: PreparedTexts(
                key=key,
                language=data.tgt_lang,
                tokenizers=load_tokenizers(directory / "tokenizers"),
                train=TextCorpus(directory / "train"),
                valid=TextCorpus(directory / "valid"),
                test=TextCorpus(directory / "test") if has_test else None,
                held_out="valid_text" not in paths and not tiny,
                tiny=tiny,
            ),
        )


def _build(
    staging: Path,
    data: TextData,
    text: OneTextConfig,
    progress: PreparationListener | None,
    base_tokenizers: TokenizerPair | None,
    digests: Digests,
    *,
    tiny: bool,
) -> dict[str, object]:
    """Fill an entry of the cache. The tokeniser learns from training text only."""
    assert data.text is not None
    all_lines = partial(_lines, data.text, digests)
    if data.valid_text is not None or tiny:
        valid_text = data.valid_text or data.text
        parts: dict[str, LineReader] = {"train": all_lines, "valid": partial(_lines, valid_text, digests)}
        names = {"train": display_name(data.text), "valid": display_name(valid_text)}
    else:
        cut = _last_tenth(data.text, digests, progress)
        parts = {"train": lambda: _first(all_lines(), cut), "valid": lambda: islice(all_lines(), cut, None)}
        names = {"train": display_name(data.text), "valid": f"{display_name(data.text)} (its last tenth)"}
    if data.test_text is not None:
        parts["test"], names["test"] = partial(_lines, data.test_text, digests), display_name(data.test_text)
    for part, lines in parts.items():
        if not any(line.strip() for line in lines()):
            raise DataError(f"{names[part]}: no text in it; give a file that has some")
    tokenizers = base_tokenizers or learn_single(
        text, with_progress(parts["train"](), "learning the vocabulary", progress)
    )
    save_tokenizers(tokenizers, staging / "tokenizers")
    counts: dict[str, TextCounts] = {
        part: write_texts(
            staging / part, with_progress(lines(), "encoding", progress), tokenizers.target, data.documents
        )
        for part, lines in parts.items()
    }
    return {"format": FORMAT, "counts": {part: asdict(count) for part, count in counts.items()}}


def _lines(path: str, digests: Digests = NO_DIGESTS) -> Iterator[str]:
    return (line.removesuffix("\r") for line in read_lines(path, digests.get(path)))


def _first(lines: Iterator[str], count: int) -> Iterator[str]:
    """The first `count` lines. The rest is read too, because only at its end is the content of a file compared."""
    yield from islice(lines, count)
    deque(lines, maxlen=0)


def _is_tiny(path: str) -> bool:
    """Whether a text has fewer than `TINY` characters. It reads no more of it than that."""
    size = 0
    for line in _lines(path):
        size += len(line) + 1
        if size >= TINY:
            return False
    return True


def _last_tenth(path: str, digests: Digests, progress: PreparationListener | None) -> int:
    """The number of lines before the last tenth of a text. Both parts have a line that is not blank."""
    sizes = [len(line) + 1 if line.strip() else 0 for line in with_progress(_lines(path, digests), "reading", progress)]
    not_blank = [number for number, size in enumerate(sizes) if size]
    if not not_blank:
        raise DataError(f"{display_name(path)}: no text in it; give a file that has some")
    if len(not_blank) == 1:
        raise DataError(
            f"{display_name(path)}: only one line of text, and the last lines must be held out; add lines, or give data.valid_text"
        )
    left = min(sum(sizes) // HELD_OUT, MOST_HELD_OUT)
    cut = len(sizes)
    while left > 0 and cut > 0:
        cut -= 1
        left -= sizes[cut]
    return min(max(cut, not_blank[0] + 1), not_blank[-1])
