"""`StudioState`: what a reader of the studio looks at: a model, its input, a search, changes. A link holds one, and so does every request.

No torch. It knows no task: which fields count for a model is the business of `studio_tasks`.
"""

import base64
from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field

from regard.errors import DataError
from regard.explain.explanation import Part
from regard.search.options import SearchOptions
from regard.serve.typed import Body, Text

if TYPE_CHECKING:
    from regard.explain.what_if import Change

MOST_CHANGES = 50
MOST_CHARACTERS = 5_000
"""Of a text: attention maps of all pairs of its tokens are part of an explanation."""
DRAWN_TOKENS = 60
"""The usual length of a text that a language model draws."""


class StudioState(Body):
    """A state of the studio."""

    model_config = ConfigDict(allow_inf_nan=False)

    model: Text = Field(description="The name of the model.")
    text: Text = Field(
        default="", max_length=MOST_CHARACTERS, description="What is translated, continued or classified."
    )
    picture: str | None = Field(default=None, description="PNG or JPEG in base64, for a model of pictures.")
    picture_name: Text = Field(default="picture", max_length=200)
    source: str | None = Field(
        default=None, max_length=35, description="Of a model of several directions: the language of the text."
    )
    target: str | None = Field(
        default=None, max_length=35, description="Of a model of several directions: the target language."
    )
    beam: int = Field(default=5, ge=1)
    alpha: float = Field(default=1.0, ge=0)
    sample: bool = Field(default=False, description="Draw instead of searching.")
    samples: int = Field(default=1, ge=1)
    temperature: float = Field(default=1.0, gt=0)
    top_k: int = Field(default=0, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0)
    max_length: int = Field(
        default=DRAWN_TOKENS, ge=1, le=400, description="Of a language model: the most tokens that are drawn."
    )
    mask: list[Text] = Field(
        default_factory=list, max_length=MOST_CHANGES, description="Words that the model does not see."
    )
    replace: list[Text] = Field(default_factory=list, max_length=MOST_CHANGES, description="WORD=OTHER")
    without: list[Text] = Field(
        default_factory=list, max_length=MOST_CHANGES, description="Heads that are silent: cross.3.1"
    )
    prefix: Text = Field(default="", max_length=MOST_CHARACTERS, description="How the translation must begin.")
    said: Text | None = Field(
        default=None, max_length=4 * MOST_CHARACTERS, description="Explain this output instead of the model's own."
    )
    parts: list[Part] = Field(default_factory=list, description="The costly parts of the explanation of a translation.")

    def changes(self) -> "list[Change]":
        """The reader's changes of the sentence and the network."""
        from regard.explain.what_if import Change, parse_head, parse_replacement

        changes = [Change(replace=parse_replacement(pair)) for pair in self.replace]
        changes += [Change(mask=word) for word in self.mask]
        changes += [Change(head=parse_head(head)) for head in self.without]
        return [*changes, Change(prefix=self.prefix)] if self.prefix else changes

    def search(self) -> SearchOptions:
        """The search of a translation that is watched."""
        if self.sample:
            return self.draw(self.samples)
        return SearchOptions(beam=self.beam, alpha=self.alpha, nbest=self.beam)

    def draw(self, samples: int = 1, max_length: int | None = None) -> SearchOptions:
        """How outputs are drawn."""
        return SearchOptions(
            sample=True,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            seed=self.seed,
            nbest=samples,
            alpha=self.alpha,
            max_length=max_length,
        )

    def picture_bytes(self) -> bytes:
        """The file of the picture."""
        if not self.picture:
            raise DataError("there is no picture; drop a PNG or JPEG file, or choose one")
        try:
            return base64.b64decode(self.picture, validate=True)
        except ValueError:  # wrong base64, or letters beyond ASCII
            raise DataError("the picture is not base64; send the bytes of a PNG or JPEG file in base64") from None
