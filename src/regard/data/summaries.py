"""Abstracts with summaries, in the JSON lines of SciTLDR (Cachola et al. 2020), and the baselines that take a sentence of the abstract.

    {"source": [sentences], "target": [references], "title": ..}

Sentences are joined by spaces. A reference is a summary that a person wrote; the abstracts of validation and test have several. It knows
no model and no score.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from regard.data.readers import Pair, display_name, read_lines
from regard.errors import DataError

_BREAKS = re.compile(r"\s+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Abstract:
    """A line of the file."""

    where: str
    """File and line, for errors."""
    sentences: tuple[str, ...]
    references: tuple[str, ...]
    title: str | None

    @property
    def text(self) -> str:
        """The input of a model."""
        return " ".join(self.sentences)


def abstracts(path: str) -> Iterator[Abstract]:
    """The abstracts of a file. Empty lines are left out."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield _abstract(line, f"{display_name(path)}:{number}")


def reference(abstract: Abstract, number: int) -> str:
    """The reference of this number, from 0; nothing where the abstract has fewer."""
    return abstract.references[number] if number < len(abstract.references) else ""


def lead(abstract: Abstract) -> str:
    """The first sentence: the baseline lead-1."""
    return abstract.sentences[0]


def central(abstract: Abstract) -> str:
    """The sentence most like the others: the one with the largest mean F1 of words with each of them. Of equal ones the first.

    A baseline that copies and that needs no references, as PacSum and LexRank do in more refined ways.
    """
    bags = [_bag(sentence) for sentence in abstract.sentences]
    means = [sum(_f1(bag, other) for other in bags if other is not bag) for bag in bags]
    return abstract.sentences[means.index(max(means))]


def oracle(abstract: Abstract) -> str:
    """The sentence with the best F1 of words with a reference: about the most that a copied sentence can reach. It reads the references.

    As targets of the training abstracts, such sentences teach a network to copy.
    """
    references = [_bag(text) for text in abstract.references]
    values = [max(_f1(_bag(sentence), other) for other in references) for sentence in abstract.sentences]
    return abstract.sentences[values.index(max(values))]


def title(abstract: Abstract) -> str:
    """The title."""
    if abstract.title is None:
        raise DataError(f"{abstract.where}: no 'title'")
    return abstract.title


def summary_pairs(choose: Callable[[Abstract], str], paths: Sequence[str]) -> Iterator[Pair]:
    """The abstracts of a file, each with what is chosen for it."""
    return ((abstract.text, choose(abstract)) for abstract in abstracts(paths[0]))


def _bag(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _f1(left: Counter[str], right: Counter[str]) -> float:
    both = left.total() + right.total()
    return 2 * (left & right).total() / both if both else 0.0


def _abstract(line: str, where: str) -> Abstract:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError(f"{where}: not JSON; each line must be one object of SciTLDR") from None
    fields = value if isinstance(value, dict) else {}
    sentences, references = (_texts(fields.get(name)) for name in ("source", "target"))
    if not sentences or not references:
        name = "source" if not sentences else "target"
        raise DataError(
            f"{where}: no list of texts under {name!r}; expected {{'source': [sentences], 'target': [summaries]}}"
        )
    heading = fields.get("title")
    return Abstract(where, sentences, references, _plain(heading) if isinstance(heading, str) else None)


def _texts(value: object) -> tuple[str, ...]:
    """The texts of a list, on one line each; nothing if it is no list of texts."""
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        return ()
    return tuple(plain for text in value if (plain := _plain(text)))


def _plain(text: str) -> str:
    return _BREAKS.sub(" ", text.encode("utf-8", "replace").decode("utf-8")).strip()
