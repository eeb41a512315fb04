"""Links are kept by line, reach the tokens of a batch however its words are cut, and are refused where they do not fit."""

import gzip

import numpy as np
import pytest
import torch

from regard.data.alignments import WordLinks, links_of_stable_words, read_links, token_links, write_links
from regard.data.batches import make_batch
from regard.data.config import PairData
from regard.data.prepare import prepare
from regard.data.tagged import TaggedCorpus
from regard.errors import DataError
from regard.text.config import TextConfig
from regard.text.tagged import NO_WORD

PAIRS = [("the small house", "das kleine Haus"), ("houses", "Häuser"), ("a house stands", "da steht ein Haus")]
LINKS = [frozenset({(0, 0), (1, 1), (2, 2)}), frozenset(), frozenset({(0, 2), (1, 3), (2, 0), (2, 1)})]
PHARAOH = "0-0 1-1 2-2 0p1\n\n0-2 1-3 2-0 2-1\n"


def corpus_files(home, copies=1, alignments=PHARAOH):
    for side, suffix in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in PAIRS) * copies
        (home / f"train.{suffix}").write_text(text, encoding="utf-8")
    (home / "links").write_text(alignments * copies, encoding="utf-8")
    return {"src": str(home / "train.en"), "tgt": str(home / "train.de"), "alignments": str(home / "links")}


def test_every_line_gives_its_links_back(tmp_path):
    write_links(tmp_path, LINKS * 3)
    kept = WordLinks(tmp_path)
    rows = kept.of(np.array([3, 1, 2, 9]))
    assert [sorted(map(tuple, row.tolist())) for row in rows] == [sorted(LINKS[number]) for number in (2, 0, 1, 2)]


def test_links_are_left_out_where_normalising_changes_the_words():
    links = frozenset({(0, 0)})
    pairs = [("the  house", "das Haus"), ("\x93 house \x94", "Haus"), ("eau", "l\u00b4eau")]
    for form, kept in (("nfc", [links, frozenset(), links]), ("nfkc", [links, frozenset(), frozenset()])):
        assert list(links_of_stable_words([links] * 3, pairs, TextConfig(form=form))) == kept


