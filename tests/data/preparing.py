"""Small corpora for the tests of `prepare`, and the error of one that fails."""

import pytest

from regard.data.config import PairData
from regard.data.prepare import prepare
from regard.errors import DataError
from regard.text.config import TextConfig

CHAR = TextConfig(kind="char")


def moses(directory, pairs, stem="train"):
    source, target = directory / f"{stem}.en", directory / f"{stem}.de"
    source.write_text("".join(f"{s}\n" for s, _ in pairs), encoding="utf-8")
    target.write_text("".join(f"{t}\n" for _, t in pairs), encoding="utf-8")
    return {"src": str(source), "tgt": str(target)}


def sentences(count, start=0):
    return [(f"house {i}", f"Haus {i}") for i in range(start, start + count)]


def text_of(corpus, tokenizers):
    return [
        (tokenizers.source.decode(corpus.source(i).tolist()), tokenizers.target.decode(corpus.target(i).tolist()))
        for i in range(len(corpus))
    ]


def the_error(data, cache, text=CHAR, kind=DataError):
    with pytest.raises(kind) as caught:
        prepare(PairData(**data), text, cache)
    assert "\n" not in str(caught.value)
    assert not list(cache.iterdir()), "a failed preparation leaves nothing behind"
    return str(caught.value)
