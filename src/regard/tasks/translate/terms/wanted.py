"""`Wanted`: the terms of a glossary in the translations of a model: searched for as phrases, or put in the place of aligned words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from regard.engine.constraints import MOST_PHRASES, TextPhrase
from regard.tasks.translate.terms.draft import Draft
from regard.tasks.translate.terms.glossary import Glossary, Match, said
from regard.tasks.translate.terms.model import TermModel
from regard.tasks.translate.terms.placing import Placer, words_of
from regard.tasks.translate.terms.restoring import stand_in
from regard.tasks.translate.terms.strings import Strings
from regard.text.protected import occurrences

MORE_WORDS = 8
"""A search for terms may make a translation longer by a word for so many of it (chosen on validation text).

A longer one says the term beside the word that it should replace.
"""


class Wanted:
    """Brings the terms of a glossary into drafts."""

    def __init__(self, model: TermModel, glossary: Glossary, strings: Strings, repairs: Sequence[str]) -> None:
        self._model, self._glossary, self._strings, self._repairs = model, glossary, strings, repairs

    def with_terms(
        self,
        drafts: Sequence[Draft],
        owners: Sequence[int],
    ) -> list[Draft]:
        """The drafts with the terms of the glossary: of the repairs that leave the fewest unmet, the one that the model finds likeliest."""
        places = [place for place, draft in enumerate(drafts) if self.unmet(draft)]
        candidates: dict[int, list[Draft]] = {place: [] for place in places}
        said_beside: set[int] = set()
        for repair in self._repairs if places else ():
            if repair == "replace":
                for place, forms in zip(places, self._replaced([drafts[place] for place in places]), strict=True):
                    candidates[place] += forms
            elif self._model.constrains:
                # only the best of each text is searched again
                own = [place for place in places if place == 0 or owners[place - 1] != owners[place]]
                mended = self._searched([drafts[place] for place in own])
                for place, draft in zip(own, mended, strict=True):
                    candidates[place].append(draft)
                    if len(draft.text.split()) > self._most_words(drafts[place]):
                        said_beside.add(id(draft))
        candidates = {place: [d for d in own if id(d) not in said_beside] or own for place, own in candidates.items()}
        results = list(drafts)
        for place, best in self._likeliest(candidates).items():
            if len(self.unmet(best)) < len(self.unmet(drafts[place])):
                results[place] = best
        return results

    def _most_words(self, plain: Draft) -> int:
        """The most words of a translation in which the terms stand in place of words of the plain one."""
        words = len(plain.text.split())
        terms = sum(max(len(form.split()) for form in match.entry.targets) - 1 for match in self.unmet(plain))
        return words + round(words / MORE_WORDS) + terms

    def _likeliest(self, candidates: Mapping[int, Sequence[Draft]]) -> dict[int, Draft]:
        """The candidate of the largest log p for each place, of those that leave the fewest terms unmet."""
        best: dict[int, list[Draft]] = {}
        for place, own in candidates.items():
            unmet = [len(self.unmet(draft)) for draft in own]
            fewest = [draft for draft, count in zip(own, unmet, strict=True) if count == min(unmet)]
            best[place] = list({draft.text: draft for draft in fewest}.values())
        judged = [(place, draft) for place, own in best.items() if len(own) > 1 for draft in own]
        chosen = {place: own[0] for place, own in best.items() if own}
        if judged:
            scores = self._model.translator.score(
                [draft.source.text for _, draft in judged], [draft.readable for _, draft in judged], alpha=0.0
            )
            ranked = sorted(zip((score.score for score in scores), range(len(judged)), strict=True))
            chosen |= {judged[number][0]: judged[number][1] for _, number in ranked}  # the last of each place stays
        return chosen

    def unmet(self, draft: Draft) -> list[Match]:
        """The terms that a draft does not say."""
        return [match for match in draft.matches if said(draft.text, self.accepted(match)) is None]

    def accepted(self, match: Match) -> list[str]:
        """The forms that count, as the model can say them."""
        forms = self._glossary.accepted(match)
        target = self._model.translator.tokenizers.target
        return list(dict.fromkeys([*forms, *map(target.normalise, forms)]))

    def _searched(self, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts searched again, with their terms as phrases."""
        wanted = [
            [*draft.phrases, *dict.fromkeys(tuple(self._glossary.offered(match)) for match in draft.matches)]
            for draft in drafts
        ]
        kept: list[list[TextPhrase]] = []
        for own in wanted:  # as many as a search takes
            sizes, total = [1 if isinstance(phrase, str) else len(phrase) for phrase in own], 0
            row: list[TextPhrase] = []
            for phrase, size in zip(own, sizes, strict=True):
                total += size
                if total <= MOST_PHRASES:
                    row.append(phrase)
            kept.append(row)
        reads = [self._strings.with_pieces(draft.source, draft.spans) for draft in drafts]
        found = self._model.constrained(
            [read or draft.source for read, draft in zip(reads, drafts, strict=True)],
            [draft.prefix for draft in drafts],
            kept,
        )
        again = [
            replace(draft, translation=translation, links=None, made_to_say=True)
            for draft, translation in zip(drafts, found, strict=True)
        ]
        return self._strings.with_strings(again, [read is not None for read in reads])

    def _replaced(self, drafts: Sequence[Draft]) -> list[list[Draft]]:
        """The drafts with each missing term in place of the words that are linked to it: a candidate for each form of the term."""
        offered = self._glossary.offered
        candidates = []
        for draft, links in zip(drafts, self._model.links(drafts), strict=True):
            words = draft.text.split()
            blocked = {at for at, word in enumerate(words) if any(stand_in(n) in word for n in range(len(draft.spans)))}
            unmet = [(match, offered(match)) for match in self.unmet(draft)]
            for match in draft.matches:
                form = said(draft.text, self.accepted(match))
                for span in occurrences(draft.text, [form]) if form else []:
                    blocked |= set(words_of(draft.text, span))
            own = []
            for number in range(max(len(forms) for _, forms in unmet)):
                placer = Placer(words, links, len(draft.source.text.split()), set(blocked))
                for match, forms in unmet:
                    placer.place(words_of(draft.source.text, match.span), forms[min(number, len(forms) - 1)])
                own.append(replace(draft, text=placer.text(), links=placer.linked()))
            candidates.append(own)
        return candidates
