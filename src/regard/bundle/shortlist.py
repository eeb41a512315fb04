"""`Shortlist`: for each source piece the target pieces that it may become, as a file of a bundle (`regard shortlist` makes it).

A search with it computes the probabilities of these pieces only. No torch.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from regard.bundle.manifest import MEND
from regard.bundle.opened import OpenBundle
from regard.errors import BundleError
from regard.settings import Record

SHORTLIST = "shortlist.json"
_Piece = Annotated[int, Field(ge=0)]


class Shortlist(Record):
    """The candidates of each source piece, as ids."""

    always: tuple[_Piece, ...]
    """The candidates of every sentence: the end mark, `<unk>` and the most frequent pieces."""
    pieces: tuple[tuple[_Piece, ...], ...]
    """The candidates of each source piece."""

    def candidates(self, source: Sequence[int]) -> set[int]:
        """The candidates of a sentence."""
        return set(self.always).union(*(self.pieces[piece] for piece in source))


def has_shortlist(bundle: OpenBundle) -> bool:
    """Whether the bundle has a shortlist."""
    return SHORTLIST in bundle.files.digests


def read_shortlist(bundle: OpenBundle) -> Shortlist:
    """The shortlist of a bundle that has one. A `BundleError` refuses one that does not fit its vocabularies."""
    path, vocabulary = bundle.directory / SHORTLIST, bundle.config.vocabulary
    shortlist = bundle.files.read_record(SHORTLIST, Shortlist)
    if len(shortlist.pieces) != vocabulary.source:
        raise BundleError(
            f"{path}: it has {len(shortlist.pieces):,} source pieces, the bundle {vocabulary.source:,}; "
            f"they are of different models; {MEND}"
        )
    largest = max((max(row) for row in (shortlist.always, *shortlist.pieces) if row), default=0)
    if largest >= vocabulary.target - 1:  # pad is no output
        raise BundleError(
            f"{path}: id {largest} is no target piece, of which there are {vocabulary.target - 1:,}; {MEND}"
        )
    return shortlist
