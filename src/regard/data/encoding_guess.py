"""Guesses the encoding of bytes that are not UTF-8, for the advice in error messages. It reads no files.

Each candidate is a language and an encoding of its letters. The one whose letters explain most of the bytes wins; of
equals the first.
"""

import re

_JUDGED = 1 << 14  # bytes
NUL_SHARE = 0.2  # of the bytes; text with more is UTF-16

_LETTERS = {
    "LATIN1": (
        "àâæçèéêëîïôùûüÿœ",  # French
        "äöüß",  # German
        "áéíñóúüªº",  # Spanish
        "àáâãçéêíóôõúü",  # Portuguese
        "àèéìòù",  # Italian
        "æøåéäö",  # Nordic languages
        "áðéíóúýþæö",  # Icelandic
        "äõöüšž",  # Estonian
        "áèéëïíóöüú",  # Dutch
    ),
    "LATIN2": (
        "ąćęłńóśźż",  # Polish
        "áčďéěíňóřšťúůýž",  # Czech
        "áäčďéíĺľňóôŕšťúýž",  # Slovak
        "áéíóöőúüű",  # Hungarian
        "čćđšž",  # Croatian, Slovene
        "ăâîşţ",  # Romanian
    ),
    "LATIN5": ("çğıöşüâî",),  # Turkish
    "WINDOWS-1251": ("абвгдежзийклмнопрстуфхцчшщъыьэюяё",),  # Russian
    "KOI8-R": ("абвгдежзийклмнопрстуфхцчшщъыьэюяё",),
}
_WINDOWS = {"LATIN1": "WINDOWS-1252", "LATIN2": "WINDOWS-1250", "LATIN5": "WINDOWS-1254"}
_ONLY_WINDOWS = re.compile(rb"[\x80-\x9f]")  # control characters in the Latin encodings, letters and quotes in Windows
_HIGH = re.compile(rb"[\x80-\xff]+")
_CODECS = {"LATIN5": "iso8859-9", "LATIN2": "iso8859-2"}


def guess_encoding(raw: bytes) -> str:
    """The name, for `iconv -f`, of the encoding that the bytes suggest; the first of many suffice."""
    raw = raw[:_JUDGED]
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    if raw.count(0) > NUL_SHARE * len(raw):  # the letters of European languages have one NUL each
        return "UTF-16LE" if raw[1::2].count(0) >= raw[::2].count(0) else "UTF-16BE"
    windows = _ONLY_WINDOWS.search(raw) is not None
    best, most = "LATIN1", -1.0
    for name, alphabets in _LETTERS.items():
        encoding = _WINDOWS.get(name, name) if windows else name
        text = b"".join(_HIGH.findall(raw)).decode(_CODECS.get(encoding, encoding), "replace")
        for letters in alphabets:
            # Lower-case letters are the rule. A Cyrillic text in the wrong Cyrillic encoding changes its case.
            explained = sum(1.0 if mark in letters else 0.9 if mark.lower() in letters else 0.0 for mark in text)
            if explained > most:
                best, most = encoding, explained
    return best
