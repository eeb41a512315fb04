"""Tunes glibc's malloc: large blocks stay with the process between steps instead of going back to the kernel."""

import ctypes
import sys

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_LARGE = 2**30


def keep_large_blocks() -> None:
    """Set the thresholds with `mallopt`. Does nothing without glibc."""
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGE)
        mallopt(_TRIM_THRESHOLD, _LARGE)
        mallopt(_TOP_PAD, 2**26)
