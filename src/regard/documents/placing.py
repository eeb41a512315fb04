"""Puts the inline tags of a text back into its translation, by the links between their words.

Every tag is there once and well-formed, whatever the links: a tag stays inside of the tag around it, and tags side by side do not overlap.
A tag gets the run of target words that agrees best with its source words. An empty tag, or one whose words have no link, goes to the place
that the fewest links cross, those of its neighbours above all.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from regard.documents.markup import Segment, Span, events

Links = Iterable[tuple[int, int]]
"""(source word, target word), counted from 0."""
Range = tuple[int, int]
"""From .. up to, of words or of characters."""

_SHARED = 1e-6  # the agreement of a word that two tags could have: it is taken if nothing else is left
MOST_STEPS = 500_000
"""Tags times words of a text whose tags are placed by links; those of a longer one are placed in proportion."""


def placed(
    source: Segment, source_words: Sequence[Range], target: str, target_words: Sequence[Range], links: Links
) -> Segment:
    """The target text with the tags of the source.

    The ranges of words are in characters of the two texts, in order. Links to words that are not there count for nothing.
    """
    sizes = len(source_words), len(target_words)
    kept = [(one, other) for one, other in links if 0 <= one < sizes[0] and 0 <= other < sizes[1]]
    if not source.spans:
        return Segment(target)
    if (len(source.spans) + 1) * (sum(sizes) + len(kept) + 1) > MOST_STEPS:
        result = _in_proportion(source, target, target_words)
    else:
        result = _Placing(source, source_words, target, target_words, kept).result()
    return _spaced(source, result)


@dataclass
class _Place:
    """A tag, its words, and the target words that it gets."""

    span: Span
    order: int
    words: Range  # of the source
    found: Range | None = None

    @property
    def wordless(self) -> bool:
        return self.words[0] == self.words[1]


class _Placing:
    """The work of one text."""

    def __init__(
        self,
        source: Segment,
        source_words: Sequence[Range],
        target: str,
        target_words: Sequence[Range],
        links: list[tuple[int, int]],
    ) -> None:
        self.source, self.source_words = source, source_words
        self.target, self.target_words = target, target_words
        self.letters = [0, *accumulate(map(str.isalnum, source.text))]  # of so many characters
        self.starts = [start for start, _ in source_words]
        self.ends = [end for _, end in source_words]
        self.linked: list[list[int]] = [[] for _ in target_words]  # the source words of each target word
        self.targets: list[list[int]] = [[] for _ in source_words]
        for one, other in links:
            self.linked[other].append(one)
            self.targets[one].append(other)

    def result(self) -> Segment:
        """The target with all tags."""
        places = [_Place(span, order, self._words(span)) for order, span in enumerate(self.source.spans)]
        children = dict[int | None, list[_Place]]()
        for place in places:
            children.setdefault(place.span.parent, []).append(place)
        whole = _Place(Span(-1, 0, len(self.source.text)), -1, (0, len(self.source_words)), (0, len(self.target_words)))
        characters: Range = (0, len(self.target))
        spans = list[Span]()
        waiting = [(whole, characters)]
        # the tags inside of one are placed after it, in the order of the target
        while waiting:
            parent, limits = waiting.pop()
            tag = None if parent is whole else parent.span.tag
            if parent is not whole:
                spans.append(replace(parent.span, start=limits[0], end=limits[1]))
            own = children.get(tag, [])
            if own:
                waiting.extend(reversed(self._placed_inside(parent, limits, own)))
        return Segment(self.target, tuple(spans))

    def _placed_inside(self, parent: _Place, limits: Range, own: list[_Place]) -> list[tuple[_Place, Range]]:
        """The tags inside of one, in the order of the target, and their characters."""
        assert parent.found is not None
        low, high = parent.found
        free = [(low, high)]  # runs of words that no tag has yet
        worded = [place for place in own if not place.span.empty and not place.wordless]
        if len(worded) == 1 and worded[0].words == parent.words:
            worded[0].found = (low, high)
            free = []
        else:
            scored = [(self._best_run(place.words, (low, high)), place) for place in worded]
            for (score, _), place in sorted(scored, key=lambda pair: (-pair[0][0], pair[1].order)):
                if score <= 0.0:
                    continue
                best = max((self._best_run(place.words, run) for run in free), default=(0.0, (0, 0)))
                if best[0] > 0.0:
                    place.found = best[1]
                    free = _without(free, best[1])
        taken = [place.found for place in own if place.found is not None]
        for place in own:
            if place.found is None:
                place.found = self._point(place, (low, high), taken)
        ordered = sorted(own, key=lambda place: (place.found or (0, 0), place.order))
        results, least = list[tuple[_Place, Range]](), limits[0]
        for place in ordered:
            start, end = self._characters(place, (least, limits[1]))
            results.append((place, (start, end)))
            least = end
        return results

    def _words(self, span: Span) -> Range:
        """The source words of a tag: those of which it has half of the letters or more, or else the one of which it has most."""
        first, last = bisect_right(self.ends, span.start), bisect_left(self.starts, span.end)
        if span.empty or first >= last:
            middle = min(first, len(self.starts))
            if middle < len(self.starts) and self.starts[middle] < span.start:  # inside of a word
                before, after = (
                    self._letters(self.starts[middle], span.start),
                    self._letters(span.start, self.ends[middle]),
                )
                middle += before > after
            return middle, middle
        if last - first == 1:
            return (first, last) if self._share(first, span) > 0.0 else (first, first)
        begin = first if self._share(first, span) >= 0.5 else first + 1
        end = last if self._share(last - 1, span) >= 0.5 else last - 1
        return (begin, end) if begin < end else (first, first + 1)

    def _share(self, word: int, span: Span) -> float:
        """The share of a word's letters that a tag has; of its characters if it has no letters."""
        start, end = self.source_words[word]
        inside = max(start, span.start), min(end, span.end)
        if letters := self.letters[end] - self.letters[start]:
            return self._letters(*inside) / letters
        return (inside[1] - inside[0]) / max(1, end - start)

    def _letters(self, start: int, end: int) -> int:
        """The letters and digits of a part of the source."""
        return self.letters[end] - self.letters[start]

    def _best_run(self, words: Range, run: Range) -> tuple[float, Range]:
        """The run of target words, within another, that agrees best with source words.

        Each word counts the share of its links to them, less the share of its other links.
        """
        best, best_run = 0.0, (run[0], run[0])
        total, start = 0.0, run[0]
        shared: Range | None = None  # the first word that is linked as much to source words outside
        for place in range(*run):
            links = self.linked[place]
            inside = sum(words[0] <= word < words[1] for word in links)
            value = (2 * inside - len(links)) / len(links) if links else 0.0
            if inside and value == 0.0 and shared is None:
                shared = place, place + 1
            if total <= 0.0:
                if value <= 0.0:
                    total = 0.0
                    continue
                total, start = 0.0, place
            total += value
            if total > best:
                best, best_run = total, (start, place + 1)
        return (_SHARED, shared) if best == 0.0 and shared is not None else (best, best_run)

    def _point(self, place: _Place, run: Range, taken: Sequence[Range]) -> Range:
        """A place between the words of a run, outside of what is taken: the one that the fewest links cross."""
        middle = place.words[0] if place.wordless or place.span.empty else (place.words[0] + place.words[1]) // 2
        low, high = run
        change = [0.0] * (high - low + 1)  # of the links that cross, from each place to the next
        crossing = 0.0
        for target in range(low, high):
            for word in self.linked[target]:
                weight = 1.0 / (1 + (middle - 1 - word if word < middle else word - middle)) ** 2
                if word < middle:
                    crossing += weight  # before every target word
                    change[target - low] -= weight
                else:
                    change[target - low] += weight
        share = middle / max(1, len(self.source_words))
        usual = low + share * (high - low)
        inner = sorted(taken)
        best = None
        position = 0
        for point in range(low, high + 1):
            while position < len(inner) and inner[position][1] <= point:
                position += 1
            if not (position < len(inner) and inner[position][0] < point < inner[position][1]):
                rank = (round(crossing, 9), abs(point - usual), point)
                best = rank if best is None or rank < best else best
            crossing += change[point - low]
        point = low if best is None else best[2]
        if not place.wordless and not place.span.empty:  # it had words: a word without links beside it is its own
            for start in (point, point - 1):
                if low <= start < high and not self.linked[start] and not any(a <= start < b for a, b in taken):
                    return start, start + 1
        return point, point

    def _characters(self, place: _Place, limits: Range) -> Range:
        """The characters of a tag in the target. Punctuation at the ends is inside if it is so in the source."""
        assert place.found is not None
        first, last = place.found
        span, words = place.span, self.target_words
        if first == last:
            return self._between(span, first, limits)
        start, end = words[first][0], words[last - 1][1]
        inside = self.source.text[span.start : span.end].strip()
        if not (inside and _is_mark(inside[0])):
            start = _after_marks(self.target, start, words[first][1])
        if not (inside and _is_mark(inside[-1])):
            end = _before_marks(self.target, max(start, words[last - 1][0]), end)
        start = min(max(start, limits[0]), limits[1])
        return start, min(max(end, start), limits[1])

    def _between(self, span: Span, word: int, limits: Range) -> Range:
        """The character before a target word, or behind the word before it if that is where the tag stands in the source."""
        text, words = self.source.text, self.target_words
        follows = span.start > 0 and not text[span.start - 1].isspace()  # it touches the word before it
        touches = span.end < len(text) and not text[span.end].isspace()
        if word > 0 and (word == len(words) or (follows and not touches)):
            place = words[word - 1][1]
        else:
            place = words[word][0] if word < len(words) else len(self.target)
        place = min(max(place, limits[0]), limits[1])
        return place, place


