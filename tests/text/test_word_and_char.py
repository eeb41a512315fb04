import pytest

from regard.errors import TextError
from regard.text.char import CharTokenizer, frequent_characters, learn_char
from regard.text.config import TextConfig
from regard.text.vocabulary import BYTE_PIECES
from regard.text.word import WordTokenizer, count_words, learn_word

WORDS = count_words(["low low lower", "new low", "new é"])


def shown(tokenizer, text):
    return [tokenizer.vocabulary.piece(index) for index in tokenizer.encode(text)]


def test_the_most_frequent_words_are_kept_ties_in_code_point_order():
    tokenizer = learn_word(TextConfig(kind="word", vocabulary=3), WORDS)  # low 3, new 2, lower 1 before é 1
    assert tokenizer.vocabulary.pieces == ("</s>", "<unk>", *BYTE_PIECES, "▁", "▁low", "▁new", "▁lower", "<pad>")
    assert shown(tokenizer, "new é low") == ["▁new", "▁", "<0xC3>", "<0xA9>", "▁low"]
    assert tokenizer.words(tokenizer.encode("new é low")) == [0, 1, 1, 1, 2]


def test_a_reserved_word_is_a_word():
    tokenizer = learn_word(TextConfig(kind="word"), count_words(["</s> <pad> <0x41> <unk>"]))
    assert shown(tokenizer, "<pad> </s>") == ["▁<pad>", "▁</s>"]


def test_characters_by_frequency():
    tokenizer = learn_char(TextConfig(kind="char"), WORDS)  # w 6, l 4, o 4, e 3, n 2, r 1, é 1
    assert tokenizer.vocabulary.pieces[258:] == ("▁", "w", "l", "o", "e", "n", "r", "é", "<pad>")
    assert shown(tokenizer, " we öl ") == ["w", "e", "▁", "<0xC3>", "<0xB6>", "l"]
    assert tokenizer.words(tokenizer.encode("we öl")) == [0, 0, 1, 1, 1, 1]


def test_coverage_and_limit():
    # 21 characters without spaces: 6/21 < 0.5, 10/21 < 0.5, 14/21 >= 0.5
    assert frequent_characters(WORDS, 0.5, 100) == ["w", "l", "o"]
    assert frequent_characters(WORDS, 1.0, 2) == ["w", "l"]
    assert len(frequent_characters(WORDS, 1.0, 100)) == 7


@pytest.mark.parametrize("bad", ["two words", "", "▁", "\x00", "\ud800"])
def test_lists_that_no_learner_writes_are_refused(bad):
    with pytest.raises(TextError, match="normalised word"):
        WordTokenizer(["good", bad])
    with pytest.raises(TextError, match="normalised character"):
        CharTokenizer(["g", bad])
    with pytest.raises(TextError, match="twice"):
        WordTokenizer(["a", "a"])


def test_lowercase_and_form_hold_for_unknown_words_too():
    tokenizer = WordTokenizer(["fin"], "nfkc", lowercase=True)
    assert tokenizer.decode(tokenizer.encode("ﬁN ÉTÉ")) == "fin été"
    assert shown(tokenizer, "ﬁN") == ["▁fin"]
