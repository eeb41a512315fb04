"""The settings of the data: files, languages and limits. It opens no file."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from regard.data.corpus_config import (
    CorpusData,
    Directed,
    Direction,
    check_one_form,
    check_parts,
    check_sides,
    directed_corpora,
    refuse_own_parts,
    several_directions,
)
from regard.data.placeholders import PlaceholderData
from regard.data.replay import LabelledReplay, PairReplay, TextReplay
from regard.settings import Settings

STDIN = "-"
LANGUAGE_SETTINGS = "data.src_lang and data.tgt_lang (--src-lang, --tgt-lang)"  # as error messages name them
POCKET_LANGUAGES = ("fr", "en")
POCKET_ALIGNMENTS = "gold"


class PairData(Settings):
    """Parallel corpora. With none of `src`, `pairs` and `corpora`, the pocket French-English corpus is used."""

    src: str | None = None
    """Source side of the training text, one sentence a line (.gz is unpacked; `-` is the standard input)."""

    tgt: str | None = None
    """Target side of the training text; line n translates line n of `src`."""

    pairs: str | None = None
    """Both sides in one file instead of `src` and `tgt`: .tsv, .jsonl or .tmx, also .gz; .parquet; a .zip of OPUS; `-`: TSV on stdin."""

    corpora: tuple[CorpusData, ...] = ()
    """Several training corpora instead of one: tables [[data.corpora]], each with src and tgt, or pairs, and a weight (default 1)."""

    both: bool = False
    """Learn both directions of the corpus in one model, with a tag for the target language before each source."""

    temperature: float = Field(default=1.0, gt=0, le=1_000)
    """Balance of several directions: one of n pairs gets a share of n^(1/temperature). 1: as they are; 5: more of the small ones."""

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
    """Source language, for example "en". By default the suffix of `src`; .tmx, .jsonl and .parquet need it to choose a side."""

    tgt_lang: str | None = Field(default=None, min_length=1)
    """Target language, for example "de"."""

    pocket: int = Field(default=40_000, ge=1)
    """Training pairs drawn from the pocket corpus when no files are given. Up to 500 more validate, up to 1,000 test."""

    max_length: int = Field(default=256, ge=1)
    """Longest example in tokens, without end mark. Pairs with a longer side are skipped."""

    seed: int = Field(default=1, ge=0)
    """Seed that chooses the held-out pairs and the pocket corpus's sentences."""

    placeholders: PlaceholderData | None = None
    """A table [data.placeholders]: strings that stand on both sides of a pair are learned as reserved pieces (patterns; share)."""

    replay: PairReplay | None = None
    """A table [data.replay]: text of the base that fine-tuning must not forget (src and tgt, or pairs; share), and its test."""

    @model_validator(mode="after")
    def _files_fit_together(self) -> Self:
        for source, target in (("src", "tgt"), ("valid_src", "valid_tgt"), ("test_src", "test_tgt")):
            check_sides(self, source, target)
        for source, pairs in (("src", "pairs"), ("valid_src", "valid_pairs")):
            check_one_form(self, source, pairs)
        for name in ("src", "pairs"):
            if self.corpora and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} = {getattr(self, name)!r} and corpora exclude each other; add a [[data.corpora]] for it"
                )
        if not self.training_corpora:
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
        if self.replay is not None and self.replay.trains and (self.alignments or not self.training_corpora):
            other = "training files" if not self.training_corpora else "no data.alignments, which it has no lines of"
            raise ValueError(f"replay of old text needs {other}")
        return self

    @model_validator(mode="after")
    def _no_links_of_placeholders(self) -> Self:
        if self.placeholders is not None and self.alignments is not None:
            raise ValueError(
                f"alignments = {self.alignments!r}: its links are of words that placeholders replace; leave one of the two out"
            )
        return self

    @model_validator(mode="after")
    def _one_standard_input(self) -> Self:
        training = (path for row in self.training_corpora for path in (row.src, row.tgt, row.pairs))
        others = (self.valid_src, self.valid_tgt, self.valid_pairs, self.alignments)
        valid = (path for row in self.corpora for path in (row.valid_src, row.valid_tgt, row.valid_pairs))
        tests = (path for row in self.corpora for path in (row.test_src, row.test_tgt, row.test_pairs))
        check_standard_input((*training, *others, *valid), (self.test_src, self.test_tgt, *tests))
        return self

    @model_validator(mode="after")
    def _directions_fit_together(self) -> Self:
        directions = self.several_directions  # refuses corpora without languages
        if self.both and self.corpora:
            raise ValueError("both and corpora exclude each other; set both in each [[data.corpora]] that it is for")
        if self.temperature != 1.0 and len({(part.source, part.target) for part in self.directed}) < 2:
            raise ValueError(
                f"temperature = {self.temperature}: balances several directions, and there is one; leave it out"
            )
        if not directions:
            refuse_own_parts(self.corpora)
            return self
        if self.alignments is not None:
            raise ValueError(
                f"alignments = {self.alignments!r}: word alignments are read for one direction; leave them out, or the other directions"
            )
        if self.corpora:
            for name in ("valid_src", "valid_pairs", "test_src"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name} = {getattr(self, name)!r}: of which of {len(directions)} directions? Set it in their [[data.corpora]]"
                    )
            check_parts(self.corpora, self.directed)
        return self

    @property
    def training_corpora(self) -> tuple[CorpusData, ...]:
        """The training files: those of `corpora`, or one corpus of `src` and `tgt`, or of `pairs`; none: the pocket corpus."""
        if self.corpora or (self.src is None and self.pairs is None):
            return self.corpora
        return (CorpusData(src=self.src, tgt=self.tgt, pairs=self.pairs, both=self.both),)

    @property
    def directed(self) -> tuple[Directed, ...]:
        """Every training corpus in each of its directions."""
        if self.training_corpora:
            return directed_corpora(self.training_corpora, self.src_lang, self.tgt_lang)
        source, target = languages(self)
        forward = Directed(0, source, target)
        return (forward, Directed(0, target, source, swapped=True)) if self.both else (forward,)

    @property
    def several_directions(self) -> tuple[Direction, ...]:
        """The directions in the order of their corpora, replayed text last, where there are several; else empty."""
        replay, old = self.replay_corpus, self.replay_directed
        if replay is None or old is None:
            return several_directions(self.directed, self.training_corpora)
        return several_directions((*self.directed, old), (*self.training_corpora, replay))

    @property
    def replay_corpus(self) -> CorpusData | None:
        """Replayed text as a corpus behind those of `training_corpora`; None: nothing is replayed."""
        return None if self.replay is None else self.replay.corpus

    @property
    def replay_directed(self) -> Directed | None:
        """`replay_corpus` in its direction."""
        row = self.replay_corpus
        if row is None:
            return None
        [part] = directed_corpora((row,), self.src_lang, self.tgt_lang)
        return replace(part, corpus=len(self.training_corpora))


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

    replay: TextReplay | None = None
    """A table [data.replay]: text of the base that fine-tuning must not forget (text, share), and its test (test_text)."""

    @field_validator("text", mode="before")
    @classmethod
    def _one_text(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            raise ValueError("a language model learns from one text; join the files, or set task to 'pretrain'")
        return value

    @model_validator(mode="after")
    def _one_standard_input(self) -> Self:
        check_standard_input((*self.texts, self.valid_text), (self.test_text,))
        return self

    @property
    def texts(self) -> tuple[str, ...]:
        """The files to learn from."""
        return () if self.text is None else (self.text,)


class PretrainData(TextData):
    """Texts for pretraining."""

    text: str | tuple[str, ...] | None = Field(default=None, examples=["book.txt"])  # type: ignore[assignment]
    """Text to learn from, or a list of texts, such as both sides of a corpus (.gz is unpacked; `-` is the standard input)."""

    valid_text: str | None = None
    """Validation text. By default the last tenth of each text, at most a million characters, is held out; below 500 characters nothing."""

    documents: Literal["file", "line"] = "line"
    """Unit of text: each line is a document, or all lines together are one."""

    max_length: int = Field(default=256, ge=1)
    """Longest text in tokens; longer documents are cut."""

    @field_validator("text", mode="before")
    @classmethod
    def _one_text(cls, value: Any) -> Any:
        if isinstance(value, list | tuple) and not value:
            raise ValueError("an empty list; name the files to learn from")
        return value

    @property
    def texts(self) -> tuple[str, ...]:
        """The files to learn from."""
        return self.text if isinstance(self.text, tuple) else super().texts


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

    replay: LabelledReplay | None = None
    """A table [data.replay]: texts of the base that fine-tuning must not forget (labelled, share), and a test (test_labelled)."""

    @model_validator(mode="after")
    def _one_standard_input(self) -> Self:
        check_standard_input((self.labelled, self.valid_labelled), (self.test_labelled,))
        return self


class PictureSize(Settings):
    """The size that pictures are brought to."""

    height: int | None = Field(default=None, ge=1, le=1024)
    """Height of all pictures in pixels; not given, the width or that of most pictures, at most 64."""

    width: int | None = Field(default=None, ge=1, le=1024)
    """Width of all pictures in pixels; not given, the height or that of most pictures, at most 64."""

    colour: bool | None = None
    """Whether pictures have three colours or are grey; not given, three if any picture has."""

    fit: Literal["crop", "pad", "stretch"] = "crop"
    """How a picture of another shape is brought to the size: cut at the sides, bordered with black, or stretched."""


class ImageData(PictureSize):
    """Labelled pictures."""

    images: str | None = Field(default=None, examples=["pictures"])
    """Labelled pictures: a folder with a folder for each class, .npz, idx (.gz too), or a .tsv of path and label."""

    valid_images: str | None = None
    """Labelled validation pictures. By default a random tenth of `images`, at most 5,000, is held out."""

    test_images: str | None = None
    """Labelled test pictures, which are scored when training ends. By default the validation pictures."""

    label_names: tuple[str, ...] = ()
    """Names for the labels 0, 1, 2 .. of a file that numbers them, in this order."""

    seed: int = Field(default=1, ge=0)
    """Seed that chooses the held-out pictures."""

    @model_validator(mode="after")
    def _no_standard_input(self) -> Self:
        for name in ("images", "valid_images", "test_images"):
            if getattr(self, name) == STDIN:
                raise ValueError(f"{name} = '-': pictures are read from files and folders, not from standard input")
        return self


def check_standard_input(inputs: Sequence[str | None], tests: Sequence[str | None]) -> None:
    """Refuse standard input that would be read twice, or as a test text."""
    if STDIN in tests:
        raise ValueError("test texts must be files; standard input is for training or validation text")
    if inputs.count(STDIN) > 1:
        raise ValueError("standard input '-' can be read only once; give the other side as a file, or use pairs = '-'")


def languages(config: PairData) -> tuple[str | None, str | None]:
    """Source and target language: the settings, else the files' suffixes (`train.en`, `train.en.gz`), else None."""
    if not config.training_corpora:
        return config.src_lang or POCKET_LANGUAGES[0], config.tgt_lang or POCKET_LANGUAGES[1]
    source, target = config.src_lang, config.tgt_lang
    for part in config.directed:
        source, target = source or part.source, target or part.target
    return source, target


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
