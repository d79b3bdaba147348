# SPDX-License-Identifier: BSD-3-Clause
"""/proc/PID/stat, read and made up."""

FIELDS = 52


def start_of(pid: int) -> int:
    """When a process began, in clock ticks after the node's start."""
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[19])


def stat_line(
    number: int,
    *,
    state: str = "S",
    threads: int = 1,
    start: int = 77,
    pu: int = 0,
    name: str = "a) b",
) -> str:
    """What the kernel would say of such a process or thread: its number, state, threads, start, last PU and name."""
    fields = ["0"] * FIELDS
    fields[0], fields[1], fields[2] = str(number), f"({name})", state
    fields[11], fields[13], fields[14] = "4", "150", "50"
    fields[19], fields[21], fields[38] = str(threads), str(start), str(pu)
    return " ".join(fields) + "\n"
