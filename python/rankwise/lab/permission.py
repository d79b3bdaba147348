# SPDX-License-Identifier: BSD-3-Clause
"""Whether this user may make namespaces here, found out in a child before anything is created."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rankwise.errors import RankwiseError
from rankwise.lab import syscalls

# Settings that forbid user namespaces to users: file, and the value that forbids.
_SETTINGS = {
    "/proc/sys/kernel/unprivileged_userns_clone": ("0", "kernel.unprivileged_userns_clone=1"),
    "/proc/sys/user/max_user_namespaces": ("0", "user.max_user_namespaces=10000"),
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
}


def needs_user_namespace() -> bool:
    """Whether namespaces can only be had through a user namespace; raises if not even so.

    A child tries, since the answer depends on the kernel, its settings and the container around.
    """
    if not sys.platform.startswith("linux"):
        raise RankwiseError(f"the lab is made of Linux namespaces, which `{sys.platform}` does not have")
    direct = _failure(user_namespace=False)
    if direct is None:
        return False
    reason = _failure(user_namespace=True)
    if reason is None:
        return True
    causes, settings = [f"the kernel said: {reason}"], []
    for path, (forbids, setting) in _SETTINGS.items():
        if os.path.exists(path) and Path(path).read_text().strip() == forbids:
            causes.append(f"`{path}` is {forbids}")
            settings.append(setting)
    hint = f"as root: `sysctl -w {settings[0]}`" if settings else "run it as root, or outside the container"
    raise RankwiseError("this user may not make network namespaces here", hint=hint, causes=tuple(causes))


def _failure(user_namespace: bool) -> str | None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            flags = (
                syscalls.CLONE_NEWNET | syscalls.CLONE_NEWNS | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWPID
            )
            if user_namespace:
                user = os.geteuid()
                syscalls.unshare(syscalls.CLONE_NEWUSER)
                Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            syscalls.unshare(flags)
            syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        except OSError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read().decode()
    os.waitpid(child, 0)
    return answer or None
