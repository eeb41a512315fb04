"""Splits a text into sentences, by rules and a few abbreviations of each language.

A sentence ends at `.`, `!`, `?` or an ellipsis, with the quotes and brackets that close there, before white space and something that can
begin a sentence; at the full stops of Chinese and Japanese without white space. A point ends none behind an abbreviation, an initial, a
number that is counted (German `3. Mai`), or before a small letter. It knows no grammar: where a point is both, it is taken as no end if a
wrong cut would cost more.
"""

import re

LONGEST = 400
"""Characters of a sentence that is not cut at a comma or a space."""

# Behind these a name, a number or a reference follows, so that their point never ends a sentence.
_ANYWHERE = "mr mrs ms dr prof st sr jr gen col capt lt rev hon vs no nr fig vol pp p ed eds cf ca approx inc ltd co dept est art sec ch"
# Behind these a sentence may end: their point ends one where a capital letter follows.
_LAST = "etc al jan feb mar apr jun jul aug sep sept oct nov dec"
_OF_LANGUAGE = {
    "en": "messrs sgt pres gov sen rep e.g i.e viz u.s.c ave blvd rd",
    "fr": "m mm mme mmes mlle mlles me mgr dr pr av bd boul tél cf p.ex env max min éd op cit chap n° art al vol hab",
    "de": "hr hrn fr frl nr str bzw ca usw z.b d.h u.a o.ä s.o s.u evtl ggf inkl exkl vgl bspw sog abs abb art bd hrsg jh jhd mio mrd "
    "tel max min st dipl ing geb gest verh zz zzt v.a i.d.r m.e z.t",
    "es": "sr sra srta dr dra d dña ud uds av avda pág págs núm tel ej p.ej art cap vol ee uu ee.uu aprox dpto",
    "it": "sig sigg sig.ra dott dott.ssa prof prof.ssa ing avv geom arch pag pagg art cap vol ecc tel es p.es on rag",
    "pt": "sr sra srta dr dra prof profa eng av pág págs núm tel ex p.ex art cap vol exmo exma ltda",
    "nl": "dhr mevr mw dr drs ir ing prof blz nr tel bijv bv d.w.z o.a m.b.t i.v.m t.a.v enz resp ca art afd",
    "sv": "bl.a t.ex d.v.s m.m o.s.v s.k kl ca nr tel resp f.d",
    "pl": "np itd itp prof dr mgr inż ul al nr str tel r w godz tzw m.in św ks gen płk",
    "cs": "např tj tzv apod atd prof dr ing mgr č str ul tel mj sv",
    "ru": "т.е т.д т.п т.к др пр г гг в вв ул д кв стр см рис им проф акад руб коп тыс млн млрд напр",
}
_ORDINALS = frozenset({"de", "da", "no", "nb", "nn", "fi", "cs", "sk", "hu", "pl", "sl", "hr", "et", "lv"})
"""Languages that write ordinal numbers with a point: `am 3. Mai`."""

_CLOSING = "\"'”’“‘»«›‹)\\]}」』】〉》）"
_END = re.compile(
    rf"(?P<wide>[。！？｡]++[{_CLOSING}]*+)(?=\S|\s|$)"
    rf"|(?<![.!?…])(?P<mark>[.!?…‼⁇⁈⁉؟۔।]++[{_CLOSING}]*+(?:[ \xa0\u202f]»(?=\s))?+)(?P<space>\s++)"
)
_BEFORE = re.compile(r"\S{1,40}$")
_ELIDED = re.compile(r"^\w{1,5}['’]")  # l'art. 3
_OPENING = "\"'“‘„«‹([{¿¡-–—•*"
_PLACES_TO_CUT = re.compile(r"[,;:、，；：]\s*+|\s++")


def split_sentences(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """From .. up to of each sentence in a text, without the white space around it. Long ones are cut at commas or spaces."""
    abbreviations = _abbreviations(language)
    ordinals = base_language(language) in _ORDINALS
    ranges, start = list[tuple[int, int]](), 0
    for match in _END.finditer(text):
        mark = match["mark"]
        if mark is not None and not _ends(text, match.start(), mark, match.end(), abbreviations, ordinals):
            continue
        end = match.end() if mark is None else match.start("space")
        ranges.extend(_short_parts(text, start, end))
        start = match.end()
    ranges.extend(_short_parts(text, start, len(text)))
    return ranges


def base_language(language: str | None) -> str:
    """`pt` of `pt-BR` or `pt_BR`, in small letters; nothing for no language."""
    return (language or "").replace("_", "-").partition("-")[0].lower()


def _abbreviations(language: str | None) -> frozenset[str]:
    """Abbreviations whose point ends no sentence."""
    own = _OF_LANGUAGE.get(base_language(language), "") if language else _OF_LANGUAGE["en"]
    return frozenset((_ANYWHERE + " " + own).split())


def _ends(text: str, start: int, mark: str, following: int, abbreviations: frozenset[str], ordinals: bool) -> bool:
    """Whether a mark before white space ends a sentence."""
    if following >= len(text):
        return True
    place = following
    while place < len(text) and text[place] in _OPENING:
        place += 1
    character = text[place] if place < len(text) else " "
    if character.islower():  # "etc. and", "yes!" she said, 1.5 p. m.
        return False
    if not mark.startswith(".") or mark.startswith(".."):
        return True
    before = _BEFORE.search(text[max(0, start - 40) : start])
    word = _ELIDED.sub("", before[0].lstrip(_OPENING)) if before else ""
    if word.lower() in abbreviations:
        return False
    if word.lower() in _LAST.split():
        return not character.isdigit()
    if len(word) == 1 and word.isalpha() and word.isupper():  # an initial
        return False
    if re.fullmatch(r"(?:\w\.)+\w", word) and len(mark) == 1:  # z.B, U.S: an end only before a capital letter
        return character.isupper() and word.isupper() and len(word) > 3
    if ordinals and word.isdigit() and len(word) <= 2:  # am 3. Mai; a year ends a sentence
        return False
    # "1. First" at the beginning is a number of a list
    return not (word.isdigit() and start == len(word))


def _short_parts(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A sentence without white space around it, cut if it is long."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    parts = list[tuple[int, int]]()
    while end - start > LONGEST:
        cut = _cut(text, start, start + LONGEST)
        parts.extend(_trimmed(text, start, cut))
        start = cut
    parts.extend(_trimmed(text, start, end))
    return parts


def _trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return [(start, end)] if start < end else []


def _cut(text: str, start: int, most: int) -> int:
    """Where a long sentence is cut: behind the last comma of its second half, or else at a space, or else in a word."""
    best = {True: 0, False: 0}
    for match in _PLACES_TO_CUT.finditer(text, start + LONGEST // 2, most):
        best[not match[0].isspace()] = match.end()
    return best[True] or best[False] or most
