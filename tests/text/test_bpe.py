import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import TextError
from regard.text.bpe import BytePairEncoding, Merge, apply, learn_bpe, split_word

SLIDE = "low lower newest wides"


def slowly(lines: list[str], merges: int, rule: str) -> tuple[list[Merge], list[tuple[str, ...]]]:
    """The slide to the letter: the whole text, counted anew at each step."""
    text = [split_word(word) for line in lines for word in line.split()]
    steps = []
    for _ in range(merges):
        counts = Counter(pair for word in text for pair in pairwise(word))  # in order of first occurrence
        if not counts:
            break
        tied = [pair for pair, count in counts.items() if count == max(counts.values())]
        chosen = {"smallest": min(tied), "largest": max(tied), "earliest": tied[0], "latest": tied[-1]}[rule]
        steps.append(Merge(chosen, counts[chosen], tuple(sorted(set(tied) - {chosen}))))
        text = [apply(chosen, word) for word in text]
    return steps, text


def test_the_slide():
    learned = learn_bpe([SLIDE], 1)
    assert learned.characters == tuple("deilnorstw")
    assert learned.merges == (Merge(("e", "s"), 2, (("l", "o"), ("o", "w"), ("w", "e"))),)  # a tie of four
    assert learned.vocabulary == (*"deilnorstw", "</w>", "es")
    symbols = learned.encode(SLIDE)
    assert " ".join(symbols) == "l o w </w> l o w e r </w> n e w es t </w> w i d es </w>"
    assert learned.decode(symbols) == SLIDE


@pytest.mark.parametrize(
    ("rule", "pair"),
    [("smallest", ("e", "s")), ("latest", ("e", "s")), ("earliest", ("l", "o")), ("largest", ("w", "e"))],
)
def test_the_rule_for_ties_decides(rule, pair):
    assert learn_bpe([SLIDE], 1, rule).merges[0].pair == pair


def test_the_next_steps_by_hand():
    # After es: lo, ow, we twice each; lo is smallest. Then "lo w" twice and "w e" twice: ("lo", "w") is smallest.
    assert [merge.symbol for merge in learn_bpe([SLIDE], 3).merges] == ["es", "lo", "low"]


def test_merging_from_the_left():
    assert apply(("a", "a"), tuple("aaaba")) == ("aa", "a", "b", "a") != ()
    assert apply(("a", "a"), tuple("aaaa")) == ("aa", "aa")


@pytest.mark.parametrize("rule", ["smallest", "largest", "earliest", "latest"])
def test_it_learns_what_the_slow_way_learns(pairs, rule):
    generator = random.Random(1)
    tight = [
        " ".join("".join(generator.choices("ab", k=generator.randrange(1, 9))) for _ in range(30)) for _ in range(3)
    ]
    for lines, merges in [(tight, 60), ([text for pair in pairs[:12] for text in pair], 150)]:
        learned = learn_bpe(lines, merges, rule)
        steps, text = slowly(lines, merges, rule)
        assert list(learned.merges) == steps
        # Encoding the text it was learned from gives what learning made of it, word by word.
        assert [tuple(learned.encode_word(word)) for line in lines for word in line.split()] == text


def test_it_stops_when_every_word_is_one_symbol():
    learned = learn_bpe([SLIDE], 10_000)
    assert [learned.encode_word(word) for word in SLIDE.split()] == [[f"{word}</w>"] for word in SLIDE.split()]
    assert learn_bpe([], 5) == BytePairEncoding((), ())


@settings(max_examples=200)
@given(st.text(st.sampled_from("lower </wid>st\n日🙂") | st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_comes_back(text):
    learned = learn_bpe([SLIDE], 12)
    if any("</w>" in word for word in text.split()):
        with pytest.raises(TextError, match="end-of-word"):
            learned.encode(text)
    else:
        assert learned.decode(learned.encode(text)) == " ".join(text.split())
