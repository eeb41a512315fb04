"""The library timm, the oracle of Vision Transformers. torchvision, which it imports, may lack two operators: they are declared here."""

import warnings
from typing import Any

import torch

_LIBRARY: list[torch.library.Library] = []  # its operators live as long as it does


def timm_library() -> Any:
    """The module `timm`. The operators that torchvision's import needs are declared if they are missing; nothing here calls them."""
    if not _LIBRARY:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            if not hasattr(torch.ops.torchvision, name):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _LIBRARY.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import timm.models.vision_transformer

    return timm


def vision_transformer(**options: Any) -> Any:
    """A randomly initialised `timm.models.VisionTransformer`."""
    return timm_library().models.vision_transformer.VisionTransformer(**options)
