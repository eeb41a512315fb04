"""Swapped and misaligned pairs that were planted in a corpus are found, and few others."""

import random

import numpy as np
import pytest

from regard.data.check import check_corpus
from regard.data.cooccurrence import Cooccurrence
from regard.data.pocket.corpus import pocket_split
from regard.data.suspects import CharacterCounts, Evidence, find_suspects, swapped_pairs

SIZE = 3_000


@pytest.fixture(scope="module")
def pocket():
    return [(pair.french, pair.english) for pair in pocket_split(train=SIZE, valid=1, test=1, seed=1).train]


def links(pairs):
    return sum(len(source.split()) * len(target.split()) for source, target in pairs)


def planted(pairs, count, seed=1):
    """(pairs, swapped, misaligned): the faults at random places, told by their numbers."""
    places = random.Random(seed).sample(range(len(pairs)), 2 * count)
    swapped, misaligned = places[:count], places[count:]
    faulty = list(pairs)
    for place in swapped:
        faulty[place] = pairs[place][::-1]
    for place, other in zip(misaligned, [*misaligned[1:], misaligned[0]], strict=True):
        faulty[place] = (pairs[place][0], pairs[other][1])
    return faulty, swapped, misaligned


def test_planted_faults_are_found_at_their_places(pocket):
    faulty, swapped, misaligned = planted(pocket, 60)
    found = find_suspects(lambda: iter(faulty), SIZE, links(faulty))
    assert np.flatnonzero(found.swapped).tolist() == sorted(swapped)
    assert found.misaligned[misaligned].mean() > 0.5
    untouched = np.ones(SIZE, dtype=bool)
    untouched[[*swapped, *misaligned]] = False
    assert found.misaligned[untouched].mean() < 0.01
    assert found.unlikely is None


def test_a_clean_corpus_has_no_swapped_pairs(pocket):
    found = find_suspects(lambda: iter(pocket), SIZE, links(pocket))
    assert found.swapped.sum() == 0
    assert found.misaligned.mean() < 0.01


def test_many_swaps_are_still_told_by_the_majority(pocket):
    faulty, swapped, _ = planted(pocket, 900)
    found = set(np.flatnonzero(find_suspects(lambda: iter(faulty), SIZE, links(faulty)).swapped).tolist())
    assert found <= set(swapped)
    assert len(found) > 0.95 * len(swapped)


def test_what_cannot_be_told_is_not_told(pocket):
    assert find_suspects(lambda: iter(pocket[:100]), 100, 1).swapped is None
    one_language = [(target, other) for (_, target), (_, other) in zip(pocket, [*pocket[1:], pocket[0]], strict=True)]
    found = find_suspects(lambda: iter(one_language), SIZE, links(one_language))
    assert found.swapped is None
    shifted = [(source, other) for (source, _), (_, other) in zip(pocket, [*pocket[1:], pocket[0]], strict=True)]
    assert find_suspects(lambda: iter(shifted), SIZE, links(shifted)).misaligned is None


