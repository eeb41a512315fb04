"""From a directory to a translator. It finds, verifies and opens the bundle through `bundle/`, and chooses the engine."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from regard.bundle.ctranslate2 import PRECISIONS, Precision, obstacle
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle, open_bundle
from regard.engine.ct2 import Ct2Search
from regard.engine.fast import FastPath
from regard.engine.model import Model, Unread
from regard.errors import ConfigError

if TYPE_CHECKING:
    import torch

    from regard.engine.runner import Network

Engine = Literal["auto", "torch", "ct2"]
ENGINES: tuple[Engine, ...] = get_args(Engine)


def load(
    path: "str | Path", device: "str | torch.device" = "cpu", engine: Engine = "auto", precision: Precision = "float32"
) -> Model:
    """The model of a bundle, or of a run: its best checkpoint, else its latest.

    `engine`: `torch` does everything; `ct2` is CTranslate2, which translates several times faster on a CPU, and what it cannot do is an
    error; `auto` is `ct2` for what it can do and `torch` for the rest. `precision`: of CTranslate2's weights, float32 or int8.
    """
    if engine not in ENGINES:
        raise ConfigError(f"engine = {engine!r}: not one of {', '.join(ENGINES)}")
    if precision not in PRECISIONS:
        raise ConfigError(f"precision = {precision!r}: not one of {', '.join(PRECISIONS)}")
    bundle = open_bundle(find_bundle(path))
    why = "engine = 'torch' was asked for" if engine == "torch" else _obstacle(bundle, str(device))
    if why is not None and engine == "ct2":
        raise ConfigError(f"engine = 'ct2': {why}; use torch")
    if why is not None and precision != "float32":
        raise ConfigError(f"precision = {precision!r}: only CTranslate2 has it, and {why}; use float32")
    read = partial(_network, bundle, device)
    return Model(
        read() if why is not None else Unread(read),
        bundle.tokenizers,
        languages=bundle.config.languages,
        alignment=bundle.config.alignment,
        reach=bundle.config.reach,
        bundle=bundle,
        fast=None if why is not None else FastPath(Ct2Search(bundle, precision), only=engine == "ct2"),
    )


def _obstacle(bundle: OpenBundle, device: str) -> str | None:
    """Why CTranslate2 cannot be used; None: it can."""
    if device != "cpu":
        return f"device = {device!r} is not the CPU"
    return obstacle(bundle.config.model)


def _network(bundle: OpenBundle, device: "str | torch.device") -> "Network":
    from regard.bundle.bundle import read_network

    # every network of `models/` is one; a contract suite holds them to it
    return cast("Network", read_network(bundle, device))
