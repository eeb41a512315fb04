"""What a `PairData` accepts, and which languages it tells."""

import pytest

from regard.data.config import PairData, find_language, languages
from regard.errors import ConfigError


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"src": "a.en"}, "src = 'a.en' needs tgt"),
        ({"tgt": "a.de"}, "tgt = 'a.de' needs src"),
        ({"src": "a", "tgt": "b", "valid_src": "c"}, "valid_src = 'c' needs valid_tgt"),
        ({"src": "a", "tgt": "b", "test_tgt": "c"}, "test_tgt = 'c' needs test_src"),
        ({"src": "a", "tgt": "b", "pairs": "c.tsv"}, "src and pairs exclude each other"),
        (
            {"pairs": "p.tsv", "valid_src": "a", "valid_tgt": "b", "valid_pairs": "c.tsv"},
            "valid_src and valid_pairs exclude",
        ),
        ({"valid_src": "a", "valid_tgt": "b"}, "valid_src = 'a' needs training files"),
        ({"alignments": "links"}, "alignments = 'links' needs training files"),
        ({"src": "-", "tgt": "b", "alignments": "-"}, "standard input '-' can be read only once"),
        ({"src": "-", "tgt": "-"}, "standard input '-' can be read only once"),
        ({"src": "a", "tgt": "b", "test_src": "-", "test_tgt": "c"}, "must be files"),
        ({"max_length": 0}, "max_length = 0: input should be greater than or equal to 1"),
        ({"seed": -1}, "seed = -1: "),
        ({"maxlength": 5}, "unknown key 'maxlength'; did you mean 'max_length'?"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(values, message):
    with pytest.raises(ConfigError) as caught:
        PairData.parse(values, "run.toml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("run.toml: ")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, ("fr", "en")),
        ({"src": "train.en", "tgt": "train.de"}, ("en", "de")),
        ({"src": "x/train.en.gz", "tgt": "x/train.pt-BR.gz"}, ("en", "pt-BR")),
        ({"src": "train.tok.fil", "tgt": "train.txt"}, ("fil", None)),
        ({"src": "train.src", "tgt": "train.tgt"}, (None, None)),
        ({"src": "en", "tgt": "data.english"}, (None, None)),
        ({"src": "train.en", "tgt": "train.de", "src_lang": "sco"}, ("sco", "de")),
        ({"pairs": "en-de.tsv"}, (None, None)),
        ({"pairs": "en-de.tmx", "src_lang": "en", "tgt_lang": "de"}, ("en", "de")),
    ],
)
def test_languages_are_told_or_read_off_the_suffixes(values, expected):
    assert languages(PairData(**values)) == expected


@pytest.mark.parametrize(
    ("wanted", "tags", "found"),
    [
        ("en", ["de", "EN"], "EN"),
        ("en", ["en-US", "en-GB"], "en-US"),
        ("en", ["en_US", "en"], "en"),
        ("pt-BR", ["pt", "pt_br"], "pt_br"),
        ("en", ["eng", "enm"], None),
        ("en-US", ["en"], None),
    ],
)
def test_a_language_finds_itself_or_its_regional_form(wanted, tags, found):
    assert find_language(wanted, tags) == found
