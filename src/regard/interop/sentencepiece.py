"""The sentencepiece models of a bundle, as other programs read them. Their spaces are collapsed, as regard's normalisation does it.

Other programs do not apply the rest of regard's normalisation: the Unicode form, lowercasing, control characters.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from regard.files import disk_errors
from regard.text.build import TokenizerPair
from regard.text.tokenizer import Tokenizer

_COLLAPSE_SPACES = b"\x1a\x02\x20\x01"
"""The message normalizer_spec { remove_extra_whitespaces: true }. A message at the end of a file is merged with those before it."""


class ScoredPieces(NamedTuple):
    """The pieces of a sentencepiece model and their scores, in the order of their ids."""

    pieces: Sequence[str]
    scores: Sequence[float]


def spm_of(tokenizer: Tokenizer) -> bytes | None:
    """The sentencepiece model of a tokenizer; None: it has another form."""
    model = tokenizer.files().get(".spm")
    return None if model is None else model + _COLLAPSE_SPACES


def write_spm_files(tokenizers: TokenizerPair, directory: Path) -> None:
    """Write `source.spm` and `target.spm`, where the tokenizers are sentencepiece models."""
    with disk_errors(directory):
        for side, tokenizer in (("source", tokenizers.source), ("target", tokenizers.target)):
            model = spm_of(tokenizer)
            if model is not None:
                (directory / f"{side}.spm").write_bytes(model)


def scored_pieces(model: bytes) -> ScoredPieces:
    """The pieces of a sentencepiece model."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    ids = list(range(processor.get_piece_size()))
    return ScoredPieces(processor.id_to_piece(ids), [processor.get_score(index) for index in ids])
