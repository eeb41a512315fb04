"""Replay: text that the base of fine-tuning was trained on, mixed in so that less is forgotten, and tests that measure forgetting.

`[data.replay]` has one class for each form of data. No file is opened here.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from regard.data.corpus_config import CorpusData, Language, language_of
from regard.data.mixing import CorpusPart
from regard.settings import Settings

if TYPE_CHECKING:
    from regard.data.config import LabelledData, TextData

STDIN = "-"
NO_FILES = ("share", "src_lang", "tgt_lang")


class Replay(Settings):
    """Text of the base, for a share of each epoch of fine-tuning, and old tests that tell what was forgotten. It needs train.start."""

    share: float = Field(default=0.1, gt=0, lt=1)
    """The share of the examples of an epoch that come from here, if there is text to train on."""

    @property
    def trains(self) -> bool:
        """Whether there is text to mix into training. If not, forgetting is only measured."""
        raise NotImplementedError

    @property
    def test_flags(self) -> dict[str, Any] | None:
        """The flags of `regard evaluate` that name the old test set; None: there is none."""
        raise NotImplementedError

    @property
    def paths(self) -> dict[str, str]:
        """Name of each setting that is a file -> its path."""
        values = self.model_dump()
        return {name: values[name] for name in values if name not in NO_FILES and values[name] is not None}

    @model_validator(mode="after")
    def _has_files(self) -> Self:
        if not self.paths:
            files = ", ".join(name for name in type(self).model_fields if name not in NO_FILES)
            raise ValueError(f"no files; give {files.replace(', test', ' or test', 1)}, or leave the table out")
        if STDIN in self.paths.values():
            raise ValueError("standard input '-' cannot be replayed; give a file")
        return self


class PairReplay(Replay):
    """Text of the base, for a share of each epoch of fine-tuning, and old tests that tell what was forgotten. It needs train.start."""

    src: str | None = None
    """Source side of text that the base was trained on, as data.src."""
    tgt: str | None = None
    """Target side, as data.tgt."""
    pairs: str | None = None
    """Both sides in one file, as data.pairs."""
    src_lang: Language | None = None
    """Source language of this text; by default data.src_lang, or the suffix of `src`."""
    tgt_lang: Language | None = None
    """Target language of this text; by default data.tgt_lang, or the suffix of `tgt`."""
    test_src: str | None = None
    """Source side of an old test set, which is translated before and after fine-tuning."""
    test_tgt: str | None = None
    """Target side of the old test set."""

    @property
    def trains(self) -> bool:
        return self.src is not None or self.pairs is not None

    @property
    def test_flags(self) -> dict[str, Any] | None:
        if self.test_src is None:
            return None
        return {
            "src": self.test_src,
            "ref": self.test_tgt,
            "refs": [self.test_tgt],
            "from": self.src_lang or language_of(self.test_src),
            "to": self.tgt_lang or language_of(self.test_tgt),
        }

    @property
    def corpus(self) -> CorpusData | None:
        """The text as a further training corpus; None: nothing is replayed."""
        if not self.trains:
            return None
        return CorpusData(src=self.src, tgt=self.tgt, pairs=self.pairs, src_lang=self.src_lang, tgt_lang=self.tgt_lang)

    @model_validator(mode="after")
    def _sides(self) -> Self:
        for one, other in (("src", "tgt"), ("tgt", "src"), ("test_src", "test_tgt"), ("test_tgt", "test_src")):
            if getattr(self, one) is not None and getattr(self, other) is None:
                raise ValueError(
                    f"{one} = {getattr(self, one)!r} needs {other}, the same sentences in the other language"
                )
        if self.src is not None and self.pairs is not None:
            raise ValueError("src and pairs exclude each other; give src with tgt, or pairs")
        return self


class TextReplay(Replay):
    """Text of the base, for a share of each epoch of fine-tuning, and an old test that tells what was forgotten. It needs train.start."""

    text: str | None = None
    """Text that the base was trained on, as data.text."""
    test_text: str | None = None
    """An old test text, which is scored before and after fine-tuning."""

    @property
    def trains(self) -> bool:
        return self.text is not None

    @property
    def test_flags(self) -> dict[str, Any] | None:
        return None if self.test_text is None else {"text": self.test_text}


class LabelledReplay(Replay):
    """Texts of the base, for a share of each epoch of fine-tuning, and an old test that tells what was forgotten. It needs train.start."""

    labelled: str | None = None
    """Labelled texts that the base was trained on, as data.labelled."""
    test_labelled: str | None = None
    """Old labelled test texts, which are scored before and after fine-tuning."""

    @property
    def trains(self) -> bool:
        return self.labelled is not None

    @property
    def test_flags(self) -> dict[str, Any] | None:
        return None if self.test_labelled is None else {"data": self.test_labelled}


def replayed_text(data: "TextData", text: str) -> "TextData":
    """The settings that prepare replayed text: all of it is trained on."""
    return data.model_copy(update={"text": text, "valid_text": text, "test_text": None, "replay": None})


def replayed_labelled(data: "LabelledData", labelled: str) -> "LabelledData":
    """The settings that prepare replayed labelled texts: all of them are trained on."""
    changes = {"labelled": labelled, "valid_labelled": labelled, "test_labelled": None, "replay": None}
    return data.model_copy(update=changes)


def replayed(parts: Sequence[CorpusPart], share: float) -> tuple[CorpusPart, ...]:
    """The parts with the weight of the last one such that it has `share` of the examples of an epoch."""
    *new, old = parts
    others = sum(part.weight * part.examples for part in new)
    weight = share / (1.0 - share) * others / max(1, old.examples)
    return (*new, replace(old, weight=weight))


def replay_note(parts: Sequence[CorpusPart], share: float) -> str:
    """The note for the user on what is replayed."""
    *_, old = parts
    return (
        f"replay: {round(old.weight * old.examples):,} of {old.examples:,} examples of {old.name} in each epoch, "
        f"{100 * share:g} % of it"
    )
