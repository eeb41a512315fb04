"""Corpora in several directions: their languages, their validation text, pairs that name their languages, and what is refused."""

import json

import numpy as np
import pytest
from pydantic import ValidationError

from data.preparing import CHAR, text_of, the_error
from regard.data.config import PairData, languages
from regard.data.examples import PairExamples
from regard.data.prepare import prepare
from regard.data.tagged import TaggedCorpus, tags_of_parts
from regard.data.temperature import balanced, shares
from regard.text.config import TextConfig

WORDS = {"en": "house", "de": "Haus", "fr": "maison"}


def corpus(home, source, target, count=60, stem="a", start=0):
    """Two files of numbered houses, and their settings."""
    paths = {}
    for key, language in (("src", source), ("tgt", target)):
        path = home / f"{stem}.{source}{target}.{language}"
        path.write_text(
            "".join(f"{WORDS[language]} {number}\n" for number in range(start, start + count)), encoding="utf-8"
        )
        paths[key] = str(path)
    return paths


def complaint(values) -> str:
    with pytest.raises(ValidationError) as caught:
        PairData.model_validate(values)
    [error] = caught.value.errors()
    assert "\n" not in error["msg"]
    return error["msg"]


def test_suffixes_and_settings_name_the_directions(tmp_path):
    rows = [corpus(tmp_path, "en", "de"), {**corpus(tmp_path, "en", "fr"), "both": True}]
    data = PairData.model_validate({"corpora": rows})
    assert data.several_directions == (("en", "de"), ("en", "fr"), ("fr", "en"))
    plain = {"src": "a.txt", "tgt": "b.txt", "src_lang": "cs", "tgt_lang": "sk"}
    data = PairData.model_validate({"corpora": [rows[0], plain]})
    assert data.several_directions == (("en", "de"), ("cs", "sk"))


def test_one_direction_is_what_it_was(tmp_path):
    """Corpora of one direction, and one without a suffix beside them, have no tags."""
    data = PairData.model_validate({"corpora": [corpus(tmp_path, "en", "de"), {"pairs": "b.tsv"}]})
    assert data.several_directions == ()
    assert languages(data) == ("en", "de")
    assert PairData().several_directions == ()
    assert PairData(both=True).several_directions == (("fr", "en"), ("en", "fr"))


def test_every_direction_has_its_pairs_and_no_held_out_pair_is_trained_on(tmp_path):
    rows = [{**corpus(tmp_path, "en", "de", 120), "both": True}, corpus(tmp_path, "en", "fr", 300)]
    ready = prepare(PairData.model_validate({"corpora": rows}), CHAR, tmp_path / "cache")
    assert [part.direction for part in ready.parts] == [("en", "de"), ("de", "en"), ("en", "fr")]
    pairs = text_of(ready.train, ready.tokenizers)
    ends = np.cumsum([part.examples for part in ready.parts])
    forward, backward, other = set(pairs[: ends[0]]), set(pairs[ends[0] : ends[1]]), set(pairs[ends[1] :])
    assert {(right, left) for left, right in forward} == backward
    assert all(target.startswith("maison") for _, target in other)
    assert ready.valid_directions is not None
    assert [ready.valid_directions.count(part.direction) for part in ready.parts] == [1, 1, 3]
    held = set(ready.valid_pairs)
    assert len(held) == 5
    assert not held & set(pairs)
    assert not {(right, left) for left, right in held} & set(pairs)
    assert (ready.counts.held_out, ready.counts.read) == (5, 540)


def test_validation_and_test_text_of_each_direction(tmp_path):
    rows = []
    for number, (source, target) in enumerate((("en", "de"), ("fr", "en"))):
        row = corpus(tmp_path, source, target)
        for part, count in (("valid", 3 + number), ("test", 2)):
            own = corpus(tmp_path, source, target, count, part, 500)
            row |= {f"{part}_src": own["src"], f"{part}_tgt": own["tgt"]}
        rows.append(row)
    ready = prepare(PairData.model_validate({"corpora": rows}), CHAR, tmp_path / "cache")
    assert ready.valid_directions == [("en", "de")] * 3 + [("fr", "en")] * 4
    assert ready.valid_pairs[3] == ("maison 500", "house 500")
    assert ready.test_pairs == [
        ("house 500", "Haus 500"),
        ("house 501", "Haus 501"),
        ("maison 500", "house 500"),
        ("maison 501", "house 501"),
    ]
    assert ready.test_directions == [("en", "de")] * 2 + [("fr", "en")] * 2
    assert not ready.held_out
    again = prepare(PairData.model_validate({"corpora": rows}), CHAR, tmp_path / "cache")
    assert again.valid_directions == ready.valid_directions


