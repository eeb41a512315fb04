"""Protected strings in translations: each exactly once, unchanged, whatever the model said.

In a draft every protected string of the source is one stand-in, a character of a private plane that no text has. What the model said of
them is found exactly, or but for spaces and case; what is said too often is removed, what is missing is put at its place by word alignment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.tasks.translate.terms.placing import Placer, words_of
from regard.tasks.translate.translation import Links
from regard.text.protected import Span, occurrences

_FIRST = 0x10F000
MOST_STAND_INS = 0xFF0
"""The most protected strings of one text."""
_STAND_INS = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + MOST_STAND_INS)}]")
LONGEST_LOOSE = 300
"""Characters of a string that is looked for without regard to spaces and case."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A translation with its protected strings."""

    text: str
    spans: tuple[Span, ...]
    """Where each protected string of the source stands in it, in the order of the source."""


def stand_in(number: int) -> str:
    """The character in place of the protected string of this number."""
    return chr(_FIRST + number)


def without_stand_ins(text: str) -> str:
    """A text without characters that would be taken for stand-ins."""
    return _STAND_INS.sub("", text)


def marked(output: str, strings: Sequence[str], said: Sequence[str]) -> str:
    """The output of a model with a stand-in for each protected string that it has. said: the strings as the model would say them."""
    text = without_stand_ins(output)
    waiting: dict[str, list[int]] = {}
    for number, (string, normal) in enumerate(zip(strings, said, strict=True)):
        waiting.setdefault(normal, []).append(number)
        if string != normal:
            waiting.setdefault(string, waiting[normal])
    taken: set[int] = set()
    parts, last = [], 0
    for span in occurrences(text, list(waiting)):
        numbers = [number for number in waiting[text[span.start : span.end]] if number not in taken]
        parts.append(text[last : span.start] + (stand_in(numbers[0]) if numbers else ""))
        taken |= set(numbers[:1])
        last = span.end
    text = re.sub(" {2,}", " ", "".join(parts) + text[last:])
    for number, normal in enumerate(said):
        if number not in taken:
            text = _loosely(text, normal, stand_in(number))
    return text


def missing(text: str, strings: Sequence[str]) -> list[int]:
    """The numbers of the protected strings that a draft has no stand-in of."""
    return [number for number in range(len(strings)) if stand_in(number) not in text]


def placed(text: str, source: str, spans: Sequence[Span], links: Links) -> str:
    """The draft with a stand-in for every span of the source. links: between the words of the source and of the draft."""
    lacking = missing(text, spans_as_text(source, spans))
    if not lacking:
        return text
    words = text.split()
    placer = Placer(words, links, len(source.split()), {at for at, word in enumerate(words) if _STAND_INS.search(word)})
    for number in lacking:
        string = source[spans[number].start : spans[number].end]
        placer.place(words_of(source, spans[number]), stand_in(number), like=string)
    return placer.text()


def restored(text: str, strings: Sequence[str]) -> Restored:
    """The final text of a draft that has all stand-ins. One that occurs again, and strings that the rest has, are removed."""
    parts: list[str] = []
    spans = [Span(0, 0)] * len(strings)
    length = 0
    for part in re.split(f"({_STAND_INS.pattern})", _each_once(text, len(strings))):
        if _STAND_INS.fullmatch(part):
            number = ord(part) - _FIRST
            own = strings[number]
            spans[number] = Span(length, length + len(own))
        else:
            own = _without(part, strings)
        parts.append(own)
        length += len(own)
    whole = "".join(parts)
    cut = len(whole) - len(whole.lstrip())
    return Restored(whole.strip(), tuple(Span(start - cut, end - cut) for start, end in spans))


def spans_as_text(source: str, spans: Sequence[Span]) -> list[str]:
    """The strings of the spans."""
    return [source[start:end] for start, end in spans]


def _each_once(text: str, strings: int) -> str:
    """A draft with the first of each of its stand-ins, and no space where others were."""
    seen: set[str] = set()

    def kept(match: re.Match[str]) -> str:
        again = match[0] in seen or ord(match[0]) - _FIRST >= strings
        seen.add(match[0])
        return "" if again else match[0]

    once = _STAND_INS.sub(kept, text)
    return once if once == text else re.sub(" {2,}", " ", once)


def _without(text: str, strings: Sequence[str]) -> str:
    """Text between stand-ins without the protected strings."""
    while found := occurrences(text, strings):
        for start, end in reversed(found):
            spaces = text[:start].endswith(" ") and text[end:].startswith(" ")
            text = text[:start] + text[end + spaces :]
    return text


def _loosely(text: str, string: str, replacement: str) -> str:
    """The text with a replacement for the first occurrence of a string that may have other spaces and case."""
    characters = [re.escape(character) for character in string if not character.isspace()]
    if len(characters) < 2 or len(characters) > LONGEST_LOOSE:
        return text
    before = r"(?<!\w)" if string[0].isalnum() else ""
    after = r"(?!\w)" if string[-1].isalnum() else ""
    return re.sub(before + r"\s?".join(characters) + after, lambda _: replacement, text, count=1, flags=re.IGNORECASE)
