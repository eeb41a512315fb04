"""Where a translator copied: the gate of each token of an explained translation, which `regard explain` prints.

1 is a token written from the vocabulary alone, 0 one that is copied from the source (`layers.copying`).
"""

from regard.explain.explanation import Explanation
from regard.ops.probe import Probe
from regard.tasks.translate.translator import Translator

GATE = "decoder.copy.gate"


def gates(model: Translator, explanation: Explanation) -> list[float]:
    """g of each target token and of the end mark; empty if the model does not copy."""
    if getattr(model.network, "copying", None) is None:
        return []
    pairs = (model.tokenizers.source, explanation.source), (model.tokenizers.target, explanation.target)
    source, target = ([tokenizer.vocabulary.id_of(piece) for piece in side.tokens[:-1]] for tokenizer, side in pairs)
    probe = Probe(GATE)
    model.forced([source], [target], probe)
    seen: list[float] = probe[GATE][0, :, 0].sigmoid().tolist()
    return seen
