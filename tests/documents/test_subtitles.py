"""Subtitles: time codes, numbers, settings and styles stay byte for byte; lines are balanced."""

import re

import pytest

from documents.translators import Said, capitals, reversed_words, same
from regard.documents import subtitles
from regard.documents.lines import balanced, wrapped
from regard.documents.markup import Segment
from regard.documents.subtitles import read_srt
from regard.documents.translate import translate_document
from regard.errors import DocumentError

SRT = (
    "1\r\n00:00:01,000 --> 00:00:02,500 X1:1\r\n<i>Le chat</i> noir\r\ndort ici.\r\n\r\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\r\n- Bonjour !\r\n- Salut.\r\n\r\n"
    "3\r\n00:00:05,000 --> 00:00:06,000\r\n{\\an8}Voici\r\n"
)
VTT = (
    "WEBVTT - titre\n\nNOTE rien à faire\n\nSTYLE\n::cue { color: red }\n\nid1\n"
    "00:01.000 --> 00:02.000 align:start\n<v Bob>Le <c.x>chat</c> &amp; moi <00:00:01.500>ici\n\n"
    "01:00:02.000 --> 01:00:03.000\nbonjour\n"
)


@pytest.mark.parametrize(("format", "text"), [("srt", SRT), ("vtt", VTT)])
def test_the_same_text_is_the_same_file(format: str, text: str) -> None:
    for content in (
        text.encode(),
        text.encode("utf-8-sig"),
        text.rstrip().encode(),
        text.replace("\r\n", "\n").encode(),
    ):
        assert translate_document(content, format, same) == content


def test_srt_by_hand() -> None:
    expected = SRT.replace("<i>Le chat</i> noir\r\ndort ici.", "<i>LE CHAT</i> NOIR DORT ICI.")
    expected = expected.replace("Bonjour", "BONJOUR").replace("Salut", "SALUT").replace("Voici", "VOICI")
    assert translate_document(SRT.encode(), "srt", capitals).decode() == expected


def test_vtt_by_hand() -> None:
    expected = VTT.replace(
        "Le <c.x>chat</c> &amp; moi <00:00:01.500>ici", "LE <c.x>CHAT</c> &amp; MOI <00:00:01.500>ICI"
    )
    assert translate_document(VTT.encode(), "vtt", capitals).decode() == expected.replace("bonjour", "BONJOUR")
    turned = translate_document(VTT.encode(), "vtt", reversed_words).decode()
    assert [line for line in turned.split("\n") if "-->" in line] == [line for line in VTT.split("\n") if "-->" in line]


def test_a_long_cue_is_broken_into_lines_of_the_same_length() -> None:
    words = "this is a rather long translation of a short cue that needs two lines here"
    cue = "1\n00:00:01,000 --> 00:00:02,500\ncourt\n"
    result = translate_document(cue.encode(), "srt", lambda texts: [Said(words, []) for _ in texts]).decode()
    first, second = result.split("\n")[2:4]
    assert f"{first} {second}" == words
    assert max(len(first), len(second)) <= 42
    assert abs(len(first) - len(second)) <= 8


