"""A translator as a judge of pairs, for `regard data check` and `regard data clean`."""

from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.formats import LanguagePair

if TYPE_CHECKING:
    from regard.data.suspects import PairScorer


def pair_scorer(model: Path, languages: LanguagePair = (None, None)) -> tuple["PairScorer", str]:
    """Log-probabilities per token of a translator, and the SHA-256 of its manifest. languages: of the pairs, for a model of several."""
    import warnings
    from collections.abc import Sequence

    from regard.bundle.locate import find_bundle
    from regard.bundle.manifest import MANIFEST
    from regard.engine.input_length import TruncationWarning
    from regard.errors import ConfigError
    from regard.files import sha256_of
    from regard.tasks.load import load_translator

    translator = load_translator(model)
    if translator.directions.seen:
        source, target = languages
        if target is None and len(targets := translator.directions.targets) > 1:
            raise ConfigError(
                f"{model}: translates to {', '.join(targets)}; say which of them the pairs have, with --tgt-lang {targets[0]}"
            )
        translator = translator.towards(target, source)

    def score(sources: Sequence[str], targets: Sequence[str]) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncationWarning)
            return [scored.logprob / max(1, scored.tokens) for scored in translator.score(sources, targets)]

    return score, sha256_of(find_bundle(model) / MANIFEST)
