"""What a run reads: the files, their languages, and how much of them is used.

It knows names and numbers only; nothing here opens a file.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Literal, Self

from pydantic import Field, model_validator

from regard.settings import Settings

STDIN = "-"
LANGUAGE_SETTINGS = "data.src_lang and data.tgt_lang (--src-lang, --tgt-lang)"  # as a complaint names them
POCKET_LANGUAGES = ("fr", "en")
POCKET_ALIGNMENTS = "gold"

_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_FILE_KIND = re.compile(r"txt|raw|tok|bpe|spm|src|trg|tgt|ref|in|out|lc|low|tc|csv|tsv|tab|tmx|xml|dat|bin|log|md")


class DataConfig(Settings):
    """The corpus of a run. With neither `src` nor `pairs`, the pocket French-English corpus is used."""

    src: str | None = None
    """Source side of the training text, one sentence a line (.gz is unpacked; `-` is the standard input)."""

    tgt: str | None = None
    """Target side of the training text; line n translates line n of `src`."""

    pairs: str | None = None
    """Both sides in one file instead of `src` and `tgt`: .tsv, .jsonl or .tmx, also .gz (`-`: TSV from standard input)."""

    valid_src: str | None = None
    """Source side of the validation text. Without validation files 1 % of the training pairs is held out."""

    valid_tgt: str | None = None
    """Target side of the validation text."""

    valid_pairs: str | None = None
    """Both sides of the validation text in one file, as `pairs`."""

    test_src: str | None = None
    """Source side of the test text, translated and scored when training ends."""

    test_tgt: str | None = None
    """Target side of the test text."""

    alignments: str | None = None
    """Word alignments of the training text, a line a pair (`0-0 1-2`), that one attention head learns; `gold`: the pocket corpus's."""

    text: str | None = None
    """Text for a language model (.gz is unpacked; `-` is the standard input)."""

    valid_text: str | None = None
    """Its validation text. Without it the last tenth of `text` validates, at most a million characters."""

    test_text: str | None = None
    """Text that the language model is judged by when training ends; without it, the validation text."""

    documents: Literal["file", "line"] = "file"
    """What is a text to a language model: the lines of a file together, or each line by itself."""

    labelled: str | None = None
    """Texts to classify, each with its label after the last tab of its line (.gz is unpacked; `-` is the standard input)."""

    valid_labelled: str | None = None
    """Labelled texts that validate. Without them a seeded tenth of `labelled` does, at most 2,000."""

    test_labelled: str | None = None
    """Labelled texts that the classifier is judged by when training ends; without them, those that validate."""

    labels_of: Literal["text", "token"] = "text"
    """What has a label: the text of each line, or each token; then a line is token, tab and label, and a blank line ends a text."""

    src_lang: str | None = Field(default=None, min_length=1)
    """Source language, for example "en". Without it the suffix of `src` tells; .tmx and .jsonl need it to choose a side."""

    tgt_lang: str | None = Field(default=None, min_length=1)
    """Target language, for example "de"."""

    pocket: int = Field(default=40_000, ge=1)
    """Training pairs drawn from the pocket corpus when no files are given; 500 others validate and 1,000 test, or as many as train."""

    max_length: int = Field(default=256, ge=1)
    """Longest example in tokens. Pairs with a longer side, end mark not counted, are skipped; text is cut into contexts of so many."""

    seed: int = Field(default=1, ge=0)
    """Chooses the held-out pairs and the pocket corpus's sentences."""

    @model_validator(mode="after")
    def _files_fit_together(self) -> Self:
        for source, target in (("src", "tgt"), ("valid_src", "valid_tgt"), ("test_src", "test_tgt")):
            given = {name: getattr(self, name) for name in (source, target)}
            for name, other in ((source, target), (target, source)):
                if given[name] is not None and given[other] is None:
                    raise ValueError(
                        f"{name} = {given[name]!r} needs {other}, the same sentences in the other language"
                    )
        for one, both in (("src", "pairs"), ("valid_src", "valid_pairs")):
            if getattr(self, one) is not None and getattr(self, both) is not None:
                raise ValueError(f"{one} and {both} exclude each other; give {one} with its target side, or {both}")
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
        if STDIN in (self.test_src, self.test_tgt, self.test_text, self.test_labelled):
            raise ValueError("test texts must be files; standard input is for training or validation text")
        pairs = (self.src, self.tgt, self.pairs, self.valid_src, self.valid_tgt, self.valid_pairs)
        inputs = (*pairs, self.alignments, self.text, self.valid_text, self.labelled, self.valid_labelled)
        if inputs.count(STDIN) > 1:
            raise ValueError(
                "standard input '-' can be read only once; give the other side as a file, or use pairs = '-'"
            )
        return self


def languages(config: DataConfig) -> tuple[str | None, str | None]:
    """Source and target language: as set, else by the files' suffixes (`train.en`, `train.en.gz`), else unknown."""
    if config.src is None and config.pairs is None:
        return config.src_lang or POCKET_LANGUAGES[0], config.tgt_lang or POCKET_LANGUAGES[1]
    return config.src_lang or _language_of(config.src), config.tgt_lang or _language_of(config.tgt)


def find_language(wanted: str, tags: Iterable[str]) -> str | None:
    """The tag that is `wanted`, else the first more special one: `en` finds `en`, `EN`, `en-US`, `en_GB`."""
    plain = wanted.lower().replace("_", "-")
    special = None
    for tag in tags:
        candidate = tag.lower().replace("_", "-")
        if candidate == plain:
            return tag
        if special is None and candidate.startswith(f"{plain}-"):
            special = tag
    return special


def _language_of(path: str | None) -> str | None:
    if path is None:
        return None
    suffix = PurePath(path.removesuffix(".gz")).suffix.removeprefix(".")
    return suffix if _LANGUAGE_CODE.fullmatch(suffix) and not _FILE_KIND.fullmatch(suffix) else None
