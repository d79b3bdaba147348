# SPDX-License-Identifier: BSD-3-Clause
"""Turn the list of MPI functions into the macros from which shim and wrappers are made.

Usage: generate.py formats/mpi_calls.txt > calls_generated.h

For every function: its number RW_CALL_Name, RW_PARAMETER_COUNT_Name, RW_PARAMETERS_Name and RW_ARGUMENTS_Name, and
RW_WAITS_Name, which is 1 if it may last until others do something. For every class of function a list macro
RW_CALLS_class(X), and RW_CALLS(X) for all, with X(name, number, base, large, parameters): `base` is the blocking
function that takes the same data arguments (Bcast for Ibcast, Bcast_init and Ibcast_c; Put for Rput), `large` is 1
where counts are MPI_Count. Some functions of the classes "rma", "partitioned", "comm" and "other" have a finer class
here. RW_CALLS_on_communicator(X) are those that take communicators; RW_TRANSLATED_ARGUMENTS_Name are their neutral
arguments with RW_OTHER() around these.
"""

import re
import sys
import zlib
from pathlib import Path

# Classes without wrappers of their own: passed through, counted and timed.
GENERIC = ("other", "rma", "io", "partitioned")

# Wrapped on their own, though a trace knows them by a wider class only (formats/recording.h).
FINER = {
    "spawn": r"comm_spawn(_multiple)?",
    "transfer": r"R?(put|get|accumulate|get_accumulate)|fetch_and_op|compare_and_swap",
    "win_free": r"win_free",
    "psend_init": r"psend_init",
    "precv_init": r"precv_init",
    "pready": r"pready(_range|_list)?",
    "pcontrol": r"pcontrol",
    "get_status": r"request_get_status",
}
# Of a variadic function's arguments (MPI_Pcontrol), those that come in registers with one before them.
VARIADIC = ", ".join(f"void *argument_{number}" for number in range(1, 6))


def finer(name: str, kind: str) -> str:
    """The class that decides about the wrapper."""
    if kind not in ("rma", "partitioned", "comm", "other"):
        return kind
    found = [
        c for c, pattern in FINER.items() if re.fullmatch(pattern, name.removesuffix("_c"), re.IGNORECASE)
    ]
    return found[0] if found else kind


# What does not wait for anybody; of the classes "other" only what is named.
NEVER_WAITS = (
    "isend", "irecv", "isendrecv", "icollective", "send_init", "recv_init", "collective_init", "start", "cancel",
    "request_free", "type_free", "abort", "transfer", "psend_init", "precv_init", "pready",
)  # fmt: skip


def waits(name: str, kind: str) -> bool:
    """Whether a call may last until another process does something, or a file system."""
    if kind in NEVER_WAITS or name.startswith(("Test", "Iprobe", "Improbe", "Parrived", "Win_test")):
        return False
    if kind == "other":
        return name.startswith(
            ("Buffer_detach", "Comm_disconnect", "Comm_flush", "Buffer_flush", "Open_port")
        )
    return True


def base_of(name: str, kind: str) -> str:
    """The blocking function with the same data arguments."""
    name = name.removesuffix("_c")
    if kind in ("icollective", "isend", "irecv", "isendrecv"):
        name = name[1:].capitalize()
    if kind == "transfer":
        name = re.sub(r"^R(?=[a-z])", "", name).capitalize()
    return name.removesuffix("_init") if kind.endswith("_init") else name


def arguments_of(parameters: str) -> list[str]:
    """The parameters' names; none for (void)."""
    inside = parameters.strip()[1:-1]
    if inside == "void":
        return []
    return [re.search(r"(\w+)\s*(\[\d*\])*$", part.strip()).group(1) for part in inside.split(",")]


def translated(parameters: str) -> str | None:
    """The neutral arguments with RW_OTHER() around communicators; None if there are none."""
    kinds = [part.strip() for part in parameters.strip()[1:-1].split(",")]
    found = [re.fullmatch(r"MPI_Comm \w+", kind) for kind in kinds]
    names = [f"RW_OTHER(a{at})" if is_comm else f"a{at}" for at, is_comm in enumerate(found)]
    return ", ".join(names) if any(found) else None


def main() -> None:
    """Print the header."""
    text = Path(sys.argv[1]).read_bytes()
    lists: dict[str, list[str]] = {"": []}
    print("/* SPDX-License-Identifier: BSD-3-Clause */")
    print("/* Generated from formats/mpi_calls.txt by record/generate.py. */")
    print("#ifndef RANKWISE_CALLS_GENERATED_H\n#define RANKWISE_CALLS_GENERATED_H")
    for number, line in enumerate(text.decode().splitlines()):
        function, kind, parameters = line.split("\t")
        name = function.removeprefix("MPI_")
        kind = finer(name, kind)
        parameters = parameters.replace("...", VARIADIC)
        arguments = arguments_of(parameters)
        large = int(name.endswith("_c"))
        entry = f"X({name}, {number}, {base_of(name, kind)}, {large}, {len(arguments)})"
        lists[""].append(entry)
        lists.setdefault("generic" if kind in GENERIC else kind, []).append(entry)
        if others := translated(parameters):
            lists.setdefault("on_communicator", []).append(entry)
            print(f"#define RW_TRANSLATED_ARGUMENTS_{name} {others}")
        print(f"#define RW_CALL_{name} {number}")
        print(f"#define RW_PARAMETER_COUNT_{name} {len(arguments)}")
        print(f"#define RW_WAITS_{name} {int(waits(name, kind))}")
        if kind not in GENERIC:
            print(f"#define RW_PARAMETERS_{name} {parameters.strip()[1:-1]}")
            print(f"#define RW_ARGUMENTS_{name} {', '.join(arguments)}")
    print(f"#define RW_CALL_COUNT {len(lists[''])}")
    print(f"#define RW_CALL_LIST_CRC {zlib.crc32(text):#x}u")
    for kind, entries in lists.items():
        print(f"#define RW_CALLS{'_' * bool(kind)}{kind}(X) \\\n    " + " \\\n    ".join(entries))
    most = max(int(entry.rsplit(", ", 1)[1][:-1]) for entry in lists[""])
    for count in range(most + 1):
        names = [f"a{i}" for i in range(count)]
        print(f"#define RW_NEUTRAL_TYPES_{count} {', '.join(['intptr_t'] * count) or 'void'}")
        print(f"#define RW_NEUTRAL_PARAMETERS_{count} {', '.join('intptr_t ' + n for n in names) or 'void'}")
        print(f"#define RW_NEUTRAL_ARGUMENTS_{count} {', '.join(names)}")
    print("#endif")


main()
