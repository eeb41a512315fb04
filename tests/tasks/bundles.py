"""Small bundles of pocket sentences: random weights whose outputs end, at different lengths."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.bundle.bundle import save_bundle
from regard.bundle.config import VocabularySizes
from regard.data.pocket.corpus import pocket_split
from regard.models.build import build_translator
from regard.models.network import EncoderDecoder
from regard.models.recurrent import Recurrent
from regard.models.source_decoder import SourceDecoder
from regard.tasks.translate.settings import TranslateBundle
from regard.text.build import TokenizerPair, learn_pair
from regard.text.config import TextConfig

SPLIT = pocket_split(300, 10, 40)
TEXTS = [pair.french for pair in SPLIT.test]
SIZES: dict[str, dict[str, int]] = {
    "prefix": {"layers": 2, "width": 32, "heads": 4, "feed_forward": 48, "max_positions": 90},
    "transformer": {
        "layers": 2,
        "decoder_layers": 1,
        "width": 32,
        "heads": 4,
        "feed_forward": 48,
        "max_positions": 90,
    },
    "recurrent": {"layers": 1, "width": 16},
}


@cache
def _tokenizers(joint: bool, kind: str, reserved: bool, tags: tuple[str, ...]) -> TokenizerPair:
    pieces = {"mask": True, "sentinels": 3, "languages": ["en"]} if reserved else {"languages": tags}
    config = TextConfig.parse({"kind": kind, "joint": joint, "vocabulary": 400, "reserved": pieces})
    return learn_pair(config, lambda: [(pair.french, pair.english) for pair in SPLIT.train])


def random_bundle(
    path: Path,
    *,
    kind: str = "transformer",
    joint: bool = True,
    ending: float = 1.5,
    text: str = "bpe",
    reserved: bool = False,
    languages: dict[str, str] | None = None,
    directions: Sequence[tuple[str, str]] = (),
    **model: Any,
) -> Path:
    """A bundle at `path`. ending: added to the logit of the end mark, at any step.

    text: the kind of the tokenizers; reserved: whether they have reserved pieces; directions: of a model of several.
    """
    tokenizers = _tokenizers(joint, text, reserved, tuple(dict.fromkeys(target for _, target in directions)))
    sizes = (len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary))
    config = TranslateBundle.parse(
        {
            "model": {"kind": kind, **SIZES[kind], **model},
            "languages": languages or {},
            "directions": [{"source": source, "target": target} for source, target in directions],
            "vocabulary": VocabularySizes(source=sizes[0], target=sizes[1], joint=joint),
        }
    )
    with torch.random.fork_rng():
        torch.manual_seed(11)
        network = build_translator(config.model, *sizes, joint)
        with torch.no_grad():
            for name, parameter in network.named_parameters():  # none may be zero or one: a lost one would not show
                if name.endswith("_bias.table"):
                    parameter.normal_()
                elif parameter.dim() == 1:
                    parameter.add_(torch.randn_like(parameter) * 0.1)
                elif "embedding" not in name and name != "output":
                    parameter.mul_(2.0)
            end = network.output_table()[0]
            bias = getattr(_last(network), "bias", None)
            if bias is not None:  # RMS norm has none: its outputs end by chance
                bias.add_(ending * end / end.square().sum())
                if reserved:  # so that the outputs have masks
                    mask = network.output_table()[2]
                    bias.add_(3.0 * mask / mask.square().sum())
    save_bundle(path, network.state_dict(), config, tokenizers)
    return path


def _last(network: EncoderDecoder) -> nn.Module:
    """Where what is projected comes from."""
    if isinstance(network, Recurrent):
        return network.decoder.readout
    assert isinstance(network, SourceDecoder)
    last = network.decoder_norm  # of a post-norm network there is none
    return network.decoder[-1].around_feed_forward.norm if isinstance(last, nn.Identity) else last
