"""Tokenisers of sources that begin with a tag: a reserved piece that names the target language (Johnson et al. 2017).

The tag belongs to no word of the text. No text is spelled with it, so a user cannot type one. It opens no files.
"""

from collections.abc import Callable, Sequence

from regard.text.marked import MarkedTokenizer, MarksRecord
from regard.text.reserved import language_name
from regard.text.tokenizer import Tokenizer

NO_WORD = -1
"""The word of a tag, in what `words` returns."""


class TaggedTokenizer(MarkedTokenizer):
    """A tokeniser that puts the tag of a language before what it encodes."""

    def __init__(self, inner: Tokenizer, language: str) -> None:
        super().__init__(inner, MarksRecord(begin=(language_name(language),)))
        self.language = language

    def words(self, ids: Sequence[int]) -> list[int]:
        return words_without_tag(self.inner, ids)


class UntaggedTokenizer(MarkedTokenizer):
    """A tokeniser of sources whose target language is not chosen yet. It reads ids, and refuses to encode."""

    def __init__(self, inner: Tokenizer, refuse: Callable[[], Exception]) -> None:
        """refuse: the error that asks for a language."""
        super().__init__(inner, MarksRecord())
        self._refuse = refuse

    def encode(self, text: str) -> list[int]:
        raise self._refuse()

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        raise self._refuse()

    def words(self, ids: Sequence[int]) -> list[int]:
        return words_without_tag(self.inner, ids)


def words_without_tag(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int]:
    """The word of each id; `NO_WORD` for a tag before them."""
    tagged = len(ids) > 0 and ids[0] in tokenizer.vocabulary.reserved.languages.values()
    return [NO_WORD, *tokenizer.words(ids[1:])] if tagged else tokenizer.words(ids)
