"""Gaps: places of a text that a pretrained model fills. Which names mean one is a matter of its objective. It knows no network.

A model of masks and one of denoising have `<mask>`. A model of spans has `<extra_id_0>`, `<extra_id_1>` and so on, and `<mask>` means the
next of them. A model of prefixes has none: it continues a text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regard.bundle.opened import OpenBundle
from regard.data.objectives import MaskObjective, ObjectiveConfig, PrefixObjective, SpanObjective
from regard.errors import BundleError, shown
from regard.text.reserved import MASK, Reserved

_GAP = re.compile(r"<mask>|\[MASK\]|<extra_id_\d{1,6}>")


@dataclass(frozen=True)
class Gaps:
    """The gaps of the models of an objective."""

    objective: ObjectiveConfig
    reserved: Reserved

    @property
    def needed(self) -> bool:
        """Whether a text without a gap stays as it is. What was deleted or permuted leaves none."""
        return isinstance(self.objective, MaskObjective | SpanObjective)

    def count(self, text: str) -> int:
        """The number of gaps in a text."""
        return sum(name in self._names for name in _GAP.findall(text))

    def complaint(self, text: str) -> str | None:
        """Why the gaps of a text cannot be filled, and the fix; None: they can be."""
        found = _GAP.findall(text)
        unknown = next((name for name in found if name not in self._names and self._is_meant(name)), None)
        if unknown is not None:
            return self._unknown(unknown)
        if isinstance(self.objective, SpanObjective) and (masks := found.count(MASK)) > (left := len(self._free(text))):
            return (
                f"gap {left + 1} of {masks} has no sentinel left, as the vocabulary has {len(self.reserved.sentinels)} "
                "and the last ends the output; give a text with fewer gaps"
            )
        return None

    def named(self, text: str) -> str:
        """The text with each `<mask>` under the name that the vocabulary has for it."""
        if MASK not in text:
            return text
        if isinstance(self.objective, SpanObjective):
            names = iter(self._free(text))
            return re.sub(re.escape(MASK), lambda _: next(names), text)
        return text.replace(MASK, self._names[0]) if self._names else text

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of gaps, those of the vocabulary first."""
        names = {index: name for name, index in self.reserved.names.items()}
        if isinstance(self.objective, SpanObjective):
            return (*(names[index] for index in self.reserved.sentinels[:-1]), MASK)
        if isinstance(self.objective, PrefixObjective) or self.reserved.mask is None:
            return ()
        return tuple(dict.fromkeys((names[self.reserved.mask], MASK)))

    def _is_meant(self, name: str) -> bool:
        """Whether a name that is no gap looks like one. Only where BERT's vocabulary is in use is `[MASK]` more than text."""
        return name != "[MASK]" or name in self.reserved.names

    def _free(self, text: str) -> list[str]:
        """The sentinels that a text does not have, but for the last, which ends the output."""
        return [name for name in self._names[:-1] if name not in text]

    def _unknown(self, name: str) -> str:
        kind = f"a model of objective {self.objective.name!r}"
        if isinstance(self.objective, PrefixObjective):
            return f"{kind} goes on with a text and has no gap {shown(name)}; give the beginning of a text"
        if not self._names:
            return f"{kind} without masks (objective.infilling = 0) has no gap {shown(name)}; give a text without it"
        if isinstance(self.objective, SpanObjective):
            last = self._names[-2] if len(self._names) > 1 else MASK
            return f"{kind} has the gaps <extra_id_0> to {last}, and not {shown(name)}; write {MASK}, which means the next of them"
        return f"{kind} has no gap {shown(name)}; write {MASK}"


def check_loaded(bundle: OpenBundle) -> None:
    """Refuse a bundle whose vocabulary lacks the pieces of its objective."""
    config, reserved = bundle.config, bundle.tokenizers.source.vocabulary.reserved
    complaint = config.objective.complaint(reserved, config.texts.context)
    if complaint is not None:
        raise BundleError(f"{bundle.directory}: its config.json and its vocabulary do not belong together: {complaint}")


def spans_of(written: Sequence[int], sentinels: Sequence[int]) -> Mapping[int, list[int]]:
    """The tokens of an output for each sentinel: those behind its first occurrence, up to the next sentinel."""
    spans: dict[int, list[int]] = {}
    current: list[int] = []
    known = set(sentinels)
    for index in written:
        if index in known:
            current = []
            spans.setdefault(index, current)
        else:
            current.append(index)
    return spans
