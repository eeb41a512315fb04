"""Packages that only an extra of regard installs, and the error of one that is missing: it has the command that installs it.

Every room may import this module. The base install translates, scores and evaluates without any of them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from regard.errors import RegardError

EXTRA_OF = {
    "torch": "train",
    "jaxtyping": "train",
    "matplotlib": "figures",
    "PIL": "images",
    "statsforecast": "forecast",
    "pyarrow": "parquet",
    "cvxpy": "lab",
    "huggingface_hub": "hub",
    "rouge_score": "rouge",
    "lingua": "lingua",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "tensorboard": "tensorboard",
    "fastapi": "serve",
    "uvicorn": "serve",
    "prometheus_client": "serve",
    "python_multipart": "serve",
    "lxml": "documents",
    "markdown_it": "documents",
}
"""Module -> the extra in pyproject.toml that installs it."""


class MissingPackageError(RegardError):
    """A package of an extra that is not installed."""


def is_installed(module: str) -> bool:
    """Whether a module can be found. It is not imported."""
    return find_spec(module) is not None


def install_command(module: str) -> str:
    """The command that installs a module: `pip install "regard[train]"`. Quotes keep shells from reading the brackets."""
    return f'pip install "regard[{EXTRA_OF[module]}]"'


def missing(what: str, module: str) -> MissingPackageError:
    """The error of something that needs a module which is not installed. what: such as "regard train"."""
    return MissingPackageError(f"{what} needs {module}, which is not installed; {install_command(module)}")


def require(module: str, what: str) -> None:
    """Refuse to begin `what` without a module."""
    if not is_installed(module):
        raise missing(what, module)


def missing_module(error: BaseException) -> str | None:
    """The module of an extra whose import failed because it is not installed; None: the error is another one."""
    name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    return name if name in EXTRA_OF and not is_installed(name) else None


@contextmanager
def needing(what: str) -> Iterator[None]:
    """Turn the failed import of such a module, somewhere in the block, into a `MissingPackageError`."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = missing_module(error)
        if module is None:
            raise
        raise missing(what, module) from None
