"""Generated recall and far questions: an independent reader answers every query, and nothing else says the answer."""

from collections import Counter

import numpy as np
import pytest

from regard.data.recall import BLANK, LABELS, SUBJECTS, UNASKED, Recall, far_lines, far_question
from regard.errors import DataError

TASKS = [
    Recall("single", 256, 4),
    Recall("single", 33, 16),
    Recall("single", 33, 5, symbols=5),
    Recall("multi", 256, 64),
    Recall("multi", 16, 4),
    Recall("multi", 80, 16, symbols=20),
    Recall("repeated", 64, 6, symbols=8),
    Recall("repeated", 33, 16),
]


def read(tokens: list[int], targets: list[int], symbols: int) -> list[tuple[int, int]]:
    """(answer, expected) of each query, by a dictionary that is filled from left to right. Fails if a key that it knows is not asked."""
    known: dict[int, int] = {}
    answers = []
    for place, token in enumerate(tokens):
        if targets[place] != UNASKED:
            answers.append((known[token], targets[place]))
        elif 1 <= token <= symbols:
            assert token not in known, "a key that has come before is asked"
            known[token] = tokens[place + 1]
    return answers


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_a_dictionary_answers_every_query(task: Recall) -> None:
    for index in range(50):
        tokens, targets = task.example(7, index)
        assert len(tokens) == len(targets) == task.length
        answers = read(tokens.tolist(), targets.tolist(), task.symbols)
        assert all(answer == expected for answer, expected in answers)
        queries, keys = len(answers), tokens[(tokens != BLANK) & (tokens <= task.symbols)]
        if task.form == "repeated":
            assert len(keys) == task.places + 1 == queries + len(set(keys.tolist()))
            assert len(set(keys.tolist())) <= task.pairs
            assert np.count_nonzero(tokens != BLANK) == 2 * task.places + 1
            assert targets[-1] != UNASKED
            continue
        assert queries == (1 if task.form == "single" else task.pairs)
        assert np.count_nonzero(tokens != BLANK) == 2 * task.pairs + queries
        assert tokens.max() < task.vocabulary == 1 + 2 * task.symbols
        assert all(expected > task.symbols for _, expected in answers)  # a value
        first = int(np.flatnonzero(targets != UNASKED)[0])
        assert first >= task.length // 2 if task.form == "multi" else first == task.length - 1


def test_an_example_depends_on_seed_and_index_alone() -> None:
    task = TASKS[0]
    together, _ = task.batch(1, 10, 3)
    for place in range(3):
        np.testing.assert_array_equal(together[place], task.example(1, 10 + place)[0])
    assert not np.array_equal(together[0], together[1])
    assert not np.array_equal(together[0], task.example(2, 10)[0])


def test_the_key_that_is_asked_for_may_stand_anywhere() -> None:
    task = Recall("single", 65, 4)
    places = [np.flatnonzero(task.example(1, n)[0][:-1] == task.example(1, n)[0][-1])[0] for n in range(300)]
    assert min(places) < 8
    assert max(places) > 55


@pytest.mark.parametrize(
    ("form", "length", "pairs", "symbols", "most"),
    [("single", 8, 4, 64, 3), ("multi", 15, 4, 64, 3), ("multi", 999, 65, 64, 64), ("single", 999, 9, 8, 8)],
)
def test_pairs_without_places_or_keys_are_refused(form: str, length: int, pairs: int, symbols: int, most: int) -> None:
    message = (
        rf"^recall of {pairs} pairs in {length} tokens, of {symbols} symbols: there are 1 to {most} of them; lower"
    )
    with pytest.raises(DataError, match=message):
        Recall(form, length, pairs, symbols)  # type: ignore[arg-type]


def test_one_symbol_is_refused() -> None:
    with pytest.raises(DataError, match=r"^recall of 1 symbols: .*; take at least 2$"):
        Recall("single", 64, 1, symbols=1)


def test_the_label_of_a_far_question_is_what_was_stated() -> None:
    counts: Counter[tuple[str, str, str]] = Counter()
    stated = {subject + label: (subject, label) for subject in SUBJECTS for label in LABELS}
    for index in range(800):
        text, label = far_question(320, 3, index)
        words = text.split()
        assert len(words) == 320
        statements = dict(stated[word] for word in words[:20] if word in stated)
        [asked] = [word for word in words[300:] if word in SUBJECTS]
        assert len([word for word in words if word in stated or word in SUBJECTS]) == 3
        assert label == statements[asked]
        counts[asked, statements["alpha"], statements["beta"]] += 1
    assert len(counts) == 8  # every question after every pair of statements, equally often
    assert all(70 < count < 130 for count in counts.values())


def test_lines_of_far_questions_have_as_many_words_of_each_length() -> None:
    lines = list(far_lines((64, 128), 640, 3))
    assert [len(line.split()) - 1 for line in lines] == [64] * 10 + [128] * 5
    assert lines[11] == "\t".join(far_question(128, 3, 1))


def test_a_far_question_needs_room() -> None:
    with pytest.raises(DataError, match="needs at least 32; raise the length"):
        far_question(31, 1, 0)
