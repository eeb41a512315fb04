"""The filters of `regard data clean` one by one: damage, markup, numbers, links, copies, repeats and languages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data.damage import encoding_damage, is_moses_escaped, markup
from regard.data.filters import CleanSettings, Sampled, copy_similarity, missing_links, number_mismatch, pair_filters
from regard.data.language import SideLanguage, guess_languages, statistics
from regard.data.pocket.corpus import pocket_split
from regard.data.seen import SeenHashes, pair_hash, similar_hash


@pytest.mark.parametrize(
    "text",
    [
        "naïve café",
        "STRASSE, Spaß“",
        "NÃO",
        "É…",
        "a 😀 b",
        "الحروف",
        "РСФСР», он",
        "ΔT",
        "3 µm",
        "«à»",
        "tab\there",
        "Ça",
        "日本",
    ],
)
def test_sound_text_is_not_damaged(text: str) -> None:
    assert encoding_damage(text) is None


@settings(max_examples=200)
@given(text=st.text(st.sampled_from("àâçéèêëîïôùûüÿœæäöüßñ “”’–…€"), min_size=1))
def test_utf8_that_was_read_as_windows_1252_is_damage(text: str) -> None:
    raw = text.encode()
    try:
        broken = raw.decode("cp1252")
    except UnicodeDecodeError:
        broken = raw.decode("latin-1")
    if not text.isspace():
        assert encoding_damage(broken) is not None


@pytest.mark.parametrize("text", ["привет", "Δοκιμή"])
def test_other_scripts_that_were_read_wrongly(text: str) -> None:
    assert "mojibake" in str(encoding_damage(text.encode().decode("latin-1").replace("\x81", "Á"))) or "control" in str(
        encoding_damage(text.encode().decode("latin-1"))
    )
    assert encoding_damage("привет".encode().decode("cp1251")) == "mojibake РїСЂРё"


def test_markup() -> None:
    assert markup("x < y and a > b, AT&T; <3") is None
    assert markup("<strong class='x'>bold") == "<strong class='x'>"
    assert markup("it &apos;s", moses=True) is None
    assert markup("it &apos;s") == "&apos;"
    assert markup("it &apos;s &nbsp;", moses=True) == "&nbsp;"
    assert is_moses_escaped("it &apos;s")
    assert not is_moses_escaped("AT&T &nbsp;")


@pytest.mark.parametrize(
    ("source", "target", "missing"),
    [
        ("1,234.50 dollars", "1.234,50 dollars", ""),
        ("3.5 million", "3 500 000", ""),
        ("at 19:30", "à 19 h 30", ""),
        ("two cats", "2 chats", ""),
        ("in 1984", "en 1985", "1984 1985"),
        ("in ١٩٨٤", "in 1984", ""),
        ("born 1950", "né", "1950"),
        ("10 cats", "chats", ""),
    ],
)
def test_numbers(source: str, target: str, missing: str) -> None:
    assert number_mismatch(source, target)[1] == missing
    assert number_mismatch(target, source)[0] == number_mismatch(source, target)[0]


def test_links_and_copies() -> None:
    assert missing_links("see https://a.org/x.", "voir https://a.org/x") is None
    assert missing_links("write to me@a.org", "écrivez") == "me@a.org"
    assert copy_similarity("Tom !", "Tom !") == 0.0  # a name
    assert copy_similarity("the cat sleeps here", "The cat sleeps here.") > 0.9
    assert copy_similarity("the cat sleeps here", "le chat dort ici") == 0.0


@settings(max_examples=60)
@given(blocks=st.lists(st.lists(st.integers(1, 40) | st.integers(1, 2**64 - 1))))
def test_hashes_are_seen_as_in_a_set(blocks: list[list[int]]) -> None:
    table_, seen = SeenHashes(), set[int]()
    for block in blocks:
        expected = []
        for value in block:
            expected.append(value in seen)
            seen.add(value)
        assert table_.add(np.array(block, dtype=np.uint64)).tolist() == expected


def test_a_table_of_hashes_grows() -> None:
    values = np.random.default_rng(1).integers(1, 2**64 - 1, 50_000, dtype=np.uint64)
    seen = SeenHashes()
    assert not any(seen.add(part).any() for part in np.split(values, 50))
    assert seen.add(values).all()
    assert pair_hash("a", "b") != pair_hash("a\nb", "")
    assert similar_hash("A b!", "C") == similar_hash("ab", "c.") != similar_hash("ab", "d")
    assert similar_hash("!", "?") != similar_hash("?", "!")


SENTENCES = {
    "en": "The children are playing in the garden behind the old house.",
    "de": "Die Kinder spielen im Garten hinter dem alten Haus.",
    "fr": "Les enfants jouent dans le jardin derrière la vieille maison.",
    "es": "Los niños juegan en el jardín detrás de la casa vieja.",
    "it": "I bambini giocano nel giardino dietro la vecchia casa.",
    "ru": "Дети играют в саду за старым домом.",
    "el": "Τα παιδιά παίζουν στον κήπο πίσω από το παλιό σπίτι.",
    "ja": "子供たちは古い家の裏の庭で遊んでいます。",
    "zh": "孩子们在老房子后面的花园里玩耍，他们很高兴。",
    "ko": "아이들이 오래된 집 뒤의 정원에서 놀고 있습니다.",
    "pl": "Dzieci bawią się w ogrodzie za starym domem.",
}


def test_languages_are_told_from_a_sentence() -> None:
    assert guess_languages([*SENTENCES.values(), "12 + 7", "Ok"]) == [*SENTENCES, None, None]
    known = statistics()
    assert known.column("de_DE") == known.column("DE") == known.names.index("de")
    assert known.column("zh-TW") != known.column("zh")
    assert known.column("xx") is None


def test_a_side_knows_its_own_words() -> None:
    pocket = [(pair.french, pair.english) for pair in pocket_split(train=3000, valid=1, test=1, seed=1).train]
    side = SideLanguage([source for source, _ in pocket])
    assert side.name == "fr"
    found = dict(zip(SENTENCES, side.other_languages([*SENTENCES.values()]), strict=True))
    assert found["fr"][1] < 0
    assert all(
        found[name] == (name, pytest.approx(margin)) and margin > 6
        for name, (_, margin) in found.items()
        if name != "fr"
    )
    alarms = sum(margin > 6 for _, margin in side.other_languages([source for source, _ in pocket]))
    assert alarms == 0
    assert SideLanguage([], "xx").name is None
    assert SideLanguage(["12", "?"]).name is None


@pytest.mark.parametrize("sign", ["\uf900", "\u3400", "\u4e00", "\u30ab"])
def test_every_sign_of_chinese_and_japanese_is_a_word(sign: str) -> None:
    """The first one is of the compatibility block."""
    five = CleanSettings(max_words=5, longest_word=4)
    [length] = [find for name, find in pair_filters(five, Sampled(1.0, False)) if name == "length"]
    assert length(sign * 5, sign * 5) is None
    assert "6 words" in (length(sign * 6, sign * 5) or "")
