# SPDX-License-Identifier: BSD-3-Clause
"""A node's topology as the recorder saves it."""

import io
import tarfile
from pathlib import Path


def save_topology(path: Path, packages: tuple[int, ...] = (0, 0, 1, 1)) -> None:
    """The files of a node whose PU i is a core of package packages[i], as the recorder saves them."""
    text = {
        f"sys/devices/system/cpu/{name}": f"0-{len(packages) - 1}"
        for name in ("online", "possible", "present")
    }
    for pu, package in enumerate(packages):
        folder = f"sys/devices/system/cpu/cpu{pu}/topology"
        siblings = sum(1 << other for other, its in enumerate(packages) if its == package)
        text |= {f"{folder}/physical_package_id": str(package), f"{folder}/core_id": str(pu)}
        text |= {f"{folder}/{name}": f"{1 << pu:08x}" for name in ("core_cpus", "thread_siblings")}
        text |= {f"{folder}/{name}": f"{siblings:08x}" for name in ("package_cpus", "core_siblings")}
    with tarfile.open(path, "w") as archive:
        for name, content in text.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content) + 1
            archive.addfile(entry, io.BytesIO(f"{content}\n".encode()))
