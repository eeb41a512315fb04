"""Prepares the text, or several texts, of a language model: learns the tokeniser, encodes, and caches the result like `data.prepare`.

    cache/<key>/tokenizers/  train/  valid/  [test/]  prepared.json

Without a validation text the last tenth of the lines of each, counted in characters, is held out; of a tiny text nothing, and the model is
validated on the text that it learned. It knows no model.
"""

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
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
from regard.text.growing import tokenizers_of_text

OTHER_ROLES = ("valid_text", "test_text")
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
    assert data.texts, "a model of text needs a text"
    with _seekable(data, cache) as (texts, files):
        others = {role: path for role in OTHER_ROLES if (path := getattr(files, role)) is not None}
        tiny = "valid_text" not in others and is_tiny(texts)
        digests = {path: digest_of(path) for path in (*texts, *others.values())}
        own = [digests[path] for path in texts]
        key_parts = {
            "format": [FORMAT],
            "inputs": {
                "text": own[0] if len(own) == 1 else own,
                **{role: digests[path] for role, path in others.items()},
            },
            "text": text.key("dropout", "joint"),
            "documents": data.documents,
            **tokenizers_fingerprint(base_tokenizers),
            **({"tiny": TINY} if tiny else {}),
        }
        key = hashlib.sha256(json.dumps(key_parts, sort_keys=True).encode()).hexdigest()[:32]
        has_test = "test_text" in others
        return cached_entry(
            cache,
            key,
            required=files_of_parts(("train", "valid", *(["test"] if has_test else ())), FILES),
            build=lambda staging: _build(staging, texts, files, text, progress, base_tokenizers, digests, tiny=tiny),
            opened=lambda directory, _: PreparedTexts(
                key=key,
                language=data.tgt_lang,
                tokenizers=load_tokenizers(directory / "tokenizers"),
                train=TextCorpus(directory / "train"),
                valid=TextCorpus(directory / "valid"),
                test=TextCorpus(directory / "test") if has_test else None,
                held_out="valid_text" not in others and not tiny,
                tiny=tiny,
            ),
        )


@contextmanager
def _seekable(data: TextData, cache: Path) -> Iterator[tuple[list[str], TextData]]:
    """The files to learn from, and the settings, with every stream replaced by a copy."""
    with ExitStack() as stack:
        rows = [stack.enter_context(seekable_inputs(TextData(text=path), ("text",), cache)) for path in data.texts]
        files = stack.enter_context(seekable_inputs(data, OTHER_ROLES, cache))
        yield [str(row.text) for row in rows], files


def _build(
    staging: Path,
    texts: Sequence[str],
    data: TextData,
    text: OneTextConfig,
    progress: PreparationListener | None,
    base_tokenizers: TokenizerPair | None,
    digests: Digests,
    *,
    tiny: bool,
) -> dict[str, object]:
    """Fill an entry of the cache. The tokeniser learns from training text only."""
    everything: list[LineReader] = [partial(_lines, path, digests) for path in texts]
    name = " and ".join(map(display_name, texts))
    if data.valid_text is not None:
        parts: dict[str, list[LineReader]] = {"train": everything, "valid": [partial(_lines, data.valid_text, digests)]}
        names = {"train": name, "valid": display_name(data.valid_text)}
    elif tiny:
        parts, names = {"train": everything, "valid": everything}, {"train": name, "valid": name}
    else:
        cuts = [last_tenth(path, digests, progress) for path in texts]
        split = list(zip(everything, cuts, strict=True))
        parts = {
            "train": [partial(_first, lines, cut) for lines, cut in split],
            "valid": [partial(_from, lines, cut) for lines, cut in split],
        }
        names = {"train": name, "valid": f"{name} (its last tenth)"}
    if data.test_text is not None:
        parts["test"], names["test"] = [partial(_lines, data.test_text, digests)], display_name(data.test_text)
    for part, readers in parts.items():
        for path, lines in zip(texts, readers, strict=False):
            if not any(line.strip() for line in lines()):
                where = display_name(path) if len(readers) > 1 else names[part]
                raise DataError(f"{where}: no text in it; give a file that has some")
    learned = with_progress(_chained(parts["train"]), "learning the vocabulary", progress)
    tokenizers = tokenizers_of_text(base_tokenizers, text, learned) if base_tokenizers else learn_single(text, learned)
    save_tokenizers(tokenizers, staging / "tokenizers")
    counts: dict[str, TextCounts] = {
        part: write_texts(
            staging / part, with_progress(_chained(readers), "encoding", progress), tokenizers.target, data.documents
        )
        for part, readers in parts.items()
    }
    return {"format": FORMAT, "counts": {part: asdict(count) for part, count in counts.items()}}


def _chained(readers: Sequence[LineReader]) -> Iterator[str]:
    """The lines of all readers, one after the other."""
    return chain.from_iterable(lines() for lines in readers)


def _lines(path: str, digests: Digests = NO_DIGESTS) -> Iterator[str]:
    return (line.removesuffix("\r") for line in read_lines(path, digests.get(path)))


def _first(lines: LineReader, count: int) -> Iterator[str]:
    """The first `count` lines. The rest is read too, because only at its end is the content of a file compared."""
    stream = lines()
    yield from islice(stream, count)
    deque(stream, maxlen=0)


def _from(lines: LineReader, count: int) -> Iterator[str]:
    """The lines after the first `count`."""
    return islice(lines(), count, None)


def is_tiny(paths: Sequence[str]) -> bool:
    """Whether texts have fewer than `TINY` characters together. It reads no more of them than that."""
    size = 0
    for line in chain.from_iterable(map(_lines, paths)):
        size += len(line) + 1
        if size >= TINY:
            return False
    return True


def last_tenth(path: str, digests: Digests = NO_DIGESTS, progress: PreparationListener | None = None) -> int:
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
