"""The bodies of requests with typed JSON. Options of a search are made from the fields of `SearchOptions`: a new one appears by itself."""

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from regard.search.options import FIELDS, SearchKeywords, SearchOptions
from regard.serve.errors import RequestError

if TYPE_CHECKING:
    from regard.data.pictures import Picture


def refuse_surrogates(text: str) -> str:
    """Refuse half of a surrogate pair, which JSON can spell and no encoding can write."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode: it has half of a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(refuse_surrogates)]
"""A text of a request."""
Encoded = Annotated[str, Field(description="A PNG or JPEG file in base64.")]
Number = Annotated[float, Field(allow_inf_nan=False)]
ModelName = Annotated[Text | None, Field(description="The name of a model; needed where several have the task.")]


def _search_fields() -> dict[str, Any]:
    """Name -> (type, field) of each option of a search."""
    kinds = get_type_hints(SearchOptions)
    found: dict[str, Any] = {}
    for name, option in FIELDS.items():
        most, listing = option.metadata["most"], name == "suppress"
        kind = list[Text] if listing else kinds[name]
        bound: dict[str, Any] = {} if most is None else {"max_length" if listing else "le": int(most)}
        default = [] if listing else option.default
        found[name] = (kind, Field(default=default, description=option.metadata["help"], **bound))
    return found


class _Options(BaseModel):
    """The base of `SearchFields`. An unknown option is refused by `SearchOptions`, with the nearest name."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False, json_schema_extra={"additionalProperties": False})

    def given(self) -> SearchKeywords:
        """The options that the request has."""
        keywords: SearchKeywords = cast(SearchKeywords, self.model_dump(exclude_unset=True))
        return keywords


SearchFields: type[_Options] = create_model(
    "SearchOptions", __base__=_Options, __doc__="The options of a search.", **_search_fields()
)
"""The options of a search, as the fields of a request."""


class Body(BaseModel):
    """The base of all bodies."""

    model_config = ConfigDict(extra="forbid")


class TextBody(Body):
    """Texts for a model."""

    model: ModelName = None
    texts: list[Text]


class _Searching(Body):
    """A body with the options of a search."""

    options: Annotated[SearchFields, Field(default_factory=SearchFields)]  # type: ignore[valid-type]

    def keywords(self) -> SearchKeywords:
        """The options that were given."""
        options: _Options = self.options
        return options.given()


class TranslateBody(_Searching):
    """Texts to translate."""

    texts: list[Text]
    source: Text | None = Field(default=None, description="The source language; needed where there are several.")
    target: Text | None = Field(default=None, description="The target language; needed where there are several.")
    model: Text | None = Field(default=None, description="The name of a model; without it the first of that direction.")
    prefixes: list[Text] | None = Field(default=None, description="The beginning of each translation.")
    phrases: list[list[Text]] | None = Field(default=None, description="What each translation must contain.")
    glossary: list[tuple[Text, Text | list[Text]]] | None = Field(
        default=None, description="Pairs of a term and its translation, or several: the preferred one first."
    )
    protect: list[Text] | None = Field(
        default=None, description="Strings that stay as they are, to the letter; `default` and `numbers` are patterns."
    )
    alignment: bool = Field(default=False, description="Whether to tell which words belong together.")


class GenerateBody(_Searching):
    """Prompts to continue."""

    model: ModelName = None
    prompts: list[Text]


class ClassifyBody(Body):
    """Texts or pictures to label."""

    model: ModelName = None
    texts: list[Text] | None = None
    pictures: list[Encoded] | None = None


class CaptionBody(_Searching):
    """Pictures to describe."""

    model: ModelName = None
    pictures: list[Encoded]
    prefixes: list[Text] | None = Field(default=None, description="The beginning of each caption.")
    phrases: list[list[Text]] | None = Field(default=None, description="What each caption must contain.")
    looks: bool = Field(default=False, description="Whether to tell where each word of the best caption looks.")


class ForecastBody(Body):
    """Series to continue."""

    model: ModelName = None
    series: dict[Text, list[Number]] | list[list[Number]] = Field(description="Numbers by name, or a list of series.")


class FillBody(TextBody):
    """Texts with gaps."""

    nbest: int = Field(default=1, ge=1, le=1000)
    beam: int = Field(default=5, ge=1, le=1000)


class ExplainBody(Body):
    """One input to explain."""

    model: ModelName = None
    text: Text | None = None
    picture: Encoded | None = None
    source: Text | None = Field(default=None, description="The source language, of a model of several directions.")
    target_language: Text | None = Field(default=None, description="The target language, of a model of several.")
    target: Text | None = Field(default=None, description="Explain this output instead of the model's own.")
    beam: int | None = Field(default=None, ge=1, le=1000)
    alpha: Number | None = None
    prefix: list[Text] | None = Field(default=None, description="What if the translation began with this?")
    replace: list[Text] | None = Field(default=None, description="WORD=OTHER: what if a source word were another?")
    mask: list[Text] | None = Field(default=None, description="What if it did not see this word?")
    without: list[Text] | None = Field(default=None, description="What if this head were silent? cross.3.1")


def files_of(encoded: Sequence[str]) -> "list[bytes]":
    """The files that base64 texts hold."""
    files = []
    for number, text in enumerate(encoded):
        try:
            files.append(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            raise RequestError(f"pictures[{number}]: not valid base64; give the bytes of a PNG or JPEG file") from None
    return files


def decoded(content: bytes, name: str) -> "Picture":
    """The picture of a file's bytes."""
    from regard.data.pictures import picture_of_bytes

    return picture_of_bytes(content, name)
