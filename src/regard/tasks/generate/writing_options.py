"""The usual search of a language model: it draws. No torch."""

from regard.search.checks import check_count
from regard.search.options import SearchKeywords, SearchOptions


def writing_options(given: SearchKeywords) -> SearchOptions:
    """The options of a language model, which samples if nothing asks for a search."""
    beam, nbest, mbr = given.get("beam", 0), given.get("nbest", 1), given.get("mbr", 0)
    check_count("beam", beam, least=0)
    sample = given.get("sample", not beam)
    searches = mbr or given.get("exact", False) or given.get("exhaustive", False)
    check_count("nbest", nbest)
    options: SearchKeywords = {
        **given,
        "sample": bool(sample and not searches),
        "beam": max(beam, 1 if sample or mbr else nbest),
    }
    return SearchOptions.of(options, beside=("stopped",))
