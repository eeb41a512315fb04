"""Names packed files by their first bytes, and guesses the encoding of text that is not UTF-8: for the advice in error messages.

It reads no files.
Each candidate is a language and an encoding of its letters. The one whose letters explain most of the bytes wins; of
equals the first.
"""

import re

JUDGED = 1 << 14  # bytes
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
_PACKED = (
    (re.compile(rb"PK\x03\x04"), "a zip archive, as .xlsx and .docx are; save it as text (TSV or CSV in UTF-8)"),
    (re.compile(rb"\x1f\x8b"), "gzip; name it .gz, or unpack it (gunzip)"),
    (re.compile(rb"%PDF-\d"), "a PDF; save its text as UTF-8 (pdftotext)"),
    (re.compile(rb"BZh[1-9]1AY&SY"), "bzip2; unpack it (bunzip2)"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz; unpack it (unxz)"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "zstd; unpack it (unzstd)"),
)
_WINDOWS = {"LATIN1": "WINDOWS-1252", "LATIN2": "WINDOWS-1250", "LATIN5": "WINDOWS-1254"}
_ONLY_WINDOWS = re.compile(rb"[\x80-\x9f]")  # control characters in the Latin encodings, letters and quotes in Windows
_HIGH = re.compile(rb"[\x80-\xff]+")
_CODECS = {"LATIN5": "iso8859-9", "LATIN2": "iso8859-2"}


def packed_format(start: bytes) -> str | None:
    """The name of the format that a file with these first bytes has, and what to do; None if it may be text."""
    return next((advice for signature, advice in _PACKED if signature.match(start)), None)


def is_utf16(nuls: int, size: int) -> bool:
    """Whether so many bytes with so many NULs are UTF-16, which of ASCII text is UTF-8 too. A few bytes tell nothing."""
    return nuls > max(3, NUL_SHARE * size)


def encoding_advice(raw: bytes) -> str:
    """The advice for bytes that are not UTF-8."""
    return f"convert the file (iconv -f {guess_encoding(raw)} -t UTF-8, a guess from its bytes)"


def guess_encoding(raw: bytes) -> str:
    """The name, for `iconv -f`, of the encoding that the bytes suggest; the first of many suffice."""
    windows = _ONLY_WINDOWS.search(raw) is not None  # one suffices, wherever it is
    raw = raw[:JUDGED]
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "UTF-16"
    if raw.count(0) > NUL_SHARE * len(raw):  # the letters of European languages have one NUL each
        return "UTF-16LE" if raw[1::2].count(0) >= raw[::2].count(0) else "UTF-16BE"
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
