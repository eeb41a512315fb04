"""`PictureClassifier`: pictures in, labels out. It joins a network, the form of its pictures and the names of the labels."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.activity import activity
from regard.bundle.describe import summary
from regard.bundle.opened import OpenBundle
from regard.bundle.pictures import PictureFormat
from regard.data.images import pixel_tensor
from regard.data.pictures import Picture, fitted, picture_of_array, read_picture
from regard.engine.resident import Evaluable, Resident
from regard.errors import InputTypeError
from regard.tasks.classify_images.classification import PictureClassification

TOKENS_AT_ONCE = 16_384
"""Tokens of the pictures that are read together."""


class PictureNetwork(Evaluable, Protocol):
    """A network with a logit for each label."""

    def __call__(self, source: Tensor) -> Tensor:
        """source [B, C, H, W] -> logits [B, L]"""
        ...


class PictureClassifier:
    """Labels pictures. Made by `regard.load`, or around a network that is being trained."""

    explainer: Any = None
    """The function that explains a picture; `regard.load` sets it."""

    def __init__(
        self,
        network: PictureNetwork,
        pictures: PictureFormat,
        labels: Sequence[str],
        *,
        tokens: int = 1,
        bundle: OpenBundle | None = None,
    ) -> None:
        """pictures: the form that the network reads. tokens: of one picture."""
        self._resident = Resident(network)
        self.pictures, self.labels, self.bundle = pictures, tuple(labels), bundle
        self._at_once = max(1, TOKENS_AT_ONCE // tokens)

    def __repr__(self) -> str:
        return summary(type(self).__name__, self.bundle, self._resident.loaded)

    @property
    def network(self) -> PictureNetwork:
        """The network."""
        return self._resident.network

    def classify(self, pictures: Sequence[Any]) -> list[PictureClassification]:
        """The label of each picture, in order: a path of a PNG or JPEG file, or an array [H, W] or [H, W, 3].

        An array has bytes, or numbers from 0 to 1. A picture of another size or colour is brought to that of the network.
        """
        check_pictures(pictures)
        names = [f"array {n}" if not is_path(item) else os.fspath(item) for n, item in enumerate(pictures)]
        sizes: list[tuple[int, int]] = []

        def read() -> Iterator[Picture]:
            for name, item in zip(names, pictures, strict=True):
                picture = read_picture(item) if is_path(item) else picture_of_array(_plain(item), name)
                sizes.append((picture.shape[1], picture.shape[0]))
                yield self.fit(picture)

        rows = self.probabilities(read(), len(names)).tolist()
        usual = (self.pictures.width, self.pictures.height)
        return [
            PictureClassification(
                name,
                self.labels[max(range(len(values)), key=values.__getitem__)],
                dict(zip(self.labels, values, strict=True)),
                resized=None if size == usual else size,
            )
            for name, size, values in zip(names, sizes, rows, strict=True)
        ]

    def explain(self, picture: Any, **options: Any) -> Any:
        """Where the network looks at a picture, and which parts of it matter: a `PictureExplanation`."""
        assert self.explainer is not None, "load the model with `regard.load`"
        return self.explainer(self, picture, **options)

    def fit(self, picture: Picture) -> Picture:
        """The picture in the form that the network reads."""
        form = self.pictures
        return fitted(picture, form.height, form.width, form.channels, form.fit)

    def tensor(self, pictures: NDArray[np.uint8]) -> Tensor:
        """[B, C, H, W] what the network reads of fitted pictures [B, H, W, C]."""
        return pixel_tensor(pictures, self.pictures.mean, self.pictures.deviation)

    def probabilities(self, pictures: Iterable[Picture], count: int) -> NDArray[np.float64]:
        """[N, L] the probability of each label, for each of `count` pictures in the form that the network reads."""
        stream, results = iter(pictures), []
        with activity("classifying", count, "pictures") as progress:
            while several := list(islice(stream, self._at_once)):
                with self._resident.evaluating() as network:
                    pixels = self.tensor(np.stack(several)).to(self._resident.device)
                    results.append(network(pixels).double().softmax(dim=-1).cpu())
                progress.advance(len(several))
        if not results:
            return np.empty((0, len(self.labels)))
        values: NDArray[np.float64] = torch.cat(results).numpy()
        return values

    def evaluating(self) -> Any:
        """A context in which the network is in evaluation mode and this thread has it alone."""
        return self._resident.evaluating()


def is_path(item: object) -> bool:
    """Whether an input is the path of a picture, not an array."""
    return isinstance(item, str | Path)


def check_pictures(pictures: Any) -> None:
    """Refuse one picture in place of a list, and a list with something else than paths and arrays."""
    if isinstance(pictures, str | Path):
        raise InputTypeError(f"expected a list of pictures, not one picture: write [{str(pictures)[:40]!r}]")
    if not (hasattr(pictures, "__len__") and hasattr(pictures, "__getitem__")):
        raise InputTypeError(
            f"expected a list of pictures, not of type {type(pictures).__name__}: give paths or arrays"
        )
    for number, item in enumerate(pictures):
        if not is_path(item) and not hasattr(item, "shape"):
            raise InputTypeError(
                f"pictures[{number}] is of type {type(item).__name__}: give the path of a PNG or JPEG file, or an array [H, W, C]"
            )


def _plain(item: Any) -> Any:
    """An array of numpy, also of a torch tensor."""
    return item.detach().cpu().numpy() if isinstance(item, Tensor) else item
