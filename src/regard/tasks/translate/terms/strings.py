"""`Strings`: protected strings in the translations of a model: as placeholder pieces, as they are, or left out and put back."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from regard.engine.constraints import MOST_PHRASES, TextPhrase
from regard.tasks.translate.terms.draft import Draft
from regard.tasks.translate.terms.leaving_out import LeftOut
from regard.tasks.translate.terms.model import TermModel
from regard.tasks.translate.terms.restoring import marked, placed, stand_in, without_stand_ins
from regard.tasks.translate.translation import Source, Translation
from regard.text.placeholders import decode_with, encode_with, placeholder_ids
from regard.text.protected import Span

Rest = Callable[[Sequence[Source], Sequence[str], Sequence[Sequence[TextPhrase]]], list[Translation]]
"""Translates sources without their protected strings, with prefixes and phrases."""


class Strings:
    """Keeps the protected strings of drafts."""

    def __init__(self, model: TermModel, translate_rest: Rest) -> None:
        self._model, self._translate_rest = model, translate_rest

    def with_pieces(self, source: Source, spans: Sequence[Span]) -> Source | None:
        """The source with placeholder pieces; None where there is nothing to protect, or the model has not learned enough pieces."""
        ids = self._placeholders
        if not spans or len(spans) > len(ids[0]):
            return None
        row = encode_with(self._model.translator.tokenizers.source, source.text, spans, ids[0][: len(spans)])
        return Source(source.text, row, False) if len(row) <= self._model.translator.max_tokens else None

    @property
    def _placeholders(self) -> tuple[Sequence[int], Sequence[int]]:
        """The learned placeholders of both vocabularies, equally many."""
        bundle, tokenizers = self._model.translator.bundle, self._model.translator.tokenizers
        learned = getattr(bundle.config, "placeholders", 0) if bundle is not None else 0
        sides = placeholder_ids(tokenizers.source)[:learned], placeholder_ids(tokenizers.target)[:learned]
        most = min(map(len, sides))
        return sides[0][:most], sides[1][:most]

    def with_strings(self, drafts: Sequence[Draft], in_pieces: Sequence[bool]) -> list[Draft]:
        """The drafts with a stand-in for each protected string."""
        drafts = [self._marked(draft, pieces) for draft, pieces in zip(drafts, in_pieces, strict=True)]
        # the pieces did not come back: the strings go through the model as they are
        drafts = self._again(
            drafts,
            [draft for draft, pieces in zip(drafts, in_pieces, strict=True) if pieces and draft.lacking],
            lambda again: self._model.search(
                [draft.source for draft in again],
                [draft.prefix for draft in again],
                [draft.phrases for draft in again],
                replace(self._model.options, nbest=1),
            ),
        )
        drafts = self._left_out(drafts)
        if not self._model.translator.can_align and self._model.constrains:
            # no word is linked to another: the search must say the strings
            drafts = self._again(
                drafts,
                [draft for draft in drafts if draft.lacking],
                lambda again: self._model.constrained(
                    [draft.source for draft in again],
                    [draft.prefix for draft in again],
                    [
                        [*draft.phrases, *(draft.strings[number] for number in draft.lacking)][:MOST_PHRASES]
                        for draft in again
                    ],
                ),
            )
        return [
            replace(draft, text=placed(draft.text, draft.source.text, draft.spans, [])) if draft.lacking else draft
            for draft in drafts
        ]

    def _left_out(self, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts; where strings did not come back, the source is translated without them and they are put back by word alignment."""
        lost = [draft for draft in drafts if draft.lacking] if self._model.translator.can_align else []
        if not lost:
            return list(drafts)
        rests = [LeftOut(draft.source.text, draft.spans) for draft in lost]
        texts = [rest.text for rest in rests]
        found = self._translate_rest(
            self._model.read(texts), [draft.prefix for draft in lost], [draft.phrases for draft in lost]
        )
        alignments = self._model.translator.align(texts, [one.text for one in found])
        mended = {}
        for draft, rest, one, alignment in zip(lost, rests, found, alignments, strict=True):
            text, links = rest.put_back(without_stand_ins(one.text), alignment.links)
            mended[id(draft)] = replace(draft, translation=one, text=text, links=links)
        return [mended.get(id(draft), draft) for draft in drafts]

    def _again(
        self,
        drafts: Sequence[Draft],
        again: Sequence[Draft],
        search: "Callable[[Sequence[Draft]], list[Translation]]",
    ) -> list[Draft]:
        """The drafts, some of them with another translation, if that lacks fewer protected strings."""
        if not again:
            return list(drafts)
        others = {}
        for draft, translation in zip(again, search(again), strict=True):
            other = self._marked(replace(draft, translation=replace(translation, alternatives=())), False)
            others[id(draft)] = other if len(other.lacking) <= len(draft.lacking) else draft
        return [others.get(id(draft), draft) for draft in drafts]

    def _marked(self, draft: Draft, in_pieces: bool) -> Draft:
        """The draft with the text of its translation, where stand-ins are what the model says of the protected strings."""
        target = self._model.translator.tokenizers.target
        if in_pieces:
            ids = target.vocabulary.ids_of(draft.translation.tokens)
            strings = {
                index: stand_in(number) for number, index in enumerate(self._placeholders[1][: len(draft.spans)])
            }
            lost = [string for index, string in strings.items() if index not in ids]
            # the model confused its pieces: others stand for those that are lost
            others = [
                index for index in dict.fromkeys(ids) if index in placeholder_ids(target) and index not in strings
            ]
            return replace(draft, text=decode_with(target, ids, strings | dict(zip(others, lost, strict=False))))
        if not draft.spans:
            return replace(draft, text=draft.translation.text)
        strings_said = [target.normalise(string) for string in draft.strings]
        return replace(draft, text=marked(draft.translation.text, draft.strings, strings_said))
