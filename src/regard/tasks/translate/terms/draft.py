"""`Draft`: a sentence whose translation is being made to keep and say its terms. It searches nothing."""

from dataclasses import dataclass

from regard.engine.constraints import TextPhrase
from regard.tasks.translate.terms.glossary import Match
from regard.tasks.translate.terms.restoring import missing, spans_as_text, stand_in
from regard.tasks.translate.translation import Links, Source, Translation
from regard.text.protected import Span


@dataclass(frozen=True)
class Draft:
    """A sentence on its way: `text` is its translation, with stand-ins for the protected strings that it has."""

    source: Source
    spans: tuple[Span, ...]
    matches: tuple[Match, ...]
    translation: Translation
    text: str
    prefix: str = ""
    """What the translation must begin with."""
    phrases: tuple[TextPhrase, ...] = ()
    """What else it must contain."""
    links: Links | None = None
    """Between the words of the source and of `text`; None: the model aligns them."""

    made_to_say: bool = False
    """Whether a search was made to say the terms."""

    @property
    def strings(self) -> list[str]:
        """The protected strings."""
        return spans_as_text(self.source.text, self.spans)

    @property
    def lacking(self) -> list[int]:
        """The numbers of the protected strings that `text` has no stand-in of."""
        return missing(self.text, self.strings)

    @property
    def readable(self) -> str:
        """`text` with its protected strings, each as one word."""
        text = self.text
        for number, string in enumerate(self.strings):
            text = text.replace(stand_in(number), "_".join(string.split()))
        return text
