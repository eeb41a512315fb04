"""The language of a text, among those that the server reads. `data/detection.py` tells languages apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.data.detection import Candidate, OwnPieces
from regard.text.marked import unmarked

if TYPE_CHECKING:
    from regard.serve.models import ServedModel, ServedModels


def detect(texts: Sequence[str], models: "ServedModels") -> list[list[Candidate]]:
    """The languages that the server reads and each text may be in, the most probable first. There is always one.

    Their confidences do not add up to 1: the text may be in a language that the server does not read.
    """
    served = list(models.sources)
    unknown = [Candidate(served[0] if served else "en", 0.0)]
    return [[one for one in own if one.language in models.sources] or unknown for own in models.detector.detect(texts)]


def own_pieces(models: "Sequence[ServedModel]") -> list[OwnPieces]:
    """The vocabularies of the translators. One that several languages share counts for those that it is like."""
    found = []
    for model in models:
        if not model.languages:
            continue
        tokenizers = model.served.tokenizers
        sources, targets = zip(*model.languages, strict=True)
        same = tokenizers.joint or tokenizers.source.vocabulary == tokenizers.target.vocabulary
        sides = (
            [(tokenizers.source, (*sources, *targets))]
            if same
            else [(tokenizers.source, sources), (tokenizers.target, targets)]
        )
        for tokenizer, languages in sides:
            words = unmarked(tokenizer).kind == "word"
            found.append(OwnPieces.of(tokenizer.vocabulary, tuple(dict.fromkeys(languages)), whole_words=words))
    return found
