"""What the machine gives to this process. Every room may import this module."""

import os


def usable_cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux; macOS has no such call
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
