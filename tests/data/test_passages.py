"""Generated passages: the answer stands where the links say, one fact alone answers, and names are held out."""

from collections import Counter

import pytest

from regard.data.passages import KIND_TABLE, KINDS, PEOPLE, held_out, passage_files, question, questions

SOME = list(questions("train", 300))


def test_an_answer_stands_where_its_links_say() -> None:
    for one in SOME:
        words = one.source.split()
        assert [words[source] for source, _ in sorted(one.links, key=lambda link: link[1])] == one.target.split()
        assert len(one.links) == len(one.answer)


def test_exactly_one_fact_answers() -> None:
    """By a reader that knows the templates: of nine facts one has the name and the kind of the question."""
    for one in SOME:
        facts = _facts(" ".join(one.passage))
        assert len(facts) == PEOPLE * KINDS == 9
        assert len({(name, kind) for name, kind, _ in facts}) == 9
        for kind in {kind for _, kind, _ in facts}:
            assert len({value for _, other, value in facts if other == kind}) == PEOPLE
        [answer] = _answers(one.question, facts, asks_who=one.asks_who)
        assert answer == one.target


def test_a_bag_of_words_is_right_in_one_case_of_three_at_most() -> None:
    """The best guess of one that knows the kind of the question: each value of that kind is the answer equally often."""
    places: Counter[int] = Counter()
    for one in SOME:
        facts = _facts(" ".join(one.passage))
        own = [(name, value) for name, kind, value in facts if _asks(kind, one.question)]
        values = [name if one.asks_who else value for name, value in own]
        assert len(values) == PEOPLE
        places[values.index(one.target)] += 1  # by place in the passage
    assert max(places.values()) / len(SOME) < 0.45


def test_names_of_the_unseen_part_are_in_no_other() -> None:
    for part, wanted in (("train", False), ("valid", False), ("test", False), ("unseen", True)):
        for one in questions(part, 50):  # type: ignore[arg-type]
            names = {name for name, _, _ in _facts(" ".join(one.passage))}
            assert {held_out(name) for name in names} == {wanted}


def test_a_question_is_a_function_of_its_part_number_and_seed() -> None:
    assert question("train", 7) == SOME[7]
    assert question("train", 7, seed=2) != SOME[7]
    assert question("test", 7) != SOME[7]
    assert {one.source for one in questions("test", 200)}.isdisjoint(one.source for one in SOME)


def test_the_files_of_a_part() -> None:
    files = passage_files("train", 300, 1)
    assert [len(files[f"train.{end}"]) for end in ("src", "tgt", "align")] == [300] * 3
    labelled = [line.split("\t") for line in files["train.tsv"]]
    assert labelled == [[one.source, one.target] for one in SOME if not one.asks_who]
    assert 0.6 < len(labelled) / 300 < 0.9


def _facts(passage: str) -> list[tuple[str, str, str]]:
    """(name, kind, value) of each fact, by the templates."""
    facts = []
    for sentence in passage.split(" . "):
        words = f"{sentence.removesuffix(' .')} .".split()
        found = [
            (name, kind, value)
            for kind, row in KIND_TABLE.items()
            for form in row.told
            for name, value in [_matched(form.split(), words)]
            if name is not None and value in row.values
        ]
        assert len(found) == 1, (sentence, found)
        facts += found
    return facts


def _matched(form: list[str], words: list[str]) -> tuple[str | None, str]:
    """The name and the value, where a sentence has this form. A value has one word or two."""
    for length in (1, 2):
        place = form.index("{value}")
        pattern = [*form[:place], *["{value}"] * length, *form[place + 1 :]]
        fits = len(pattern) == len(words) and all(
            one in (word, "{name}", "{value}") for one, word in zip(pattern, words, strict=True)
        )
        if fits:
            value = " ".join(word for one, word in zip(pattern, words, strict=True) if one == "{value}")
            return words[pattern.index("{name}")], value
    return None, ""


def _asks(kind: str, asked: tuple[str, ...]) -> bool:
    """Whether a question has a form of this kind."""
    forms = [form.split() for form in (*KIND_TABLE[kind].asked, *KIND_TABLE[kind].who)]
    fixed = [[word for word in form if not word.startswith("{")] for form in forms]
    lengths = [range(len(form), len(form) + 2) for form in forms]
    return any(len(asked) in length and set(words) <= set(asked) for words, length in zip(fixed, lengths, strict=True))


def _answers(asked: tuple[str, ...], facts: list[tuple[str, str, str]], *, asks_who: bool) -> list[str]:
    """The values of the facts, by name and kind or by value and kind."""
    text = f" {' '.join(asked)} "
    if asks_who:
        return [name for name, kind, value in facts if _asks(kind, asked) and f" {value} " in text]
    return [value for name, kind, value in facts if _asks(kind, asked) and f" {name} " in text]


@pytest.mark.parametrize("kind", KIND_TABLE)
def test_values_of_a_kind_differ_and_belong_to_it_alone(kind: str) -> None:
    values = KIND_TABLE[kind].values
    assert len(set(values)) == len(values) > PEOPLE
    assert not any(set(values) & set(row.values) for name, row in KIND_TABLE.items() if name != kind)
