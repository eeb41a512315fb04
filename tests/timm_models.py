"""The library timm, the oracle of Vision Transformers, and torchvision, which it and transformers import.

torchvision's build may lack two operators beside a CPU build of torch. Without them its import fails, and so does every model of
transformers. They are declared here, and nothing calls them.
"""

import warnings
from typing import Any

import torch

_LIBRARY: list[torch.library.Library] = []  # its operators live as long as it does


def declare_operators() -> None:
    """Declare the operators that torchvision's import needs, where they are missing."""
    if not _LIBRARY:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            if not hasattr(torch.ops.torchvision, name):
                library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _LIBRARY.append(library)


def timm_library() -> Any:
    """The module `timm`."""
    declare_operators()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import timm.models.vision_transformer

    return timm


def vision_transformer(**options: Any) -> Any:
    """A randomly initialised `timm.models.VisionTransformer`."""
    return timm_library().models.vision_transformer.VisionTransformer(**options)
