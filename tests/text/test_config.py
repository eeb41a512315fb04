import pytest

from regard.errors import ConfigError
from regard.text.config import TextConfig


def test_dropout_is_refused_where_there_are_no_merges():
    assert TextConfig.parse({"kind": "bpe", "dropout": 0.1}).dropout == 0.1
    for kind in ("unigram", "word", "char"):
        with pytest.raises(ConfigError, match=rf"dropout = 0.1 .* kind = '{kind}'.*set kind = 'bpe'"):
            TextConfig.parse({"kind": kind, "dropout": 0.1})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dropout", 1.0),
        ("dropout", -0.1),
        ("vocabulary", 0),
        ("character_coverage", 0.0),
        ("character_coverage", 1.1),
        ("sample", 0),
        ("form", "nfd"),
        ("kind", "morphemes"),
    ],
)
def test_a_value_out_of_range_is_named(key, value):
    with pytest.raises(ConfigError, match=key) as caught:
        TextConfig.parse({key: value})
    assert "\n" not in str(caught.value)


def test_a_typo_gets_the_nearest_name():
    with pytest.raises(ConfigError, match="did you mean 'vocabulary'"):
        TextConfig.parse({"vocabulry": 100})
