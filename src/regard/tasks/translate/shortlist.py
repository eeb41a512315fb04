"""Makes the shortlist of a translator from pairs of sentences, by IBM Model 1 over its own pieces (`data/lexicon.py`)."""

from collections.abc import Sequence

from regard.activity import activity
from regard.bundle.opened import OpenBundle
from regard.bundle.shortlist import Shortlist
from regard.data.lexicon import Lexicon
from regard.errors import ConfigError
from regard.text.vocabulary import Vocabulary

FREQUENT = 500  # pieces that are candidates of every sentence
CANDIDATES = 100  # of one source piece, at most
LEAST = 1e-5  # probability of a candidate


def make_shortlist(
    bundle: OpenBundle,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    frequent: int = FREQUENT,
    candidates: int = CANDIDATES,
) -> Shortlist:
    """The shortlist for a bundle, learned from these pairs."""
    if bundle.config.model.copies:
        raise ConfigError(
            f"{bundle.directory}: copies pieces of the source (model.copy = true), any of which it may need; it has no use for a shortlist"
        )
    tokenizers = bundle.tokenizers
    with activity("learning which pieces become which"):
        pairs = [*zip(tokenizers.source.encode_batch(sources), tokenizers.target.encode_batch(targets), strict=True)]
        size = len(tokenizers.source.vocabulary)
        lexicon = Lexicon(pairs, size, len(tokenizers.target.vocabulary))
        always = {0, Vocabulary.UNK, *lexicon.frequent(frequent)}
        pieces = tuple(tuple(sorted(lexicon.likely(piece, candidates, LEAST))) for piece in range(size))
    return Shortlist(always=tuple(sorted(always)), pieces=pieces)
