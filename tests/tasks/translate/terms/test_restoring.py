"""Protected strings in whatever a model says: each exactly once, the rest is text."""

from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from regard.tasks.translate.terms.placing import Placer, aligned_run, words_of
from regard.tasks.translate.terms.restoring import marked, missing, placed, restored, spans_as_text, stand_in
from regard.text.protected import Protection, Span, occurrences

PROTECTION = Protection(("default", "numbers", "foo bar"))
PARTS = st.sampled_from(
    ["{a}", "{{a}}", "{ a }", "%s", "% s", "%%s", "foo bar", "foo", "bar", "5", "15", "{A}", "a", "the", ".", "(", ")", " ", " ",
     "https://x.org", "https: //X. org", stand_in(0), stand_in(7), "日本", "\u00a0", "é"]
)  # fmt: skip
TEXTS = st.lists(PARTS, max_size=10).map("".join)
LINKS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6)


@settings(max_examples=250, deadline=None)
@given(TEXTS, TEXTS, LINKS)
@example("{a} {a}", "{a} {a} {a}", [])
@example("foo bar", "foo foo bar bar", [])
def test_whatever_the_model_says_each_string_is_there_once_and_the_rest_is_text(
    source: str, output: str, links: list[tuple[int, int]]
) -> None:
    spans = PROTECTION.spans(source)
    strings = spans_as_text(source, spans)
    text = marked(output, strings, strings)
    final = restored(placed(text, source, spans, links), strings)
    assert [final.text[start:end] for start, end in final.spans] == strings
    rest, last = [], 0
    for start, end in sorted(final.spans):
        assert start >= last
        rest.append(final.text[last:start])
        last = end
    rest.append(final.text[last:])
    assert not any(occurrences(part, strings) for part in rest)
    assert stand_in(0) not in final.text or stand_in(0) in source


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_a_translation_that_has_its_strings_stays_as_it_is(source: str) -> None:
    text = " ".join(source.replace(stand_in(0), "").replace(stand_in(7), "").split())
    spans = PROTECTION.spans(text)
    strings = spans_as_text(text, spans)
    if Counter(strings) == Counter(text[a:b] for a, b in occurrences(text, strings)):
        assert restored(marked(text, strings, strings), strings).text == text


def test_by_hand() -> None:
    def final(source: str, output: str, links: list[tuple[int, int]] | None = None) -> str:
        spans = PROTECTION.spans(source)
        strings = spans_as_text(source, spans)
        return restored(placed(marked(output, strings, strings), source, spans, links or []), strings).text

    assert final("the {a} dog", "der {a} {a} Hund") == "der {a} Hund"  # said twice
    assert final("at https://x.org now", "bei https: //X. org jetzt") == "bei https://x.org jetzt"  # spaces and case
    assert (
        final("the {a} dog", "der ({B}), Hund", [(0, 0), (1, 1), (2, 2)]) == "der ({a}), Hund"
    )  # in place of what is left of it
    assert final("the {a} dog", "der große Hund", [(0, 0), (1, 1), (2, 2)]) == "der {a} große Hund"  # other words stay
    assert final("the {a} dog", "der Hund", [(0, 0), (2, 1)]) == "der {a} Hund"  # behind the word before it
    assert final("{a} dogs", "Hunde", [(1, 0)]) == "{a} Hunde"  # before the word after it
    assert final("a dog eats %s", "ein Hund frisst") == "ein Hund frisst %s"  # no links: the same share of the way
    assert final("5 dogs", "15 Hunde") == "5 15 Hunde"  # no part of a longer number
    assert final("%s and %s", "%s und", [(0, 0), (1, 1)]) == "%s und %s"
    assert final("{a}", "") == "{a}"


def test_the_words_of_a_span_and_the_run_that_is_linked_to_them() -> None:
    assert words_of("see ({x}), now", Span(5, 8)) == range(1, 2)
    assert words_of("a foo bar b", Span(2, 9)) == range(1, 3)
    assert aligned_run([(1, 4), (1, 0), (1, 1), (2, 5)], range(1, 2)) == range(2)
    assert aligned_run([(1, 4), (1, 0), (1, 1)], range(1, 2), {0, 1}) == range(4, 5)
    assert aligned_run([(0, 0)], range(1, 2)) is None


def test_several_strings_are_placed_together() -> None:
    placer = Placer(["w0", "w1", "w2,"], [(0, 0), (1, 2)], 3)
    assert placer.place(range(1, 2), "B")
    assert not placer.place(range(2, 3), "C")
    assert placer.text() == "w0 w1 B, C"
    assert missing("x" + stand_in(1), ["a", "b"]) == [0]
