"""The settings of the data: files, languages and limits. It opens no file."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Literal, Self

from pydantic import Field, model_validator

from regard.settings import Settings

STDIN = "-"
LANGUAGE_SETTINGS = "data.src_lang and data.tgt_lang (--src-lang, --tgt-lang)"  # as error messages name them
POCKET_LANGUAGES = ("fr", "en")
POCKET_ALIGNMENTS = "gold"

_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_FILE_KIND = re.compile(r"txt|raw|tok|bpe|spm|src|trg|tgt|ref|in|out|lc|low|tc|csv|tsv|tab|tmx|xml|dat|bin|log|md")


class PairData(Settings):
    """A parallel corpus. With neither `src` nor `pairs`, the pocket French-English corpus is used."""

    src: str | None = None
    """Source side of the training text, one sentence a line (.gz is unpacked; `-` is the standard input)."""

    tgt: str | None = None
    """Target side of the training text; line n translates line n of `src`."""

    pairs: str | None = None
    """Both sides in one file instead of `src` and `tgt`: .tsv, .jsonl or .tmx, also .gz (`-`: TSV from standard input)."""

    valid_src: str | None = None
    """Source side of the validation text. Without validation files, 1 % of the training pairs is held out."""

    valid_tgt: str | None = None
    """Target side of the validation text."""

    valid_pairs: str | None = None
    """Both sides of the validation text in one file, as `pairs`."""

    test_src: str | None = None
    """Source side of the test text, which is translated and scored when training ends."""

    test_tgt: str | None = None
    """Target side of the test text."""

    alignments: str | None = None
    """Word alignments of the training text, one line a pair (`0-0 1-2`), to train an attention head on; `gold`: the pocket corpus's."""

    src_lang: str | None = Field(default=None, min_length=1)
    """Source language, for example "en". By default the suffix of `src`; .tmx and .jsonl need it to choose a side."""

    tgt_lang: str | None = Field(default=None, min_length=1)
    """Target language, for example "de"."""

    pocket: int = Field(default=40_000, ge=1)
    """Training pairs drawn from the pocket corpus when no files are given. Up to 500 more validate, up to 1,000 test."""

    max_length: int = Field(default=256, ge=1)
    """Longest example in tokens, without end mark. Pairs with a longer side are skipped."""

    seed: int = Field(default=1, ge=0)
    """Seed that chooses the held-out pairs and the pocket corpus's sentences."""

    @model_validator(mode="after")
    def _files_fit_together(self) -> Self:
        for source, target in (("src", "tgt"), ("valid_src", "valid_tgt"), ("test_src", "test_tgt")):
            given = {name: getattr(self, name) for name in (source, target)}
            for name, other_side in ((source, target), (target, source)):
                if given[name] is not None and given[other_side] is None:
                    raise ValueError(
                        f"{name} = {given[name]!r} needs {other_side}, the same sentences in the other language"
                    )
        for source, pairs in (("src", "pairs"), ("valid_src", "valid_pairs")):
            if getattr(self, source) is not None and getattr(self, pairs) is not None:
                raise ValueError(
                    f"{source} and {pairs} exclude each other; give {source} with its target side, or {pairs}"
                )
        if self.src is None and self.pairs is None:
            for name in ("valid_src", "valid_pairs", "test_src"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name} = {getattr(self, name)!r} needs training files; give src and tgt, or pairs"
                    )
            if self.alignments not in (None, POCKET_ALIGNMENTS):
                raise ValueError(
                    f"alignments = {self.alignments!r} needs training files; give src and tgt, or pairs, "
                    f"or with the pocket corpus alignments = {POCKET_ALIGNMENTS!r}"
                )
        return self

    @model_validator(mode="after")
    def _one_standard_input(self) -> Self:
        pairs = (self.src, self.tgt, self.pairs, self.valid_src, self.valid_tgt, self.valid_pairs)
        check_standard_input((*pairs, self.alignments), (self.test_src, self.test_tgt))
        return self


class TextData(Settings):
    """Text for a language model."""

    text: str | None = Field(default=None, examples=["book.txt"])
    """Text for a language model (.gz is unpacked; `-` is the standard input)."""

    valid_text: str | None = None
    """Validation text. By default the last tenth of `text`, at most a million characters, is held out; below 500 characters nothing."""

    test_text: str | None = None
    """Test text, which is scored when training ends. By default the validation text."""

    documents: Literal["file", "line"] = "file"
    """Unit of text: the whole file is one document, or each line is a document."""

    tgt_lang: str | None = Field(default=None, min_length=1)
    """The language, for example "en"."""

    max_length: int = Field(default=256, ge=1)
    """Longest context in tokens; longer documents are cut into contexts."""

    @model_validator(mode="after")
    def _one_standard_input(self) -> Self:
        check_standard_input((self.text, self.valid_text), (self.test_text,))
        return self


class LabelledData(Settings):
    """Labelled texts."""

    labelled: str | None = Field(default=None, examples=["labelled.tsv"])
    """Texts to classify, each with its label after the last tab of its line (.gz is unpacked; `-` is the standard input)."""

    valid_labelled: str | None = None
    """Labelled validation texts. By default a random tenth of `labelled`, at most 2,000, is held out."""

    test_labelled: str | None = None
    """Labelled test texts, which are scored when training ends. By default the validation texts."""

    labels_of: Literal["text", "token"] = "text"
    """Unit that has a label: the text of each line, or each token. Then a line is token, tab and label; a blank line ends a text."""

    tgt_lang: str | None = Field(default=None, min_length=1)
    """The language, for example "en"."""

    max_length: int = Field(default=256, ge=1)
    """Longest text in tokens; longer ones are skipped."""

    seed: int = Field(default=1, ge=0)
    """Seed that chooses the held-out texts."""

    @model_validator(mode="after")
    def _one_standard_input(self) -> Self:
        check_standard_input((self.labelled, self.valid_labelled), (self.test_labelled,))
        return self


def check_standard_input(inputs: Sequence[str | None], tests: Sequence[str | None]) -> None:
    """Refuse standard input that would be read twice, or as a test text."""
    if STDIN in tests:
        raise ValueError("test texts must be files; standard input is for training or validation text")
    if inputs.count(STDIN) > 1:
        raise ValueError("standard input '-' can be read only once; give the other side as a file, or use pairs = '-'")


def languages(config: PairData) -> tuple[str | None, str | None]:
    """Source and target language: the settings, else the files' suffixes (`train.en`, `train.en.gz`), else None."""
    if config.src is None and config.pairs is None:
        return config.src_lang or POCKET_LANGUAGES[0], config.tgt_lang or POCKET_LANGUAGES[1]
    return config.src_lang or _language_of(config.src), config.tgt_lang or _language_of(config.tgt)


def find_language(wanted: str, tags: Iterable[str]) -> str | None:
    """The tag that equals `wanted`, else the first regional variant: `en` finds `en`, `EN`, `en-US`, `en_GB`."""
    plain = wanted.lower().replace("_", "-")
    variant = None
    for tag in tags:
        candidate = tag.lower().replace("_", "-")
        if candidate == plain:
            return tag
        if variant is None and candidate.startswith(f"{plain}-"):
            variant = tag
    return variant


def _language_of(path: str | None) -> str | None:
    if path is None:
        return None
    suffix = PurePath(path.removesuffix(".gz")).suffix.removeprefix(".")
    return suffix if _LANGUAGE_CODE.fullmatch(suffix) and not _FILE_KIND.fullmatch(suffix) else None
