# SPDX-License-Identifier: BSD-3-Clause
"""Whether memory is limited here, and which errors then say that it was short."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

# What only breaks in libraries that could not be loaded or could not start their threads.
_HALF_LOADED = (ImportError, NameError, SystemError)
_ARENA_MAX = -8  # M_ARENA_MAX of malloc.h
_NO_THREAD = ("can't start new thread", "Resource temporarily unavailable")


def is_limited() -> bool:
    """Whether the address space or a control group of this process has a limit."""
    if address_space() is not None:
        return True
    return any(limit not in ("", "max") for limit in _group_limits())


def address_space() -> int | None:
    """The limit of the address space (`ulimit -v`) in bytes."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def use_one_thread() -> None:
    """Let polars and OpenBLAS have one thread, as each takes address space; before they are imported."""
    os.environ["POLARS_MAX_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    # Glibc sets 64 MiB aside for each thread; polars starts some all the same.
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_ARENA_MAX, 1)


def was_short(error: BaseException) -> bool:
    """Whether an exception, or one that it came of, says that there was no memory."""
    seen: BaseException | None = error
    # A control group ends processes; only where addresses are limited does an allocation fail half way.
    limited = address_space() is not None
    while seen is not None:
        if isinstance(seen, MemoryError) or getattr(seen, "errno", None) == errno.ENOMEM:
            return True
        suspect = isinstance(seen, _HALF_LOADED) or type(seen).__name__ == "PanicException"
        if limited and (suspect or any(each in str(seen) for each in _NO_THREAD)):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def _group_limits() -> Iterator[str]:
    """Limits of the memory of our control group and those above, of either version."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, kinds, group = line.split(":", 2)
            if kinds and "memory" not in kinds.split(","):
                continue
            root = Path("/sys/fs/cgroup", "memory" if kinds else "")
            at = root / group.lstrip("/")
            for each in (at, *at.parents):
                if not each.is_relative_to(root):
                    break
                for name in ("memory.max", "memory.limit_in_bytes"):
                    with contextlib.suppress(OSError):
                        text = (each / name).read_text(encoding="ascii").strip()
                        # Version 1 writes the largest number of pages where there is no limit.
                        yield "max" if text.isdigit() and int(text) > 1 << 60 else text