@pytest.mark.parametrize(
    ("shift", "told"),
    [
        (1, "looks shifted by one line (line 1 of the source fits line 2 of the target)"),
        (-2, "looks shifted by 2 lines (line 3 of the source fits line 1 of the target)"),
        (9, "cannot be told"),
    ],
)
def test_a_shift_of_a_whole_file_is_told(pocket, tmp_path, shift, told):
    sources, targets = [source for source, _ in pocket], [target for _, target in pocket]
    moved = [*targets[-shift:], *targets[:-shift]]  # target n is at n + shift
    (tmp_path / "a.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(sources, moved, strict=True)))
    report = check_corpus(pairs=tmp_path / "a.tsv")
    assert report.shift == (None if shift == 9 else shift)
    assert f"look misaligned     {told}" in report.to_text()
    assert ("one side looks shifted" in report.to_text()) == (shift != 9)


def test_scores_of_a_model_are_judged_in_the_same_way(pocket):
    """A model that knows every pair of the clean corpus, and nothing else."""
    faulty, swapped, misaligned = planted(pocket, 60)
    known, noise = set(pocket), random.Random(2)

    def score(sources, targets):
        return [
            -1 + noise.gauss(0, 0.3) if pair in known else -5 + noise.gauss(0, 1)
            for pair in zip(sources, targets, strict=True)
        ]

    found = find_suspects(lambda: iter(faulty), SIZE, links(faulty), score)
    assert found.unlikely[misaligned].mean() > 0.5
    untouched = np.ones(SIZE, dtype=bool)
    untouched[[*swapped, *misaligned]] = False
    assert found.unlikely[untouched].mean() < 0.005


def test_the_score_of_a_pair_by_hand():
    """Four pairs; `a` always occurs with `x`, and the pair's own counts do not help it."""
    words = Cooccurrence(links=10)
    sources, targets = ["a b", "a c", "a d", "e"], ["x u", "x v", "x w", "y"]
    words.add(0, sources, targets)
    words.finish()
    # Without its own pair: a 2, x 2, together 2; b and u are unseen: prior 0.5 / 4.
    prior = 2 / 4
    known = np.log((2 + prior) / (2 + 1) / prior)
    unseen = max(np.log((0 + 0.125) / (2 + 1) / 0.125), np.log((0 + 0.125) / (0 + 1) / 0.125))
    assert words.score(sources, targets, 0)[0] == pytest.approx((2 * known + 2 * unseen) / 4)
    assert words.score(["e"], ["y"])[0] > words.score(["e"], ["y"], 3)[0]
    assert words.score(["?", "zz"], ["x", "x"]).tolist()[0] == 0.0


def test_trigrams_tell_the_sides_apart():
    counts = CharacterCounts()
    counts.add(["aaaa"] * 10, ["bbbb"] * 10)
    fits = counts.fit(["aaaa", "bbbb"], ["bbbb", "aaaa"])
    assert (fits[:, 0] > 0).all()
    assert (fits[:, 1] < 0).all()
    assert swapped_pairs(np.array([[9.0, 9, 9, -9], [9.0, 9, -20, -9]])).tolist() == [False, False, False, True]
    assert swapped_pairs(np.array([[1.0, -1, -1], [1.0, 1, -1]])) is None


def test_a_long_corpus_is_judged_in_groups_of_length():
    """Short pairs score low by nature; they are compared with short random pairs."""
    evidence = Evidence()
    for text, good, bad in (("x", 1.0, -1.0), ("x" * 99, 9.0, 6.0)):
        scores = [good + n / 1000 for n in range(400)]
        evidence.add([text] * 400, [text] * 400, scores)
        evidence.add([text] * 2, [text] * 2, [bad] * 2)
        evidence.add_random([text] * 400, [text] * 400, [bad + n / 1000 for n in range(400)])
    assert np.flatnonzero(evidence.misaligned()).tolist() == [400, 401, 802, 803]


def test_the_report_lists_them_and_the_verdict_counts_them(tmp_path, pocket):
    faulty, swapped, _ = planted(pocket, 30)
    copied = [place for place in range(SIZE) if faulty[place] == pocket[place]][:15]
    for place in copied:
        faulty[place] = (faulty[place][0], faulty[place][0])
    path = tmp_path / "all.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in faulty), encoding="utf-8")
    report = check_corpus(pairs=path)
    assert report.swapped.total == 30
    assert report.swapped.first == tuple(place + 1 for place in sorted(swapped)[:20])
    assert report.copies.first == tuple(place + 1 for place in copied)
    assert not set(report.copies.first) & set(report.misaligned.first)
    assert report.usable
    verdict = report.to_text().splitlines()[-1]
    assert "training will accept it, but of 3,000 pairs 15 have the same text on both sides, 30 look swapped" in verdict
    assert verdict.endswith("look at the lines above first")


def test_repeated_targets_are_listed(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tx\nb\tx\na\tx\nc\ty\nd\tx\n", encoding="utf-8")
    report = check_corpus(pairs=path)
    assert report.repeated_targets.first == (2, 5)  # line 3 is a duplicate pair
    assert report.duplicates.first == (3,)
    assert "cannot be told" in report.to_text()
