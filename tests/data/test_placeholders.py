"""Placeholder pieces in training pairs: which strings get them, and what is encoded."""

import numpy as np
import pytest

from regard.data.corpus import Corpus, write_numbered
from regard.data.placeholders import PairPlaceholders, PlaceholderData, shared
from regard.errors import ConfigError
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig
from regard.text.placeholders import placeholder_ids
from regard.text.protected import Protection

PAIRS = [
    ("open {file} at https://x.org", "öffne https://x.org in {file}"),
    ("save {file}", "speichere die Datei"),
    ("{a} and {a}", "{a} und {a}"),
    ("no string", "keine"),
]


def tokenizers(reserved: int = 3, kind: str = "bpe") -> TokenizerPair:
    text = {"kind": kind, "vocabulary": 400, "reserved": {"placeholders": reserved}}
    return learn_pair(TextConfig.parse(text), lambda: PAIRS)


def test_strings_of_both_sides_are_numbered_in_the_order_of_the_source(tmp_path) -> None:
    pair = tokenizers()
    pieces = placeholder_ids(pair.source)
    write_numbered(tmp_path, enumerate(PAIRS, 1), pair, 256, 1, placeholders=PairPlaceholders(PlaceholderData(), pair))
    corpus = Corpus.open(tmp_path)

    def seen(ids) -> list[int]:
        return [pieces.index(index) for index in ids.tolist() if index in pieces]

    assert [seen(corpus.source(number)) for number in range(4)] == [[0, 1], [], [0, 1], []]
    assert [seen(corpus.target(number)) for number in range(4)] == [[1, 0], [], [0, 1], []]
    assert pair.source.decode(corpus.source(1).tolist()) == "save {file}"
    counts = corpus.source_counts(len(pair.source.vocabulary))
    assert counts.sum() == corpus.source_lengths.sum()
    assert [counts[piece] for piece in pieces] == [2, 2, 0]
    write_numbered(tmp_path / "plain", enumerate(PAIRS, 1), pair, 256, 1)
    plain = Corpus.open(tmp_path / "plain")
    assert plain.source(3).tolist() == corpus.source(3).tolist()


def test_the_same_string_twice_needs_two_on_the_other_side() -> None:
    protection = Protection()
    left, right = "{a} {a} {b}", "{b} {a}"
    pairs = shared(left, protection.spans(left), right, protection.spans(right))
    assert [(left[a.start : a.end], b.start) for a, b in pairs] == [("{a}", 4), ("{b}", 0)]


def test_a_share_of_the_pairs_is_drawn_from_their_lines() -> None:
    placeholders = PairPlaceholders(PlaceholderData(share=0.25), tokenizers())
    drawn = [line for line in range(1, 401) if placeholders(line, *PAIRS[0]) is not None]
    assert 60 < len(drawn) < 140
    assert drawn == [line for line in range(1, 401) if placeholders(line, *PAIRS[0]) is not None]


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no placeholder pieces; set text\.reserved\.placeholders"):
        PairPlaceholders(PlaceholderData(), tokenizers(0))
    with pytest.raises(ConfigError, match="kind 'word'"):
        PairPlaceholders(PlaceholderData(), tokenizers(3, "word"))
    with pytest.raises(ConfigError, match="missing \\)"):
        PlaceholderData.parse({"patterns": ["(a"]})
    assert np.isclose(PlaceholderData().share, 1.0)
