"""Chooses the precision of training, `train.precision`: asks the processor, times a product and a block, and remembers the times.

`auto` is bfloat16 if the device multiplies in bfloat16 by itself and a block of the network trains faster in it. In a narrow network casts
take what products gain, so the block decides, not the product. Times are kept in the cache, by processor and shape.
"""

import json
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import ConfigError, RegardError
from regard.files import cache_directory, to_json, write_whole
from regard.foreign import parse_json, read_text
from regard.layers.block import Block
from regard.training.freezing import trained_parameters
from regard.training.mixed import bfloat16_copy, can_copy

FLOAT32, BFLOAT16 = "float32", "bfloat16"
ENOUGH = 1.1
"""How much faster a block must be in bfloat16: a smaller gain is within the noise of the measurement."""
NARROWEST = 128
"""The width from which bfloat16 is tried. Below it a product is not faster than its casts."""
TOKENS = (16, 32)
"""Rows and positions of a timed block."""
ROUNDS = 5
_FILE = "bfloat16.json"
_LARGEST = 1 << 20  # bytes of that file


@dataclass(frozen=True, slots=True)
class Precision:
    """The precision of a run."""

    name: str
    """float32 or bfloat16."""
    reason: str = ""
    """Why `auto` chose it; empty if the user did, or an earlier part of the run."""
    warning: str | None = None

    @property
    def shown(self) -> str:
        """`float32 (AVX2 has no bfloat16 products)`"""
        return f"{self.name} ({self.reason})" if self.reason else self.name


def choose_precision(setting: str, network: nn.Module, device: torch.device) -> Precision:
    """The precision of a new run. `setting`: auto, float32 or bfloat16."""
    if setting == FLOAT32:
        return Precision(FLOAT32)
    if setting == BFLOAT16:
        check_possible(network, device)
        return Precision(BFLOAT16, warning=emulation_warning(network, device))
    if not multiplies_bfloat16(device):
        return Precision(FLOAT32, f"{processor(device)} has no bfloat16 products")
    if device.type != "cpu":
        return Precision(BFLOAT16, f"{processor(device)} has bfloat16 products")
    block = _block(network)
    if block is None:
        return Precision(FLOAT32, "this kind of network has not been tried in bfloat16")
    width = _width(network)
    if width < NARROWEST:
        return Precision(FLOAT32, f"products of width {width} are too small to gain from bfloat16")
    ratio = _remembered(f"block of {_shapes(block)}", lambda: block_ratio(block))
    name = BFLOAT16 if ratio >= ENOUGH else FLOAT32
    return Precision(name, f"a block of width {width} trains {ratio:.2f} times as fast in bfloat16, measured here")


def check_possible(network: nn.Module, device: torch.device) -> None:
    """Refuse bfloat16 for a network that cannot compute in it on the processor."""
    if device.type == "cpu" and not can_copy(network):
        raise ConfigError(
            f"train.precision = 'bfloat16': on the CPU only Transformers with dot-product scores train in it, not "
            f"{type(network).__name__}; use auto or float32"
        )


def emulation_warning(network: nn.Module, device: torch.device) -> str | None:
    """A warning if the device has no bfloat16 products, with the slowdown to expect; None if it has."""
    if multiplies_bfloat16(device):
        return None
    width = _width(network)
    ratio = _remembered(f"product of width {width}", lambda: product_ratio(width, device)) if width else 1.0
    return (
        f"train.precision = 'bfloat16': {processor(device)} has no bfloat16 products and emulates them; a product of width {width} "
        f"takes {1.0 / ratio:.1f} times as long as in float32, and training up to as many; use auto or float32"
    )


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether the device has instructions for bfloat16 products."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    if platform.machine().lower() in ("x86_64", "amd64"):
        return bool(torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def processor(device: torch.device) -> str:
    """The kind of processor, as far as rounding depends on it: `AVX2`, `AVX512 with BF16`, or the name of a graphics card."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if device.type != "cpu":
        return device.type
    return torch.backends.cpu.get_cpu_capability() + (" with BF16" if multiplies_bfloat16(device) else "")


def product_ratio(width: int, device: torch.device, rows: int = 128) -> float:
    """The speed of a product [rows, width] [width, width] in bfloat16, float32 being 1."""
    x, weight = _noise(rows, width).to(device), _noise(width, width).to(device)
    low_x, low_weight = x.to(torch.bfloat16), weight.to(torch.bfloat16)
    return _faster(lambda: x @ weight, lambda: low_x @ low_weight)


def block_ratio(block: Block) -> float:
    """The speed of a block's forward and backward pass in bfloat16, with the cast of its weights, float32 being 1."""
    low, width = bfloat16_copy(block), _width(block)
    x = _noise(*TOKENS, width)

    def step(module: nn.Module, x: Tensor) -> None:
        x = x.detach().requires_grad_()
        torch.autograd.grad(
            module(x).float().square().sum(), [x, *trained_parameters(module).values()], allow_unused=True
        )

    def low_step() -> None:
        with torch.no_grad():
            torch._foreach_copy_(list(low.parameters()), list(block.parameters()))
        step(low, x.to(torch.bfloat16))

    return _faster(lambda: step(block, x), low_step)


def _noise(*shape: int) -> Tensor:
    """Random numbers that leave torch's generator, which decides the run, as it is."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _faster(base: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times as fast `other` is, by the best of alternating rounds on one thread: a worker has one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        best = [float("inf"), float("inf")]
        with torch.random.fork_rng(devices=[]):
            for _ in range(ROUNDS + 1):  # the first warms up
                for number, work in enumerate((base, other)):
                    began = time.perf_counter()
                    work()
                    best[number] = min(best[number], time.perf_counter() - began)
        return best[0] / best[1]
    finally:
        torch.set_num_threads(threads)


def _block(network: nn.Module) -> Block | None:
    """A block without cross-attention, which can be run alone."""
    if not can_copy(network):
        return None
    return next((module for module in network.modules() if isinstance(module, Block) and module.cross is None), None)


def _width(network: nn.Module) -> int:
    """The width of the hidden states: the narrower side of the widest matrix; 0 without any."""
    return max((min(parameter.shape) for parameter in network.parameters() if parameter.dim() == 2), default=0)


def _shapes(block: Block) -> str:
    return ", ".join("x".join(map(str, parameter.shape)) for parameter in block.parameters() if parameter.dim() == 2)


def _remembered(what: str, measure: Callable[[], float]) -> float:
    """A ratio from the cache, else measured and kept there. A cache that cannot be read or written is no reason to fail."""
    path, key = cache_directory() / _FILE, f"{_name_of_processor()}, torch {torch.__version__}: {what}"
    known = _read(path)
    if isinstance(known.get(key), float):
        return float(known[key])
    ratio = measure()
    with suppress(RegardError):
        write_whole(path, to_json({**_read(path), key: ratio}))
    return ratio


def _read(path: Path) -> dict[str, Any]:
    try:
        known = parse_json(read_text(path, _LARGEST), str(path))
    except (OSError, UnicodeDecodeError, RegardError, json.JSONDecodeError):
        return {}
    return known if isinstance(known, dict) else {}


def _name_of_processor() -> str:
    """The model of the CPU where the system tells it, and its instruction set."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return f"{model}, {processor(torch.device('cpu'))}"
