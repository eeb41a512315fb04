"""The generated grammar: every tree says its sentence, a sentence has one tree, and training lacks what each type of generalisation has."""

import re
from collections.abc import Iterator
from itertools import islice

import pytest

from regard.data.bracketed import (
    BOUND,
    IN_DISTRIBUTION,
    KINDS,
    NAMES,
    NOUNS,
    OBJECTS,
    SAYING,
    SUBJECTS,
    THINGS,
    Parsed,
    grammar_files,
    parsed_sentences,
)
from regard.errors import DataError
from regard.metrics.tokens import balanced_outputs

COUNT = 600


def drawn(kind: str = IN_DISTRIBUTION, count: int = COUNT) -> list[Parsed]:
    return list(islice(parsed_sentences(1, kind), count))


Node = tuple[str, list["Node | str"]]


def tree_of(brackets: str) -> Node:
    """A reader of brackets, written anew."""
    tokens = iter(brackets.split())

    def node(label: str) -> Node:
        below: list[Node | str] = []
        for token in tokens:
            if token == ")":
                return label, below
            below.append(node(token[1:]) if token.startswith("(") else token)
        raise AssertionError("a bracket is not closed")

    found = node(next(tokens)[1:])
    assert next(tokens, None) is None
    return found


def nodes(tree: Node, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
    """(labels above, node) of every node."""
    yield above, tree
    for part in tree[1]:
        if not isinstance(part, str):
            yield from nodes(part, (*above, tree[0]))


def words(tree: Node) -> list[str]:
    return [word for part in tree[1] for word in ([part] if isinstance(part, str) else words(part))]


def subjects(tree: Node) -> Iterator[Node]:
    """The subjects of clauses, and of relative clauses about their object."""
    for _, (label, below) in nodes(tree):
        if label == "S":
            yield below[0]  # type: ignore[misc]
        elif label == "RC" and below[1][0] == "NP":
            yield below[1]  # type: ignore[misc]


def features(parsed: Parsed) -> set[str]:
    """The types of generalisation that a sentence is an example of, found in its tree alone."""
    tree, found = tree_of(parsed.brackets), set[str]()
    of_subjects = list(subjects(tree))
    role_words = {word for subject in of_subjects for word in words(subject)}
    heads = [
        next(word for word in words(subject) if word in NOUNS + THINGS + NAMES + SUBJECTS + OBJECTS)
        for subject in of_subjects
    ]
    if {*heads} & {*OBJECTS}:
        found.add("lexical_object_as_subject")
    others = [word for word in parsed.sentence.split() if word in SUBJECTS]
    if len(others) > sum(head in SUBJECTS for head in heads):
        found.add("lexical_subject_as_object")
    for above, (label, below) in nodes(tree):
        if label == "VP" and len(below) == 1 and words((label, below))[0] in BOUND:
            found.add("lexical_verb_alone")
        if label == "PP" and below[0][0] == "P" and above.count("PP") >= 2:
            chain = [name for name in above if name == "PP"]
            if len(chain) >= 2 + ("TO" in above):
                found.add("structural_deeper_place")
    if any(part[0] in ("PP", "RC") for subject in of_subjects for _, part in nodes(subject)):
        found.add("structural_modified_subject")
    if sum(word in SAYING for word in parsed.sentence.split()) > 2:
        found.add("structural_deeper_clause")
    assert role_words
    return found


def test_every_tree_says_its_sentence_and_brackets_fit() -> None:
    for kind in (IN_DISTRIBUTION, *KINDS):
        for parsed in drawn(kind, 200):
            assert words(tree_of(parsed.brackets)) == parsed.sentence.split()
            assert balanced_outputs([parsed.brackets], [parsed.brackets]) == [1.0]
            assert parsed.kind == kind


def test_training_has_nothing_of_the_generalisations_and_each_type_has_its_own() -> None:
    assert set().union(*map(features, drawn(count=3000))) == set()
    for kind in KINDS:
        own = [features(parsed) for parsed in drawn(kind)]
        assert all(kind in found for found in own), kind
        structural = {other for found in own for other in found if other.startswith("structural")}
        assert structural <= {kind}, kind


def test_every_word_of_the_generalisations_is_in_training() -> None:
    known = {word for parsed in drawn(count=3000) for word in parsed.sentence.split()}
    for kind in KINDS:
        assert {word for parsed in drawn(kind) for word in parsed.sentence.split()} <= known


def test_a_sentence_has_one_tree() -> None:
    """The sentence alone decides: among many sentences whose words are replaced by their classes, none has two shapes of tree."""
    shapes: dict[str, str] = {}
    classes = dict.fromkeys((*NOUNS, *THINGS, "lion", "doctor", "sailor", "fox", "nurse", "drummer"), "noun")
    classes |= dict.fromkeys((*NAMES, "Karl", "Lena", "Mia", "Noah"), "Name")
    for kind in (IN_DISTRIBUTION, *KINDS):
        for parsed in drawn(kind, 1500):
            replaced = [classes.get(word, word) for word in parsed.sentence.split()]
            shape = re.sub(r"\((\w+) \w+ \)", r"(\1)", parsed.brackets)
            assert shapes.setdefault(" ".join(replaced), shape) == shape


def test_files_are_a_function_of_the_seed_and_share_no_sentence() -> None:
    files = grammar_files(300, 50, 60, 10, seed=2)
    assert {name: len(rows) for name, rows in files.items()} == {
        "train.tsv": 300,
        "valid.tsv": 50,
        "test.tsv": 60,
        "gen.tsv": 60,
    }
    assert files == grammar_files(300, 50, 60, 10, seed=2)
    assert files["train.tsv"] != grammar_files(300, 50, 60, 10, seed=3)["train.tsv"]
    sentences = [{parsed.sentence for parsed in rows} for rows in files.values()]
    assert len(set.union(*sentences)) == sum(map(len, sentences))
    with pytest.raises(DataError, match="type 'deep': not one of in_distribution, lexical_subject_as_object"):
        next(parsed_sentences(1, "deep"))
