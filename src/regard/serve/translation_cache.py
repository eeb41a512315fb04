"""`TranslationCache`: the translations that were asked for last. A search without drawn numbers has one answer, so it may be kept."""

from collections import OrderedDict
from collections.abc import Hashable, Sequence

from regard.search.options import SearchOptions
from regard.serve.models import Step
from regard.tasks.translate.translation import Translation

LONGEST = 2000
"""Characters of a text that is kept: the memory of an entry is bounded."""


class TranslationCache:
    """A bounded table; the entry that was used the longest time ago goes first. Only the event loop uses it."""

    def __init__(self, size: int) -> None:
        """size: the most entries; 0: nothing is kept."""
        self.size = size
        self._entries: OrderedDict[Hashable, Translation] = OrderedDict()

    def found(self, steps: Sequence[Step], options: SearchOptions, texts: Sequence[str]) -> list[Translation | None]:
        """The translation of each text; None: it is not kept."""
        if not self._keeps(options):
            return [None] * len(texts)
        found: list[Translation | None] = []
        for text in texts:
            key = _key(steps, options, text)
            found.append(self._entries.get(key))
            if key in self._entries:
                self._entries.move_to_end(key)
        return found

    def keep(
        self, steps: Sequence[Step], options: SearchOptions, texts: Sequence[str], translations: Sequence[Translation]
    ) -> None:
        """Keep the translations of texts."""
        if not self._keeps(options):
            return
        for text, translation in zip(texts, translations, strict=True):
            if len(text) <= LONGEST and not translation.timed_out:
                self._entries[_key(steps, options, text)] = translation
        while len(self._entries) > self.size:
            self._entries.popitem(last=False)

    def _keeps(self, options: SearchOptions) -> bool:
        return self.size > 0 and not options.draws and options.time_limit is None and not options.shortlist


def _key(steps: Sequence[Step], options: SearchOptions, text: str) -> Hashable:
    return tuple(id(step.translator) for step in steps), options, text
