"""The presets: named sizes of models. A preset decides sizes and nothing else."""

PRESETS: dict[str, dict[str, dict[str, int]]] = {
    "transformer": {
        "tiny": {"layers": 4, "width": 128, "heads": 4, "feed_forward": 256},
        "tiny-deep": {"layers": 2, "encoder_layers": 9, "width": 128, "heads": 4, "feed_forward": 256},
        "small": {"layers": 4, "width": 256, "heads": 4, "feed_forward": 1024},
        "base": {"layers": 6, "width": 512, "heads": 8, "feed_forward": 2048},
    },
    "prefix": {
        "tiny": {"layers": 10, "width": 128, "heads": 4, "feed_forward": 256},
        "small": {"layers": 9, "width": 256, "heads": 4, "feed_forward": 1024},
        "base": {"layers": 14, "width": 512, "heads": 8, "feed_forward": 2048},
    },
    "recurrent": {
        "tiny": {"layers": 1, "width": 256},
        "small": {"layers": 2, "width": 512},
        "base": {"layers": 4, "width": 1000},
    },
    "vit": {
        "tiny": {"layers": 3, "width": 96, "heads": 3, "feed_forward": 192},
        "small": {"layers": 6, "width": 256, "heads": 4, "feed_forward": 512},
        "base": {"layers": 12, "width": 768, "heads": 12, "feed_forward": 3072},
    },
    "forecaster": {
        "tiny": {"layers": 3, "width": 16, "heads": 4, "feed_forward": 128},
        "small": {"layers": 3, "width": 64, "heads": 4, "feed_forward": 128},
        "base": {"layers": 3, "width": 128, "heads": 8, "feed_forward": 256},
    },
    "recurrent_forecaster": {
        "tiny": {"layers": 1, "width": 64},
        "small": {"layers": 1, "width": 128},
        "base": {"layers": 2, "width": 256},
    },
}
"""`base` is the lectures' size (Vaswani et al. 2017, table 3) and that of Luong et al. 2015; a Transformer's `tiny` is that of Wu et al.
2021 for Multi30k. A decoder takes a step for each token and an encoder one for a sentence, so `tiny-deep`, nine blocks under two, is
fast (Kasai et al. 2021). A prefix language model has about as many weights as the Transformer of the same name. A Vision Transformer's
`base` is that of Dosovitskiy et al. 2021, its `small` near CCT-7 (Hassani et al. 2021). A forecaster's `tiny` and `base` are PatchTST's
sizes for its small and its large data sets (Nie et al. 2023)."""

SIZES = frozenset(size for kind in PRESETS.values() for preset in kind.values() for size in preset)
"""Every setting that a preset decides."""