def _in_proportion(source: Segment, target: str, target_words: Sequence[Range]) -> Segment:
    """The target with each tag at the same share of its length, between words. No later place becomes an earlier one."""
    starts = [*(start for start, _ in target_words), len(target)]

    def moved(place: int) -> int:
        return starts[min(bisect_left(starts, place * len(target) // max(1, len(source.text))), len(starts) - 1)]

    return Segment(target, tuple(replace(span, start=moved(span.start), end=moved(span.end)) for span in source.spans))


def _spaced(source: Segment, target: Segment) -> Segment:
    """The target with a space on both sides of each empty tag that has them in the source, as pictures and code do."""
    text = source.text
    apart = {
        span.tag
        for span in source.spans
        if span.empty
        and (span.start == 0 or text[span.start - 1] == " ")
        and (span.end == len(text) or text[span.end] == " ")
    }
    if not apart:
        return target
    parents = {span.tag: span.parent for span in target.spans}
    starts, ends = dict[int, int](), dict[int, int]()
    empties = {span.tag for span in target.spans if span.empty}
    pieces, behind = list[str](), False
    length, last = 0, " "
    for event in events(target):
        if event.kind in ("text", "empty"):
            is_apart = event.tag in apart
            begins = event.text[:1] if event.kind == "text" else ""
            if (behind and begins not in ("", " ")) or (is_apart and last != " "):
                pieces.append(" ")
                length, last = length + 1, " "
            behind = is_apart or (behind and event.kind == "empty")
        elif event.kind == "open" and behind:
            pieces.append(" ")
            length, last, behind = length + 1, " ", False
        if event.kind == "text":
            pieces.append(event.text)
            length, last = length + len(event.text), event.text[-1]
        elif event.kind == "close":
            ends[event.tag] = length
        else:
            starts[event.tag] = ends[event.tag] = length
    spans = (Span(tag, start, ends[tag], parents[tag], tag in empties) for tag, start in starts.items())
    return Segment("".join(pieces), tuple(spans))


def _without(runs: list[Range], taken: Range) -> list[Range]:
    """Runs of words without those that are taken."""
    rest = list[Range]()
    for start, end in runs:
        if taken[1] <= start or end <= taken[0]:
            rest.append((start, end))
        else:
            rest.extend(run for run in ((start, taken[0]), (taken[1], end)) if run[0] < run[1])
    return rest


def _is_mark(character: str) -> bool:
    """Whether a character is punctuation, which may stand outside of a tag. Signs such as % and + belong to their word."""
    return unicodedata.category(character)[0] == "P" and character not in "%‰&@#*"


def _after_marks(text: str, start: int, end: int) -> int:
    """The place behind the punctuation at the beginning of a word; its beginning if it has nothing else."""
    place = start
    while place < end and _is_mark(text[place]):
        place += 1
    return place if place < end else start


def _before_marks(text: str, start: int, end: int) -> int:
    """The place before the punctuation at the end of a word; its end if it has nothing else."""
    place = end
    while place > start and _is_mark(text[place - 1]):
        place -= 1
    return place if place > start else end
