"""Translations that keep protected strings and obey a glossary, by any `Translator`.

    terms = Terms(protection=Protection(("default",)), glossary=Glossary.read("terms.tsv", "en", "de"))
    [translation] = terms.search(translator, ["The {size} dog"], SearchOptions())
    translation.text, translation.protected, translation.terms

A sentence whose translation has what it should is left as the plain search gave it. Protected strings go through a model that has learned
placeholder pieces as such pieces, and through others as they are; where they do not come back, the sentence is translated without them and
they are put beside the translations of their neighbours. A sentence that lacks a term is searched again with the forms of the term
as phrases (`search/constrained.py`); what is still missing is put at the place of its source words by word alignment.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from regard.activity import activity
from regard.engine.constraints import TextPhrase
from regard.search.interruption import StopSignal
from regard.search.options import SearchOptions
from regard.tasks.translate.terms.draft import Draft
from regard.tasks.translate.terms.glossary import Glossary, Match, said
from regard.tasks.translate.terms.model import TermModel
from regard.tasks.translate.terms.placing import with_terms_linked, words_of
from regard.tasks.translate.terms.restoring import MOST_STAND_INS, restored
from regard.tasks.translate.terms.strings import Strings
from regard.tasks.translate.terms.wanted import Wanted
from regard.tasks.translate.translation import Links, Source, TermUse, Translation
from regard.tasks.translate.translator import Translator
from regard.text.protected import Protection, Span

MOST_MATCHES = 100
"""Terms of one text that are looked after: a text of more is no sentence, and would take minutes."""


class TermWarning(UserWarning):
    """A text has more terms than are looked after."""


@dataclass(frozen=True)
class Terms:
    """The strings that translations must keep, and the terms that they must say."""

    protection: Protection | None = None
    glossary: Glossary | None = None
    repairs: tuple[str, ...] = field(default=("search", "replace"), repr=False)
    """How a missing term is brought in, one way after the other."""

    def search(self, translator: Translator, texts: Sequence[str], options: SearchOptions) -> list[Translation]:
        """One translation for each text, in order, as `Translator.search`."""
        return self.search_read(translator, translator.read(texts), options)

    def search_read(
        self,
        translator: Translator,
        sources: Sequence[Source],
        options: SearchOptions,
        *,
        prefixes: Sequence[str] | None = None,
        phrases: Sequence[Sequence[TextPhrase]] | None = None,
        batch_tokens: int | None = None,
        scores: bool = True,
        stopped: StopSignal | None = None,
    ) -> list[Translation]:
        """`Translator.search_read`, with these terms."""
        return _translations(
            self, TermModel(translator, options, batch_tokens, scores, stopped), sources, prefixes, phrases
        )


def _translations(
    terms: Terms,
    model: TermModel,
    sources: Sequence[Source],
    prefixes: Sequence[str] | None,
    phrases: Sequence[Sequence[TextPhrase]] | None,
) -> list[Translation]:
    """The translation of each source."""

    def without_strings(
        rests: Sequence[Source], own_prefixes: Sequence[str], own_phrases: Sequence[Sequence[TextPhrase]]
    ) -> list[Translation]:
        inner = replace(model, options=replace(model.options, nbest=1))
        return _translations(replace(terms, protection=None), inner, rests, own_prefixes, own_phrases)

    protection, glossary = terms.protection, terms.glossary
    strings = Strings(model, without_strings)
    spans = [tuple(protection.spans(source.text)[:MOST_STAND_INS]) if protection else () for source in sources]
    reads = [strings.with_pieces(source, own) for source, own in zip(sources, spans, strict=True)]
    found = model.search([read or source for read, source in zip(reads, sources, strict=True)], prefixes, phrases)
    matched = _matched(glossary, sources, spans) if glossary else [()] * len(sources)
    drafts: list[Draft] = []
    in_pieces: list[bool] = []
    owners: list[int] = []
    for number, (source, own, matches, translation) in enumerate(zip(sources, spans, matched, found, strict=True)):
        prefix, wanted = prefixes[number] if prefixes else "", tuple(phrases[number]) if phrases else ()
        for one in translation.alternatives or (translation,):
            drafts.append(Draft(source, own, matches, one, "", prefix, wanted))
            in_pieces.append(reads[number] is not None)
            owners.append(number)
    drafts = strings.with_strings(drafts, in_pieces)
    wanted_terms = None if glossary is None else Wanted(model, glossary, strings, terms.repairs)
    if wanted_terms is not None:
        drafts = wanted_terms.with_terms(drafts, owners)
    results: list[list[Translation]] = [[] for _ in sources]
    for draft, owner in zip(drafts, owners, strict=True):
        results[owner].append(_finished(model.translator, draft, wanted_terms))
    return [
        replace(own[0], alternatives=tuple(own)) if translation.alternatives else own[0]
        for own, translation in zip(results, found, strict=True)
    ]


def _matched(glossary: Glossary, sources: Sequence[Source], spans: Sequence[Sequence[Span]]) -> list[tuple[Match, ...]]:
    """The terms of each source that are looked after."""
    matched = []
    with activity("looking for terms", len(sources), "texts") as looking:  # a server ends it between two texts
        for source, own in zip(sources, spans, strict=True):
            matches = glossary.matches(source.text, own)
            if len(matches) > MOST_MATCHES:
                warnings.warn(
                    f"a text has more than {MOST_MATCHES} terms of the glossary; those behind them are not looked after: "
                    "give sentences",
                    TermWarning,
                    stacklevel=2,
                )
            matched.append(tuple(matches[:MOST_MATCHES]))
            looking.advance()
    return matched


def _finished(translator: Translator, draft: Draft, wanted: Wanted | None) -> Translation:
    """The translation with its text, and what became of each term."""
    if not draft.spans and not draft.matches:
        return replace(draft.translation, alternatives=())
    final = restored(draft.text, draft.strings)
    uses = tuple(
        TermUse(match.text, match.entry.targets, said(final.text, wanted.accepted(match)), match.entry.line)
        for match in draft.matches
        if wanted is not None
    )
    translation = replace(
        draft.translation,
        text=final.text,
        protected=final.spans,
        terms=uses,
        alternatives=(),
        source=draft.source.text,
    )
    links = _links(translator, draft, final.text)
    if draft.made_to_say:
        terms = [
            (words_of(draft.source.text, match.span), use.said) for match, use in zip(draft.matches, uses, strict=True)
        ]
        said_terms = [(words, form) for words, form in terms if form is not None]
        return replace(translation, links=lambda: with_terms_linked(links(), final.text, said_terms))
    return replace(translation, links=links)


def _links(translator: Translator, draft: Draft, text: str) -> Callable[[], Links]:
    """The function that computes the links of a draft whose final text is this one."""
    known, source = draft.links, draft.source.text
    if text == draft.translation.text:
        return draft.translation.links
    if known is not None and all(len(string.split()) == 1 for string in draft.strings):
        return lambda: known

    def links() -> Links:
        [alignment] = translator.align([source], [text])
        return alignment.links

    return links