def write_named(home, form, rows):
    path = home / f"all.{form}"
    if form == "tsv":
        path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    elif form == "jsonl":
        keys = ("source", "target", "src_lang", "tgt_lang")
        path.write_text("".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows), encoding="utf-8")
    else:
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        columns = dict(
            zip(("source", "target", "src_lang", "tgt_lang"), map(list, zip(*rows, strict=True)), strict=True)
        )
        parquet.write_table(pyarrow.table(columns), path)
    return str(path)


@pytest.mark.parametrize("form", ["tsv", "jsonl", "parquet"])
def test_pairs_that_name_their_languages(tmp_path, form):
    rows = [(f"house {n}", f"Haus {n}", "en", "de") for n in range(20)]
    rows += [(f"maison {n}", f"house {n}", "fr", "en") for n in range(30)]
    mixed = [rows[place] for place in np.random.default_rng(1).permutation(len(rows))]
    path = write_named(tmp_path, form, mixed)
    row = {"pairs": path, "directions": [["en", "de"], ["fr", "en"]]}
    ready = prepare(PairData.model_validate({"corpora": [row]}), CHAR, tmp_path / "cache")
    assert [(part.direction, part.lines) for part in ready.parts] == [(("en", "de"), 20), (("fr", "en"), 30)]
    pairs = text_of(ready.train, ready.tokenizers)
    assert all(left.startswith("house") for left, _ in pairs[: ready.parts[0].examples])
    assert all(left.startswith("maison") for left, _ in pairs[ready.parts[0].examples :])
    row["directions"] = [["en", "de"], ["en", "fr"]]
    error = the_error({"corpora": [row]}, tmp_path / "other")
    where = next(number for number, named in enumerate(mixed, 1) if named[2] == "fr")
    assert f":{where}: languages 'fr' and 'en', which its directions do not declare, only en-de, en-fr" in error


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("house\tHaus", "all.tsv:1: 2 columns; each line must be source<TAB>target<TAB>src_lang<TAB>tgt_lang"),
        ("house", "all.tsv:1: one column"),
        ("house\tHaus\ten\tit", "languages 'en' and 'it'"),
    ],
)
def test_bad_columns_are_one_line(tmp_path, line, message):
    (tmp_path / "all.tsv").write_text(f"{line}\n", encoding="utf-8")
    row = {"pairs": str(tmp_path / "all.tsv"), "directions": [["en", "de"], ["de", "en"]]}
    assert message in the_error({"corpora": [row]}, tmp_path / "cache")


def test_an_empty_corpus_in_a_mixture_is_refused(tmp_path):
    empty = corpus(tmp_path, "en", "fr", 0)
    error = the_error({"corpora": [corpus(tmp_path, "en", "de"), empty]}, tmp_path / "cache")
    assert "en-fr: no" not in error
    assert "no usable sentence pairs from en-fr, and one must be held out" in error


def test_a_direction_without_a_kept_validation_pair_is_refused(tmp_path):
    """It would vanish from the scores: one whose text is empty or too long, and one that is held out."""
    rows = []
    for target in ("de", "fr"):
        row, own = corpus(tmp_path, "en", target), corpus(tmp_path, "en", target, 3, "valid", 500)
        rows.append(row | {"valid_src": own["src"], "valid_tgt": own["tgt"]})
    data = {"corpora": rows, "max_length": 40}
    for text in ("\n\n\n", f"{'maison ' * 9}\n\n\n", "m" * 50 + "\n\n\n"):
        (tmp_path / "valid.enfr.fr").write_text(text, encoding="utf-8")
        error = the_error(data, tmp_path / "cache")
        assert "none of the 3 validation pairs from en-fr is left: they have an empty side, or are longer than" in error
    (tmp_path / "valid.enfr.fr").write_text("maison 1\n\n\n", encoding="utf-8")
    ready = prepare(PairData.model_validate(data), CHAR, tmp_path / "cache")
    assert ready.valid_directions == [("en", "de")] * 3 + [("en", "fr")]


