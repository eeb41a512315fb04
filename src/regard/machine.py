"""What the machine gives to this process. Every room may import this module."""

import os
from functools import cache
from pathlib import Path


def usable_cores() -> int:
    """The number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux; macOS has no such call
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def processor_vendor() -> str:
    """The maker of the processor as it names itself, such as "GenuineIntel" or "AuthenticAMD"; empty if the system does not tell."""
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            named = (line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id"))
            return next(named, "")
    except OSError:
        import platform  # Windows names the maker at the end: "AMD64 Family 25 Model 17 Stepping 1, AuthenticAMD"

        return platform.processor().rpartition(", ")[2]
