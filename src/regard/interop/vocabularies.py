"""The vocabulary of an imported model in the order that regard's networks have: the end mark 0, the unknown mark 1, padding last.

The rows of embeddings follow the same order. The last row is the vector of the token that the decoder starts from, whatever that was
called: padding itself is masked, so that its vector does not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import BundleError
from regard.text.imported import VocabularyRecord
from regard.text.vocabulary import PAD

if TYPE_CHECKING:
    from torch import Tensor

_START = "<start>"


@dataclass(frozen=True)
class Arrangement:
    """How the ids of a model become ours."""

    order: Sequence[int]
    """Their ids in the order of ours, without our last."""
    start: int
    """Their id of the token that the decoder starts from."""
    record: VocabularyRecord

    def embeddings(self, table: "Tensor") -> "Tensor":
        """The rows of an embedding table, and the row of the start token."""
        return table[[*self.order, self.start]]

    def outputs(self, table: "Tensor") -> "Tensor":
        """The rows of the output weights or biases. Our last id has none."""
        return table[list(self.order)]


def arranged(
    where: str,
    pieces: Sequence[str],
    *,
    end: int,
    unknown: int | None,
    start: int,
    barred: int | None,
    silent: Sequence[str],
) -> Arrangement:
    """The arrangement of a vocabulary. barred: the id of padding, if it is never generated: then it has no output here either.

    unknown: None: every text has pieces, so an ordinary piece is in the place of the unknown mark. silent: the pieces that are no text.
    """
    size = len(pieces)
    if unknown is None:
        nothing = frozenset(silent)
        unknown = next((index for index, piece in enumerate(pieces) if piece not in nothing and index != end), size)
    for name, index in (("eos_token_id", end), ("unk_token_id", unknown), ("decoder_start_token_id", start)):
        if not 0 <= index < size:
            raise BundleError(
                f"{where}: {name} = {index} is outside of the vocabulary of {size} pieces; save the model again"
            )
    if end == unknown or barred in (end, unknown):
        raise BundleError(f"{where}: its end mark, unknown mark and padding are not three different pieces")
    order = [end, unknown, *(index for index in range(size) if index not in (end, unknown, barred))]
    names = [pieces[index] for index in order]
    last = next(name for name in (PAD, _START, f"{_START}{size}") if name not in names)
    return Arrangement(order, start, VocabularyRecord(pieces=(*names, last), silent=(*dict.fromkeys((*silent, last)),)))
