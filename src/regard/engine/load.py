"""From a directory to what its model does: translate, generate or classify. It finds, verifies and opens the bundle through `bundle/`,
and chooses the engine. `regard.load` (`translator.py`) is the same `load_as` for translators that explain.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, cast, get_args

from regard.bundle.config import Task
from regard.bundle.ctranslate2 import PRECISIONS, Precision, obstacle
from regard.bundle.locate import find_bundle
from regard.bundle.opened import OpenBundle, open_bundle
from regard.engine.ct2 import Ct2Search
from regard.engine.fast import FastPath
from regard.engine.model import Model, Unread
from regard.errors import BundleError, ConfigError

if TYPE_CHECKING:
    import torch

    from regard.engine.labeller import Labeller
    from regard.engine.runner import Network
    from regard.engine.tagger import Tagger
    from regard.engine.writer import Writer

ModelT = TypeVar("ModelT", bound=Model)

Engine = Literal["auto", "torch", "ct2"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
FITTING: dict[Task, str] = {
    "translate": "use `regard translate`, or score and evaluate with sources",
    "generate": "use `regard generate`, or score and evaluate with --text",
    "classify": "use `regard classify`, or evaluate with --data",
}


def load(
    path: "str | Path", device: "str | torch.device" = "cpu", engine: Engine = "auto", precision: Precision = "float32"
) -> "Model | Writer | Labeller | Tagger":
    """The model of a bundle, or of a run: its best checkpoint, else its latest.

    A `Model` translates, a `Writer` generates, a `Labeller` classifies texts and a `Tagger` their words.
    The engine and its precision are as `load_translator` says; what generates or classifies runs on torch.
    """
    return load_as(Model, path, device, engine, precision)


def load_as(
    kind: type[ModelT], path: "str | Path", device: "str | torch.device", engine: Engine, precision: Precision
) -> "ModelT | Writer | Labeller | Tagger":
    """`load`, where what translates is a kind of `Model` that can do more."""
    bundle = open_bundle(find_bundle(path))
    if bundle.config.task == "translate":
        return _translator(kind, bundle, device, engine, precision)
    _check(engine, precision)
    if engine == "ct2" or precision != "float32":
        raise ConfigError(
            f"engine = {engine!r}, precision = {precision!r}: what generates or classifies text runs on torch, in float32; leave them out"
        )
    return _writer(bundle, device) if bundle.config.task == "generate" else _labeller(bundle, device)


def load_translator(
    path: "str | Path", device: "str | torch.device" = "cpu", engine: Engine = "auto", precision: Precision = "float32"
) -> Model:
    """What translates, of a bundle or a run: its best checkpoint, else its latest.

    `engine`: `torch` does everything; `ct2` is CTranslate2, which translates several times faster on a CPU, and what it cannot do is an
    error; `auto` is `ct2` for what it can do and `torch` for the rest. `precision`: of CTranslate2's weights, float32 or int8.
    """
    return _translator(Model, _opened_for("translate", path), device, engine, precision)


def load_writer(path: "str | Path", device: "str | torch.device" = "cpu") -> "Writer":
    """What generates text, of a bundle or a run: its best checkpoint, else its latest."""
    return _writer(_opened_for("generate", path), device)


def load_labeller(path: "str | Path", device: "str | torch.device" = "cpu") -> "Labeller | Tagger":
    """What classifies texts or their words, of a bundle or a run: its best checkpoint, else its latest."""
    return _labeller(_opened_for("classify", path), device)


def _opened_for(task: Task, path: "str | Path") -> OpenBundle:
    bundle = open_bundle(find_bundle(path))
    if bundle.config.task != task:
        raise BundleError(
            f"{bundle.directory}: its task is to {bundle.config.task}, not to {task}; {FITTING[bundle.config.task]}"
        )
    return bundle


def _writer(bundle: OpenBundle, device: "str | torch.device") -> "Writer":
    from regard.bundle.bundle import read_network
    from regard.engine.writer import LanguageNetwork, Writer

    assert bundle.config.texts is not None
    network = cast(LanguageNetwork, read_network(bundle, device))
    return Writer(network, bundle.tokenizers.target, bundle.config.texts, bundle)


def _labeller(bundle: OpenBundle, device: "str | torch.device") -> "Labeller | Tagger":
    from regard.bundle.bundle import read_network
    from regard.engine.labeller import Labeller, LabelNetwork
    from regard.engine.tagger import Tagger

    config, network = bundle.config, cast(LabelNetwork, read_network(bundle, device))
    made = Tagger if config.labels_of == "token" else Labeller
    return made(network, bundle.tokenizers.source, config.labels, reach=config.reach, bundle=bundle)


def _check(engine: Engine, precision: Precision) -> None:
    if engine not in ENGINES:
        raise ConfigError(f"engine = {engine!r}: not one of {', '.join(ENGINES)}")
    if precision not in PRECISIONS:
        raise ConfigError(f"precision = {precision!r}: not one of {', '.join(PRECISIONS)}")


def _translator(
    kind: type[ModelT], bundle: OpenBundle, device: "str | torch.device", engine: Engine, precision: Precision
) -> ModelT:
    _check(engine, precision)
    why = "engine = 'torch' was asked for" if engine == "torch" else _obstacle(bundle, str(device))
    if why is not None and engine == "ct2":
        raise ConfigError(f"engine = 'ct2': {why}; use torch")
    if why is not None and precision != "float32":
        raise ConfigError(f"precision = {precision!r}: only CTranslate2 has it, and {why}; use float32")
    read = partial(_network, bundle, device)
    return kind(
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