def test_a_line_of_the_reverse_of_both_gets_advice_that_is_taken(tmp_path):
    path = write_named(tmp_path, "tsv", [(f"house {n}", f"Haus {n}", *("en", "de")[:: -1 if n else 1]) for n in (0, 1)])
    row = {"pairs": path, "directions": [["en", "de"]], "both": True}
    error = the_error({"corpora": [row]}, tmp_path / "cache")
    assert ":2: languages 'de' and 'en'" in error
    assert 'leave both out and declare ["de", "en"] too, or mend the line' in error
    PairData.model_validate({"corpora": [{"pairs": path, "directions": [["en", "de"], ["de", "en"]]}]})


MIXED = [{"src": "a.en", "tgt": "a.de"}, {"src": "b.en", "tgt": "b.fr"}]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"corpora": [*MIXED, {"pairs": "c.tsv"}]},
            "c.tsv: a corpus without languages among several directions; give it src_lang",
        ),
        (
            {"corpora": [*MIXED, {"src": "c.en", "tgt": "c.txt"}]},
            "c.en: a corpus without languages among several directions; give it tgt_lang",
        ),
        ({"src": "a.txt", "tgt": "b.txt", "both": True}, "a.txt: a corpus without languages"),
        (
            {"src": "a.xx", "tgt": "a.de", "both": True, "src_lang": "en\n"},
            "'en\\n' is no name of a language for a tag",
        ),
        ({"corpora": [*MIXED, {"src": "c.fr", "tgt": "d.fr"}]}, "c.fr: from 'fr' to itself"),
        ({"corpora": [{"src": "a.en", "both": True}]}, "src = 'a.en' needs tgt"),
        ({"corpora": MIXED, "both": True}, "both and corpora exclude each other"),
        ({"corpora": MIXED, "valid_src": "v.en", "valid_tgt": "v.de"}, "valid_src = 'v.en': of which of 2 directions?"),
        ({"corpora": MIXED, "alignments": "links"}, "word alignments are read for one direction"),
        ({"temperature": 0}, "greater than 0"),
        ({"temperature": -1.5}, "greater than 0"),
        (
            {"src": "a.en", "tgt": "a.de", "temperature": 5},
            "temperature = 5.0: balances several directions, and there is one",
        ),
        (
            {"corpora": [{**MIXED[0], "valid_src": "v.en", "valid_tgt": "v.de"}, MIXED[1]]},
            "validation text for en-de, but none for en-fr; give its corpus valid_src and valid_tgt",
        ),
        (
            {"corpora": [{**MIXED[0], "test_src": "v.en", "test_tgt": "v.de"}, MIXED[1]]},
            "test text for en-de, but none for en-fr",
        ),
        (
            {"corpora": [{**MIXED[0], "valid_src": "v.en", "valid_tgt": "v.de"}]},
            "corpora.0.valid_src = 'v.en': the corpora have one direction; set data.valid_src",
        ),
        (
            {"corpora": [{**row, "valid_src": "-", "valid_tgt": "v.txt"} for row in MIXED]},
            "standard input '-' can be read only once",
        ),
        (
            {
                "corpora": [
                    {**MIXED[0], "src": "-", "src_lang": "en", "valid_pairs": "-"},
                    {**MIXED[1], "valid_pairs": "v.tsv"},
                ]
            },
            "standard input '-' can be read only once",
        ),
        (
            {"corpora": [{**MIXED[0], "test_pairs": "-"}, {**MIXED[1], "test_pairs": "t.tsv"}]},
            "test texts must be files",
        ),
        ({"corpora": [{**MIXED[0], "directions": [["en", "de"]]}]}, "directions: needs pairs"),
        ({"corpora": [{"pairs": "a.tsv", "directions": [["en", "en"]]}]}, "'en' to itself"),
        ({"corpora": [{"pairs": "a.tsv", "directions": [["en", "de"], ["en", "de"]]}]}, "named twice"),
        ({"corpora": [{"pairs": "a.tsv", "both": True, "directions": [["en", "de"], ["de", "en"]]}]}, "already name"),
        ({"corpora": [{"pairs": "a.tsv", "src_lang": "en", "directions": [["en", "de"]]}]}, "leave it out"),
    ],
)
def test_bad_mixtures_are_one_line(values, message):
    assert message in complaint(values)


