"""Makes the translator of a bundle, and chooses its engine. An error explains why CTranslate2 cannot be used."""

import warnings
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from regard.activity import activity
from regard.bundle.ctranslate2 import obstacle
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import Precision, automatic, measured_precisions
from regard.bundle.quantised import is_quantised
from regard.bundle.weights import verify_weights
from regard.engine.ct2 import Ct2Search
from regard.engine.fast import FastPath
from regard.engine.resident import Resident
from regard.errors import ConfigError
from regard.extras import require
from regard.tasks.checks import check_engine
from regard.tasks.translate.directions import directions_of
from regard.tasks.translate.translator import Translator
from regard.text.marked import marks_of

if TYPE_CHECKING:
    import torch

    from regard.engine.runner import Network


def make_translator(bundle: OpenBundle, device: "str | torch.device", engine: str, precision: str) -> Translator:
    """The translator of a bundle. It uses CTranslate2 if that supports the network, else torch."""
    check_engine(engine, precision)
    why = "engine = 'torch' was asked for" if engine == "torch" else _obstacle(bundle, str(device))
    if why is not None and engine == "ct2":
        raise ConfigError(f"engine = 'ct2': {why}; use torch")
    if why is not None and precision not in ("auto", "float32"):
        raise ConfigError(f"precision = {precision!r}: only CTranslate2 has it, and {why}; use float32")
    if why is not None:
        require("torch", f"{bundle.given or bundle.directory}: not with CTranslate2, because {why}; this model")
    if why is None:  # the weights are read at the first search, or never if they were converted before
        verify_weights(bundle)
    read = partial(_network, bundle, device)
    fast = None if why is not None else Ct2Search(bundle, _chosen_precision(bundle, precision))
    return Translator(
        read() if why is not None else Resident.deferred(read),
        bundle.tokenizers,
        languages=bundle.config.languages,
        alignment=bundle.config.alignment,
        reach=bundle.config.reach,
        bundle=bundle,
        fast=None if fast is None else FastPath(fast, only=engine == "ct2"),
        directions=directions_of(bundle.config, str(bundle.given or bundle.directory)),
        longest=bundle.config.longest_output,
    )


def available_precisions() -> set[str]:
    """The compute types of CTranslate2 that this processor has."""
    import ctranslate2

    return set(ctranslate2.get_supported_compute_types("cpu"))


def _chosen_precision(bundle: OpenBundle, precision: str) -> Precision:
    """The precision of a name. `auto` asks the processor and the bundle; bfloat16 that it lacks is float32, with a warning.

    Weights that are stored in 8 bits are int8.
    """
    if is_quantised(bundle.files):
        if precision == "bfloat16":
            raise ConfigError(f"precision = {precision!r}: the weights of {bundle.directory} have 8 bits; use int8")
        return "int8"
    if precision == "auto":
        measured = measured_precisions(bundle.files)
        chosen, refused = automatic(measured, available_precisions())
        if measured is None:
            warnings.warn(
                f"precision = 'auto': float32, for {bundle.directory} does not say what other precisions lose; "
                "measure it with `regard precision DIR --src F --ref F`",
                stacklevel=4,
            )
        elif chosen == "float32" and refused:
            warnings.warn(f"precision = 'auto': float32, because of {'; '.join(refused)}", stacklevel=4)
        return chosen
    if precision == "bfloat16" and precision not in available_precisions():
        warnings.warn(
            f"precision = 'bfloat16': CTranslate2 {version('ctranslate2')} does not compute in it on this processor, even one "
            "that has such products; float32 is used",
            stacklevel=4,
        )
        return "float32"
    return cast(Precision, precision)


def _obstacle(bundle: OpenBundle, device: str) -> str | None:
    """The reason why CTranslate2 cannot be used; None: it can."""
    if device != "cpu":
        return f"device = {device!r} is not the CPU"
    source, target = bundle.tokenizers.source.vocabulary.marks, bundle.tokenizers.target.vocabulary.marks
    if marks_of(bundle.tokenizers.target).begin:
        return "its outputs begin with a mark that is forced"
    if source.end != target.end:
        return f"its sources end with {source.end} and its outputs with {target.end}"
    return obstacle(bundle.config.model)


def _network(bundle: OpenBundle, device: "str | torch.device") -> "Network":
    with activity("loading the model"):
        from regard.bundle.bundle import read_network

        # every translation network of `models/` is a `Network`: the contract tests check it
        return cast("Network", read_network(bundle, device))
