"""Keeps glibc from handing big blocks back to the kernel between two steps, where it would only fetch them again."""

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_LARGE = 2**30


def keep_large_blocks() -> None:
    """Tell malloc so; where there is no glibc, nothing happens."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_TRIM_THRESHOLD, _LARGE)
        mallopt(_TOP_PAD, 2**26)
