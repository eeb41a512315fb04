"""Inline tags in translations: well-formed whatever the links, and in the places that the links say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.translators import Said, same
from regard.documents.html import _tokens
from regard.documents.html_tokens import html_tokens
from regard.documents.markup import Segment, SegmentBuilder, Span, events, problem
from regard.documents.placing import MOST_STEPS, placed
from regard.documents.tags import runs
from regard.documents.translate import translated_segments

WORDS = st.text(alphabet="ab'-.,!?«»( )éß中。\u0301", max_size=30)


def ranges(text: str) -> list[tuple[int, int]]:
    found, place = [], 0
    for word in text.split():
        place = text.index(word, place)
        found.append((place, place + len(word)))
        place += len(word)
    return found


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    """Any text with any tree of tags."""
    builder, depth = SegmentBuilder(), 0
    for tag in range(draw(st.integers(0, 8))):
        builder.text(draw(WORDS))
        kind = draw(st.sampled_from(["open", "close", "empty", "separating"]))
        if kind == "close" and depth:
            builder.close()
            depth -= 1
        elif kind == "open":
            builder.open(tag)
            depth += 1
        else:
            builder.empty(tag, separates=kind == "separating")
    builder.text(draw(WORDS))
    for _ in range(depth):
        builder.close()
    return builder.segment()


def tree(segment: Segment) -> dict[int, int | None]:
    return {span.tag: span.parent for span in segment.spans}


@given(segments(), WORDS, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_any_tags_and_any_links_give_well_formed_text(
    source: Segment, target: str, links: list[tuple[int, int]]
) -> None:
    target = " ".join(target.split())
    assert problem(source) is None
    result = placed(source, ranges(source.text), target, ranges(target), links)
    assert problem(result) is None
    assert tree(result) == tree(source)  # every tag once, inside of what it was inside of
    assert "".join(result.text.split()) == "".join(target.split())  # a picture has spaces around it
    assert "".join(event.text for event in events(result)) == result.text
    stack = []
    for event in events(result):
        if event.kind == "open":
            stack.append(event.tag)
        elif event.kind == "close":
            assert stack.pop() == event.tag
    assert stack == []


@given(segments())
def test_the_same_words_have_the_same_tags_around_them(source: Segment) -> None:
    """Linked word for word, every word stays inside of the tags that have all of its letters."""
    words = ranges(source.text)
    result = placed(source, words, source.text, words, [(place, place) for place in range(len(words))])

    def around(segment: Segment, start: int, end: int) -> set[int]:
        return {span.tag for span in segment.spans if span.start <= start and end <= span.end and start < end}

    there = ranges(result.text)
    whole = [
        span
        for span in source.spans
        if all(span.start in (*word, 0) or not word[0] < span.start < word[1] for word in words)
    ]
    if len(whole) == len(source.spans) and all(
        not word[0] < span.end < word[1] for span in source.spans for word in words
    ):
        for before, after in zip(words, there, strict=True):
            letters = [place for place in range(*after) if result.text[place].isalnum()]
            if letters:
                # several tags of one word and nothing else between them keep their order
                assert around(source, *before) <= around(result, letters[0], letters[-1] + 1)


def html(text: str, target: str, links: list[tuple[int, int]]) -> str:
    """A marked-up text translated with given links."""
    tokens = _tokens(list(html_tokens(text)))
    [run] = runs(tokens)
    [translation] = translated_segments([run.segment], lambda texts: [Said(target, links)])
    assert translation is not None
    written = run.write(tokens, translation, lambda plain: plain)
    before = "".join(token.raw for token in tokens[: run.first])
    return before + written + "".join(token.raw for token in tokens[run.last :])


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("<b>le chat</b> noir", "the black cat", "0-0 1-2 2-1", "<b>the</b> black cat"),
        ("le <b>chat</b> <i>noir</i>", "the black cat", "0-0 1-2 2-1", "the <i>black</i> <b>cat</b>"),
        ("le <b>chat</b> noir dort.", "the black cat sleeps.", "0-0 1-2 2-1 3-3", "the black <b>cat</b> sleeps."),
        ("il <b>dort</b>.", "he sleeps.", "0-0 1-1", "he <b>sleeps</b>."),
        ("il <b>dort.</b> ", "he sleeps.", "0-0 1-1", "he <b>sleeps.</b> "),
        ("il est « <b>bon</b> » !", 'he is "good"!', "0-0 1-1 3-2 4-2", 'he is "<b>good</b>"!'),
        ("<b>il <i>ne</i> dort <u>pas</u></b>", "he does not sleep", "0-0 1-2 2-3 3-2", "<b>he does <i>not</i> sleep<u></u></b>"),
        ("un<br/> deux trois", "one two three", "0-0 1-1 2-2", "one<br/> two three"),
        ("un<br> deux", "two one", "0-1 1-0", "<br>two one"),
        ("voici <img src=x> Luc", "here is Luc", "0-0 0-1 1-2", "here is <img src=x> Luc"),
        ("<b>tout est ici</b>", "all", "", "<b>all</b>"),
        ("a <b>b c</b> d", "A x C D", "0-0 2-2 3-3", "A x <b>C</b> D"),
        ("a <b>b c</b> d", "A B x C D", "0-0 1-1 2-3 3-4", "A <b>B x C</b> D"),
        ("l'<b>homme</b> dort", "the man sleeps", "0-0 0-1 1-2", "<b>the man</b> sleeps"),
        ("<b>a</b>b c", "AB C", "0-0 1-1", "<b>AB</b> C"),
    ],
)  # fmt: skip
def test_places(source: str, target: str, links: str, expected: str) -> None:
    pairs = [(int(one), int(other)) for one, other in (link.split("-") for link in links.split())]
    assert html(source, target, pairs) == expected


def test_many_tags_in_a_long_text_are_placed_in_proportion() -> None:
    count = 3000
    builder = SegmentBuilder()
    for place in range(count):
        builder.open(place)
        builder.text(f"mot{place}")
        builder.close()
        builder.text(" ")
    source = builder.segment()
    assert count * count > MOST_STEPS
    [result] = translated_segments([source], lambda texts: same([text.upper() for text in texts]))
    assert result is not None
    assert problem(result) is None
    assert tree(result) == tree(source)


@pytest.mark.parametrize(
    ("spans", "why"),
    [
        ([Span(0, 0, 1), Span(0, 1, 2)], "twice"),
        ([Span(0, 0, 3), Span(1, 2, 4)], "is not within"),
        ([Span(0, 0, 2), Span(1, 1, 3, parent=0)], "is not within"),
        ([Span(0, 0, 2, empty=True)], "is not within"),
        ([Span(0, 0, 1), Span(1, 1, 2), Span(2, 2, 3, parent=0)], "after the end"),
        ([Span(0, 0, 9)], "is not within"),
        ([Span(0, 0, 1, parent=7)], "not around it"),
    ],
)
def test_what_is_not_well_formed(spans: list[Span], why: str) -> None:
    assert why in str(problem(Segment("abcde", tuple(spans))))
