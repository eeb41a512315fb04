"""The settings of captioned pictures. It opens no file."""

from typing import Self

from pydantic import Field, model_validator

from regard.data.config import STDIN, PictureSize
from regard.data.scenes.words import LANGUAGES

FILES = (("images", "captions"), ("valid_images", "valid_captions"), ("test_images", "test_captions"))


class CaptionData(PictureSize):
    """Captioned pictures. Without `captions`, the scenes corpus is used: generated pictures of shapes."""

    images: str | None = None
    """The folder that the paths in `captions` are relative to. By default the folder of that file."""

    captions: str | None = None
    """Captions of the training pictures, several a picture if you like: .tsv of picture and caption, or .jsonl (.gz too)."""

    valid_images: str | None = None
    """The folder of the validation pictures; by default as `images`."""

    valid_captions: str | None = None
    """Captions of the validation pictures. By default a random tenth of the training pictures, at most 1,000, is held out."""

    test_images: str | None = None
    """The folder of the test pictures; by default as `images`."""

    test_captions: str | None = None
    """Captions of the test pictures, which are described and scored when training ends. By default the validation pictures."""

    regions: bool = False
    """Whether a head of attention is trained to look at the gold region of each word: scenes have them, own .jsonl captions may."""

    scenes: int = Field(default=20_000, ge=1)
    """Training scenes where no captions are given. Up to 500 more validate, up to 1,000 test, of combinations that are not trained on."""

    tgt_lang: str | None = Field(default=None, min_length=1)
    """The language of the captions, for example "en". That of the scenes: "en", the default, or "fr"."""

    max_length: int = Field(default=64, ge=1)
    """Longest caption in tokens, without end mark. Longer ones are skipped."""

    seed: int = Field(default=1, ge=0)
    """Seed that chooses the held-out pictures, and the scenes."""

    @model_validator(mode="after")
    def _files_fit_together(self) -> Self:
        for images, captions in FILES:
            if STDIN in (getattr(self, images), getattr(self, captions)):
                raise ValueError(f"{captions} = '-': captions are read from files, not from standard input")
            if getattr(self, images) is not None and getattr(self, captions) is None:
                raise ValueError(
                    f"{images} = {getattr(self, images)!r} needs {captions}, a file of picture and caption"
                )
        if self.captions is None:
            for _, name in FILES[1:]:
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} = {getattr(self, name)!r} needs training captions; give captions")
            if self.tgt_lang is not None and self.tgt_lang not in LANGUAGES:
                raise ValueError(f"tgt_lang = {self.tgt_lang!r}: the scenes have captions in {' and '.join(LANGUAGES)}")
            if (self.height, self.width, self.colour) != (None, None, None):
                raise ValueError("height, width and colour are of your own pictures: scenes are 64 x 64, in colour")
        return self

    @property
    def language(self) -> str | None:
        """The language of the captions, if known."""
        return self.tgt_lang if self.captions is not None else self.tgt_lang or LANGUAGES[0]
