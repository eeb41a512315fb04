"""`ConvertedModel`: a bundle as CTranslate2 runs it, converted and opened at the first use. It survives a fork. No torch."""

import os
import re
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

from regard.bundle.ct2_alignment import AttendedHeads
from regard.bundle.ctranslate2 import converted
from regard.bundle.opened import OpenBundle
from regard.bundle.precision import Precision
from regard.errors import EngineError, RegardError, ResourceError, is_out_of_memory

if TYPE_CHECKING:
    import ctranslate2

# too many threads, or too many open files: the model's files were checked a moment ago
_EXHAUSTED = re.compile(r"temporarily unavailable|can't start new thread|unable to open file", re.IGNORECASE)
_MODELS: "weakref.WeakSet[ConvertedModel]" = weakref.WeakSet()
_LEFT_BY_FORK: "list[ctranslate2.Translator]" = []


class ConvertedModel:
    """A converted bundle with some workers of one thread each."""

    def __init__(
        self, bundle: OpenBundle, precision: Precision, workers: int, shown: AttendedHeads | None = None
    ) -> None:
        """shown: the heads whose attention it shows, by default those by which the bundle aligns."""
        self._shown = shown
        self._bundle, self._precision, self._workers = bundle, precision, workers
        self._opening = threading.Lock()
        self.turn = threading.Lock()
        """The lock of searches that take turns."""
        _MODELS.add(self)

    @property
    def translator(self) -> "ctranslate2.Translator":
        """The opened model."""
        with self._opening:
            return self._opened

    @cached_property
    def _opened(self) -> "ctranslate2.Translator":
        import ctranslate2

        with ExitStack() as lock:  # nobody prunes the model before it is open
            model = str(converted(self._bundle, self._precision, lock, self._shown))
            try:
                # it sets OpenMP's number of threads, which torch uses too, where it is made
                with ThreadPoolExecutor(1) as thread:
                    return thread.submit(
                        ctranslate2.Translator,
                        model,
                        device="cpu",
                        compute_type=self._precision,
                        inter_threads=self._workers,
                        intra_threads=1,
                    ).result()
            except (RuntimeError, MemoryError) as error:
                raise _opening_error(model, error) from None

    def reopen_after_fork(self) -> None:
        """Open the translator anew at the next search: a forked process has none of its threads."""
        self._opening, self.turn = threading.Lock(), threading.Lock()
        if "_opened" in self.__dict__:
            _LEFT_BY_FORK.append(self.__dict__.pop("_opened"))  # its destructor would wait for those threads for ever


def _opening_error(model: str, error: Exception) -> RegardError:
    """The error of a converted model that cannot be opened: the machine is the cause, or the model and CTranslate2 do not fit."""
    reason = (str(error).splitlines() or ["out of memory"])[0]
    if is_out_of_memory(error) or _EXHAUSTED.search(reason):
        return ResourceError(
            f"{model}: CTranslate2 cannot open it now: {reason}; free some memory or raise the limits (`ulimit -a`), "
            "or use the torch engine"
        )
    return EngineError(f"{model}: CTranslate2 cannot open it: {reason}; delete it, or use the torch engine")


def _after_fork() -> None:
    for model in list(_MODELS):
        model.reopen_after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_after_fork)