def test_breaks_take_the_place_of_spaces() -> None:
    text = Segment("aa bb cc dd ee")
    assert wrapped(text, 5).text == "aa bb\ncc dd\nee"
    assert balanced(text, 12).text == "aa bb cc\ndd ee"
    assert balanced(text, 14).text == text.text
    assert wrapped(Segment("longword x"), 3).text == "longword\nx"
    assert wrapped(text, 5, lambda word: word != "cc").text == "aa\nbb cc\ndd ee"


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("srt", b"bonjour\n", r"x.srt:1: no time code .* is it SubRip"),
        ("vtt", b"00:01.000 --> 00:02.000\nbonjour\n", r"x.vtt:1: WebVTT begins with the line WEBVTT"),
        ("srt", SRT.encode("utf-8") + b"\n\xe9", r"x.srt:15: not UTF-8 \(byte 0xe9\); convert it"),
    ],
)
def test_what_is_no_subtitle(format: str, content: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        translate_document(content, format, same, name=f"x.{format}")


def test_empty_files() -> None:
    assert translate_document(b"", "srt", same) == b""
    assert translate_document(b"WEBVTT", "vtt", same) == b"WEBVTT"
    assert re.match(b"WEBVTT", translate_document(b"WEBVTT\n\n", "vtt", same))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_cue_ends_at_the_next_time_code(end: str) -> None:
    """Where the blank line is missing. The number belongs to the next cue; WebVTT has no numbers, so there it is text."""
    lines = ["1", "00:00:01,000 --> 00:00:02,000", "Bonjour 7", "7", "2", "00:00:03,000 --> 00:00:04,000", "Salut"]
    text = end.join([*lines, "3", "00:00:05,000 --> 00:00:06,000", "00:00:07,000 --> 00:00:08,000", "fin"])
    expected = text.replace(f"Bonjour 7{end}7", "BONJOUR 7 7").replace("Salut", "SALUT").replace("fin", "FIN")
    assert translate_document(text.encode(), "srt", same) == text.encode()
    assert translate_document(text.encode(), "srt", capitals).decode() == expected
    web = end.join(["WEBVTT", "", "00:01.000 --> 00:02.000", "a", "00:02.000 --> 00:03.000", "b"])
    assert translate_document(web.encode(), "vtt", capitals).decode() == web.replace("a", "A").replace("b", "B")


def test_a_cue_is_read_once() -> None:
    """10,000 cues without blank lines: each up to the end of the file would be 2 * 10 ** 9 characters."""
    text = "1\n00:00:01,000 --> 00:00:02,000\nmot\n" * 10_000
    assert len(read_srt(text.encode()).segments()) == 10_000


@pytest.mark.parametrize(
    ("cue", "seen", "written"),
    [
        ("- Le chat dort.\n- Non.", ["Le chat dort.", "Non."], "- LE CHAT DORT.\n- NON."),
        ("- Le chat\ndort.\n- Non.", ["Le chat dort.", "Non."], "- LE CHAT DORT.\n- NON."),
        ("<i>- Le chat dort.\n- Non.</i>", ["Le chat dort.", "Non."], "<i>- LE CHAT DORT.\n- NON.</i>"),
        ("– Oui. – Non, c'est ici.", ["Oui.", "Non, c'est ici."], "– OUI. – NON, C'EST ICI."),
        ("-Non.", ["Non."], "-NON."),
        ("- Le chat - qui dort - est noir.", ["Le chat - qui dort - est noir."], "- LE CHAT - QUI DORT - EST NOIR."),
        ("Le chat\n- qui dort -\nest noir.", ["Le chat - qui dort - est noir."], "LE CHAT - QUI DORT - EST NOIR."),
    ],
)
def test_the_dashes_of_a_dialogue_stay_and_no_model_sees_them(cue: str, seen: list[str], written: str) -> None:
    texts: list[str] = []

    def noted(given: list[str]) -> list[Said]:
        texts.extend(given)
        return capitals(given)

    head = "1\n00:00:01,000 --> 00:00:02,500\n"
    result = translate_document(f"{head}{cue}\n\n".encode(), "srt", noted, source="fr", target="en").decode()
    assert texts == seen
    assert result == f"{head}{written}\n\n"


def test_a_dash_beside_what_is_escaped() -> None:
    content = b"WEBVTT\n\n00:01.000 --> 00:02.500\n- Toi &amp; moi.\n- Non.\n"
    result = translate_document(content, "vtt", capitals)
    assert result == b"WEBVTT\n\n00:01.000 --> 00:02.500\n- TOI &amp; MOI.\n- NON.\n"


class Line(tuple[int, int]):
    """From .. up to of a line, which counts how often it is compared with another."""

    __slots__ = ()
    compared = 0
    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        Line.compared += 1
        return tuple.__eq__(self, other)


def test_a_cue_of_many_dashes_is_read_once() -> None:
    """Looking for each line among all of them would be 2 * 10 ** 6 comparisons."""
    text = "- a\n" * 2_000
    lines = [Line((place, place + 3)) for place in range(0, len(text), 4)]
    assert subtitles._speeches(text, lines) == [tuple(line) for line in lines]
    assert Line.compared <= 3 * len(lines)  # one by the line above
    head = "1\n00:00:01,000 --> 00:00:02,000\n"
    assert [segment.text for segment in read_srt((head + text).encode()).segments()] == ["a"] * 2_000