def test_temperature_by_hand():
    """Of 900 and 100 pairs: at 1 their own shares, at 2 the roots 30 and 10, in the limit the same for both."""
    assert shares([900, 100], 1.0) == pytest.approx([0.9, 0.1])
    assert shares([900, 100], 2.0) == pytest.approx([0.75, 0.25])
    assert shares([900, 100], 1e9) == pytest.approx([0.5, 0.5])
    assert shares([900, 100], 1e-6) == pytest.approx([1.0, 0.0])
    assert shares([900, 100], 5e-324) == [1.0, 0.0]


def test_temperature_balances_directions_on_top_of_weights_and_keeps_the_epoch(tmp_path):
    rows = [corpus(tmp_path, "en", "de", 90), {**corpus(tmp_path, "en", "fr", 20), "weight": 0.5}]
    rows[0] |= {"valid_src": rows[0]["src"], "valid_tgt": rows[0]["tgt"]}
    rows[1] |= {"valid_src": rows[1]["src"], "valid_tgt": rows[1]["tgt"]}
    ready = prepare(PairData.model_validate({"corpora": rows}), CHAR, tmp_path / "cache")
    assert balanced(ready.parts, 1.0) == ready.parts
    parts = balanced(ready.parts, 2.0)  # 90 and 10 pairs an epoch: roots 3 : 1 in the ratio, so 75 and 25 of 100
    assert [part.weight * part.examples for part in parts] == pytest.approx([75, 25])
    examples = PairExamples(ready.train, ready.tokenizers, parts=parts)
    numbers = np.concatenate(examples.plan(200, 1, 4)) % len(ready.train)
    assert ((numbers < 90).sum(), (numbers >= 90).sum()) == (75, 25)
    again = PairExamples(ready.train, ready.tokenizers, parts=parts)
    assert np.array_equal(np.concatenate(again.plan(200, 1, 4)) % len(ready.train), numbers)
    assert not np.array_equal(np.sort(np.concatenate(examples.plan(200, 1, 5)) % len(ready.train)), np.sort(numbers))


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_tag_of_the_target_is_before_every_source_and_nowhere_else(tmp_path, dropout):
    rows = [{**corpus(tmp_path, "en", "de", 50), "both": True}]
    text = TextConfig.parse({"vocabulary": 320, "reserved": {"languages": ["de", "en"]}})
    ready = prepare(PairData.model_validate({"corpora": rows}), text, tmp_path / "cache")
    tags = ready.tokenizers.source.vocabulary.reserved.languages
    corpus_with_tags = TaggedCorpus(ready.train, tags_of_parts(ready.parts, tags))
    examples = PairExamples(corpus_with_tags, ready.tokenizers, dropout, parts=ready.parts)
    seen = set()
    for numbers in examples.plan(200, 1, 0):
        batch = examples.batch(numbers, 1, 0, readings=2)
        sources = batch.source.tolist()
        for row, number in zip(sources, [*numbers, *numbers], strict=True):
            target = "de" if number < ready.parts[0].examples else "en"
            assert row[0] == tags[target]
            assert not set(tags.values()) & set(row[1:])
            text_of_row = ready.tokenizers.source.decode(row)
            assert text_of_row.startswith("house" if target == "de" else "Haus")
            seen.add(target)
        assert not set(tags.values()) & set(batch.target_out.flatten().tolist())
    assert seen == {"de", "en"}
    lengths = [len(row) + 1 for row in (ready.train.source(n) for n in range(len(ready.train)))]
    assert corpus_with_tags.source_lengths.tolist() == lengths
