"""Inline tags in translations of the pocket corpus: are they well-formed, and where the gold alignment says?

    python benchmarks/markup.py runs/demo [--sentences 300] [--heads SETTINGS.json]

Marked are phrases whose words, by gold, are linked to nothing outside and to one run of target words (the consistent phrases of Koehn et
al. 2003): only for these the gold alignment says where a tag belongs. A third of the sentences have a phrase inside of a phrase. A tag is
right if the linked words inside of it are exactly those of the gold run. An empty tag stands where no gold link crosses; it is right if it
stands there in the target. Where the translation is not the reference, tags are placed in the reference by forced alignment.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import regard
from regard.cli.align import read_method
from regard.data.pocket.corpus import PocketPair, pocket_split
from regard.documents.html import read
from regard.documents.translate import translate_document, translated_segments

LONGEST = 5
"""Words of a marked phrase."""


@dataclass(frozen=True)
class Marked:
    """A sentence with tags, and the target words that each tag should have."""

    pair: PocketPair
    html: str
    wanted: dict[str, tuple[int, int]]


def consistent(pair: PocketPair) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(source run, target run) of phrases that are linked to nothing outside."""
    words = pair.french.split()
    found = []
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + LONGEST) + 1):
            targets = {target for source, target in pair.alignment if start <= source < end}
            if not targets or end - start == len(words):
                continue
            run = (min(targets), max(targets) + 1)
            inside = all(start <= source < end for source, target in pair.alignment if run[0] <= target < run[1])
            edges = any(source == start for source, _ in pair.alignment) and any(
                source == end - 1 for source, _ in pair.alignment
            )
            if inside and edges:
                found.append(((start, end), run))
    return found


def boundaries(pair: PocketPair) -> list[tuple[int, int]]:
    """(source place, target place) that no link crosses, inside of the sentence."""
    sizes = len(pair.french.split()), len(pair.english.split())
    return [
        (one, other)
        for one in range(1, sizes[0])
        for other in range(1, sizes[1])
        if all((source < one) == (target < other) for source, target in pair.alignment)
        and (one - 1 in {s for s, _ in pair.alignment} and one in {s for s, _ in pair.alignment})
    ]


def marked(pairs: Iterator[PocketPair], count: int) -> list[Marked]:
    """Sentences with tags, drawn at random."""
    generator, results = random.Random(7), list[Marked]()
    for pair in pairs:
        if len(results) == count:
            break
        phrases = consistent(pair)
        if not phrases:
            continue
        (start, end), run = generator.choice(phrases)
        opened, closed = {start: ["<b>"]}, {end: ["</b>"]}
        wanted = {"b": run}
        inner = [one for one in phrases if start <= one[0][0] and one[0][1] <= end and one[0] != (start, end)]
        if inner and generator.random() < 1 / 3:
            (first, last), own = generator.choice(inner)
            opened.setdefault(first, []).append('<a href="x?a=1&amp;b=2">')
            closed.setdefault(last, []).insert(0, "</a>")
            wanted["a"] = own
        places = [place for place in boundaries(pair) if not start < place[0] < end]
        breaks = {}
        if places and generator.random() < 1 / 3:
            one, other = generator.choice(places)
            breaks[one] = '<img src="x.png"/>'
            wanted["img"] = (other, other)
        parts = []
        for number, word in enumerate(pair.french.split()):
            before = breaks.get(number, "") + " " * bool(number) + "".join(opened.get(number, []))
            parts.append(before + word + "".join(closed.get(number + 1, [])))
        results.append(Marked(pair, "".join(parts), wanted))
    return results


class _Checker(HTMLParser):
    """Refuses tags that do not nest, and collects the words inside of each."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.text, self.ranges, self.counts, self.sound = "", dict[str, list[int]](), Counter[str](), True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] += 1
        self.ranges[tag] = [len(self.text), len(self.text)]
        self.sound &= tag != "a" or attrs == [("href", "x?a=1&b=2")]
        if tag != "img":
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self.sound &= bool(self.stack) and self.stack.pop() == tag
        self.ranges[tag][1] = len(self.text)

    def handle_data(self, data: str) -> None:
        self.text += data


def judge(html: str, one: Marked) -> tuple[bool, dict[str, bool]]:
    """(well-formed with every tag once, whether each tag is where the gold alignment says)."""
    checker = _Checker()
    checker.feed(html)
    checker.close()
    sound = checker.sound and not checker.stack and checker.counts == Counter(dict.fromkeys(one.wanted, 1))
    linked = {target for _, target in one.pair.alignment}
    starts, place = [], 0
    for word in checker.text.split():
        place = checker.text.index(word, place)
        starts.append((place, place + len(word)))
        place += len(word)
    right = {}
    for tag, (low, high) in one.wanted.items():
        first, last = checker.ranges.get(tag, [0, 0])
        if tag == "img":
            inside = {number for number, (start, _) in enumerate(starts) if start < first} & linked
            right[tag] = inside == set(range(low)) & linked
        else:
            inside = {number for number, (start, end) in enumerate(starts) if start < last and end > first} & linked
            right[tag] = inside == set(range(low, high)) & linked
    return sound, right


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--method", help="as of `regard align`")
    parser.add_argument("--part", choices=("valid", "test"), default="test")
    parser.add_argument("--show", type=int, default=0, help="wrong ones to print")
    options = parser.parse_args()
    model = regard.load(options.model)
    model.alignment = read_method(options.method) or model.alignment
    split = pocket_split(0, 500, 1000)
    sentences = marked(iter(getattr(split, options.part)), options.sentences)
    document = "\n".join(f"<p>{one.html}</p>" for one in sentences).encode()
    output = translate_document(document, "html", lambda texts: model.translate(texts, beam=5)).decode()
    lines = [line.removeprefix("<p>").removesuffix("</p>") for line in output.split("\n")]
    forced = {}
    for one, alignment in zip(
        sentences,
        model.align([one.pair.french for one in sentences], [one.pair.english for one in sentences]),
        strict=True,
    ):
        forced[one.pair.french] = _Reference(one.pair.english, alignment.links)
    well, exact, tags = 0, 0, dict[str, list[bool]]()
    for one, line in zip(sentences, lines, strict=True):
        sound, right = judge(line, one)
        well += sound
        checker = _Checker()
        checker.feed(line)
        if checker.text == one.pair.english:
            exact += 1
        else:
            [segment] = translated_segments(
                read(one.html.encode()).segments(), lambda texts: [forced[t] for t in texts]
            )
            right = judge(read(one.html.encode()).write([segment]).decode(), one)[1]
            line = f"(forced) {line}"
        for tag, value in right.items():
            tags.setdefault(tag, []).append(value)
        if not all(right.values()) and options.show:
            options.show -= 1
            print(f"{one.html}\n  {line}\n  {one.wanted} {sorted(one.pair.alignment)}")
    every = [value for values in tags.values() for value in values]
    print(f"{len(sentences)} sentences, {exact} translated as the reference")
    print(f"well-formed, every tag once: {100 * well / len(sentences):.1f} %")
    for name, values in [*sorted(tags.items()), ("all", every)]:
        print(f"{name}: {sum(values)} of {len(values)} where gold says, {100 * sum(values) / len(values):.1f} %")


@dataclass(frozen=True)
class _Reference:
    """A reference with the links of forced alignment."""

    text: str
    alignment: list[tuple[int, int]]


if __name__ == "__main__":
    main()
