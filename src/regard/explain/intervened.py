"""Several changes of one sentence or network at once: words replaced or masked, heads silenced, a forced beginning.

`what_if` tries one change at a time beside the original. Here all of them act together, and the result is a translator that can be watched
and explained like any other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import ConfigError, SearchError
from regard.explain.explain import side
from regard.explain.interventions import edited, without_head, without_tokens
from regard.explain.what_if import Change, check_changes, replaced_words, word_positions
from regard.tasks.translate.translator import Translator


@dataclass(frozen=True)
class Intervened:
    """A translator under changes, what it reads, and how its output must begin."""

    model: Translator
    text: str
    prefix: str
    changes: tuple[Change, ...]

    @property
    def name(self) -> str:
        """A description of the changes; empty if there are none."""
        return ", ".join(change.name for change in self.changes)

    def translate(self, *, beam: int, alpha: float) -> str:
        """The best translation under the changes."""
        prefixes = [self.prefix] if self.prefix else None
        [best] = self.model.translate([self.text], beam=beam, alpha=alpha, prefixes=prefixes)
        return best.text


def intervened(model: Translator, text: str, changes: Sequence[Change]) -> Intervened:
    """All changes together. Words are those of `text`; a change that does not fit is a `ConfigError`."""
    ids = model.tokenizers.source.encode(text)
    source = side(model.tokenizers.source, ids)
    check_changes(model, source, ids, changes)
    prefixes = [change.prefix for change in changes if change.prefix is not None]
    if len(prefixes) > 1:
        raise ConfigError(f"a translation has one beginning, not {len(prefixes)}: {', '.join(map(repr, prefixes))}")
    masked = {place for change in changes if change.mask is not None for place in word_positions(source, change.mask)}
    words = list(source.words)
    for change in changes:
        if change.replace is not None:
            words = replaced_words(source, words, *change.replace)
    read = " ".join(words) if words != list(source.words) else text
    changed = model
    if masked:
        tokens = _tokens_of(model, read, masked, len(words))
        changed = edited(changed, without_tokens(tokens))
    for change in changes:
        if change.head is not None:
            changed = edited(changed, without_head(*change.head))
    return Intervened(changed, read, prefixes[0] if prefixes else "", tuple(changes))


def _tokens_of(model: Translator, text: str, words: set[int], count: int) -> list[int]:
    """The positions of the tokens of these words, in the text that is read."""
    tokenizer = model.tokenizers.source
    ids = tokenizer.encode(text)[: model.max_tokens]
    if len(tokenizer.encode(text)) > len(ids):
        raise SearchError(
            f"the text has more than {model.max_tokens} tokens, and the model reads no more; mask a word of a shorter text"
        )
    if len(tokenizer.decode(ids).split()) != count:
        raise SearchError("a word was replaced by several, and another is masked; leave one of the two out")
    return [token for token, word in enumerate(tokenizer.words(ids)) if word in words]
