"""`through`: a translation of a translation as one of the first text, with links from its words."""

from collections import defaultdict
from dataclasses import replace
from functools import partial

from regard.tasks.translate.translation import Links, Translation


def through(middle: Translation, last: Translation) -> Translation:
    """`last`, which translates the text of `middle`, as a translation of the source of `middle`."""
    return replace(
        last,
        source=middle.source,
        truncated=middle.truncated or last.truncated,
        timed_out=middle.timed_out or last.timed_out,
        links=partial(_composed, middle, last),
        alternatives=tuple(through(middle, one) for one in last.alternatives),
    )


def _composed(middle: Translation, last: Translation) -> Links:
    """Each target word is linked to the source words of the middle words that it is linked to."""
    sources = defaultdict[int, list[int]](list)
    for source, word in middle.alignment:
        sources[word].append(source)
    links = {(source, target) for word, target in last.alignment for source in sources[word]}
    return sorted(links, key=lambda link: (link[1], link[0]))