def test_a_file_is_read_with_its_pairs(tmp_path):
    with gzip.open(tmp_path / "links.gz", "wt") as file:
        file.write(PHARAOH)
    read = list(read_links(tmp_path / "links.gz", PAIRS))
    assert [sure for sure, _ in read] == LINKS
    assert read[0][1] == LINKS[0] | {(0, 1)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0-0\n\n", "links: 2 lines, but 3 sentences; it needs one line a sentence"),
        ("0-0\n\n\n\n\n", "links: 5 lines, but 3 sentences; it needs one line a sentence"),
        ("0-0\n0-1\n\n", "links:2: link 0-1 is outside of the sentence, which has 1 and 1 words; words are separated"),
        ("0-0\n\n3-0\n", "links:3: link 3-0 is outside of the sentence, which has 3 and 4 words; words are separated"),
        ("0-0\n0:0\n\n", "links:2: alignment link '0:0': write source-target, as in 0-1"),
    ],
)
def test_mistakes_are_named_before_anything_is_made(tmp_path, content, message):
    data = PairData(**corpus_files(tmp_path, alignments=content))
    with pytest.raises(DataError) as caught:
        prepare(data, TextConfig(kind="char"), tmp_path / "cache")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_links_between_tokens_by_hand():
    """Three source tokens of two words, four target tokens of three words."""
    links = [np.array([[0, 1], [1, 1], [1, 0]]), np.zeros((0, 2), dtype=np.int64)]
    found = token_links(links, [[0, 0, 1], [0]], [[0, 1, 1, 2], [0]])
    third = 1 / 3
    assert found.shape == (2, 5, 4)
    np.testing.assert_allclose(
        found[0],
        [[0, 0, 1, 0], [third, third, third, 0], [third, third, third, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        rtol=1e-6,
    )
    assert not found[1].any()


def test_a_tag_before_the_source_has_no_links():
    """The same links, one column to the right; a source that is a tag alone has none."""
    links = [np.array([[0, 1], [1, 1], [1, 0]]), np.array([[0, 0]])]
    plain = token_links(links[:1], [[0, 0, 1]], [[0, 1, 1, 2]])
    found = token_links(links, [[NO_WORD, 0, 0, 1], [NO_WORD]], [[0, 1, 1, 2], [0]])
    assert plain.any()
    np.testing.assert_array_equal(found[0, :, 1:], plain[0])
    assert not found[:, :, 0].any()
    assert not found[1].any()


def test_a_tagged_batch_says_the_same_behind_its_tag(tmp_path):
    text = TextConfig.parse({"vocabulary": 301, "reserved": {"languages": ["de"]}})
    ready = prepare(PairData(**corpus_files(tmp_path, 40)), text, tmp_path / "cache")
    assert ready.train_links is not None
    tag = ready.tokenizers.source.vocabulary.reserved.languages["de"]
    tagged = TaggedCorpus(ready.train, np.full(len(ready.train), tag))
    rest = ([0, 1, 2, 3], ready.tokenizers, 0.0, 1, 2, 1, ready.train_links)
    plain, batch = make_batch(ready.train, *rest), make_batch(tagged, *rest)
    assert plain.alignment is not None
    assert batch.alignment is not None
    assert plain.alignment.any()
    assert torch.equal(batch.source[:, 1:], plain.source)
    assert torch.equal(batch.alignment[:, :, 1:], plain.alignment)
    assert not batch.alignment[:, :, 0].any()


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_batch_says_where_each_token_should_look(tmp_path, dropout):
    """Also of pairs behind some that are held out, of two readings, and of words that are cut at random."""
    ready = prepare(
        PairData(**corpus_files(tmp_path, 40)),
        TextConfig(vocabulary=300, joint=False),
        tmp_path / "cache",
    )
    assert ready.held_out
    assert ready.train_links is not None
    examples = [len(ready.train) - 1, 0, 3]
    batch = make_batch(ready.train, examples, ready.tokenizers, dropout, 1, 2, 2, ready.train_links)
    plain = make_batch(ready.train, examples, ready.tokenizers, dropout, 1, 2, 2)
    assert plain.alignment is None
    assert torch.equal(plain.source, batch.source)
    assert batch.alignment is not None
    assert batch.alignment.shape == (6, batch.target_out.shape[1], batch.source.shape[1])
    ends = ready.tokenizers.source.vocabulary.pad, ready.tokenizers.target.vocabulary.pad
    for row, wanted in enumerate(batch.alignment):
        line = int(ready.train.lines[examples[row % 3]])
        source = [i for i in batch.source[row].tolist() if i not in (0, ends[0])]
        target = [i for i in batch.target_out[row % 3].tolist() if i not in (0, ends[1])]
        ours, theirs = ready.tokenizers.source.words(source), ready.tokenizers.target.words(target)
        expected = torch.zeros_like(wanted)
        for t, word in enumerate(theirs):
            looks = [s for s, other in enumerate(ours) if (other, word) in LINKS[(line - 1) % 3]]
            for s in looks:
                expected[t, s] = 1 / len(looks)
        torch.testing.assert_close(wanted, expected)


def test_other_links_are_another_entry_and_none_are_the_old_one(tmp_path):
    data, text, cache = corpus_files(tmp_path, 10), TextConfig(kind="char"), tmp_path / "cache"
    given = prepare(PairData(**data), text, cache)
    without = prepare(PairData(**{**data, "alignments": None}), text, cache)
    (tmp_path / "links").write_text(PHARAOH.replace("2-0 2-1", "2-1") * 10, encoding="utf-8")
    changed = prepare(PairData(**data), text, cache)
    assert len({given.key, without.key, changed.key}) == 3
    assert without.train_links is None


def test_the_pocket_corpus_knows_its_own(tmp_path):
    from regard.data.pocket.corpus import pocket_split

    ready = prepare(PairData(pocket=40, alignments="gold"), TextConfig(kind="word"), tmp_path)
    assert ready.train_links is not None
    rows = ready.train_links.of(ready.train.lines)
    gold = [pair.alignment for pair in pocket_split(train=40, valid=0, test=0).train]
    assert [{tuple(link) for link in row.tolist()} for row in rows] == [
        set(gold[line - 1]) for line in ready.train.lines.tolist()
    ]
    assert prepare(PairData(pocket=40), TextConfig(kind="word"), tmp_path).key != ready.key
