# SPDX-License-Identifier: BSD-3-Clause
"""recording.json: how a recording was made. Schema: formats/recording.schema.json."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from rankwise import regular_files
from rankwise.errors import RankwiseError
from rankwise.record.usage import Usage
from rankwise.whole_files import replacing

FILE_NAME = "recording.json"
# To the end of the year 9999.
_Date = Annotated[float, msgspec.Meta(ge=0, lt=253402300800)]


class LauncherUsed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The launcher; `kind` as in `rankwise.launchers.line.Launcher`."""

    kind: str
    vendor: str
    version: str | None
    path: str | None


class MpiFound(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was known of the program's MPI before it ran; null where only the run could tell."""

    flavour: Literal["mpich", "openmpi", "standard_abi"] | None
    library: str | None
    path: str | None
    reason: str


class Generated(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a recording is of that no program left behind (`rankwise workloads --trace`).

    Attributes:
        workload: Its name.
        problem_class: Null where it has none.
        options: Values of its options, where they are not the usual ones.
        iterations: Of its timed section.
        machine: Name of the machine that it was replayed on.
        operations_per_s: Floating-point operations a second of a core.
        computation: Share of the original's operations.
        library: Whose collective algorithms, `mpich` or `openmpi`.
        nodes: Topology of each node, by its name.
    """

    workload: str
    problem_class: str | None
    options: dict[str, str]
    iterations: int
    machine: str
    operations_per_s: float
    computation: float
    library: str
    nodes: dict[str, dict[str, Any]]

    def __str__(self) -> str:
        problem_class = f"class {self.problem_class}" if self.problem_class else ""
        options = (f"--{name} {value}" for name, value in self.options.items())
        what = " ".join(filter(None, (self.workload, problem_class, *options)))
        share = "" if self.computation == 1 else f", {self.computation:g} of the original's"
        return f"{what} on {self.machine}, {self.operations_per_s / 1e9:g} Gf a core{share}"


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One recording. Written when it starts with `end_s` null, and again when the launcher has ended.

    Attributes:
        schema: Name and version of this format.
        rankwise: Version that recorded.
        command: The launch line as typed.
        directory: Working directory.
        host: Where the launcher ran.
        ranks: As the launch line says, null if it leaves that to the launcher.
        programs: The executables.
        launcher: What launched it.
        mpi: The MPI, as far as known before the run.
        trace: Whether a trace was asked for.
        job: Number of the batch job.
        start_s: Seconds since 1970, UTC.
        end_s: Null while it runs, and for ever if `rankwise record` was killed.
        exit_status: Of the launcher; 128 + signal if a signal ended it.
        signal: Number of that signal.
        lab: The emulated cluster it ran in (`rankwise.lab.state.Lab`), null outside a lab.
        usage: What processors and sleeps did to it there, by which it is valid or not; null where that is not known.
        placement: Where the ranks were put in the lab, as in formats/placement.schema.json.
        settings: Variables that change what MPI and its network do, of the environment and the launch line.
        run: Identity of the run, 32 hexadecimal digits, which its ranks write too; null before 0.2.
        asked_to_end: Signal by which `rankwise record` was asked to end, null if none; `told_to_end` in the file.
        generated: What it is of, if nothing ran: all times are those of a replay; null where something ran.
        locked: Whether others are kept from recording into the directory; false where its file system has no locks.
    """

    schema: Literal["rankwise.recording/1"] = "rankwise.recording/1"
    rankwise: str
    command: list[str]
    directory: str
    host: str
    ranks: int | None
    programs: list[str]
    launcher: LauncherUsed
    mpi: MpiFound
    trace: bool
    job: str | None
    start_s: _Date
    end_s: _Date | None = None
    exit_status: int | None = None
    signal: int | None = None
    lab: dict[str, Any] | None = None
    placement: dict[str, Any] | None = None
    usage: Usage | None = None
    settings: dict[str, str] = {}
    run: str | None = None
    asked_to_end: int | None = msgspec.field(default=None, name="told_to_end")
    generated: Generated | None = None
    locked: bool = True


def generated_from(run: dict[str, Any] | None) -> str | None:
    """What a recording was generated from and on what, of what its recording.json holds; `None` if something ran."""
    found = (run or {}).get("generated")
    return str(msgspec.convert(found, Generated)) if found else None


def is_generated(directory: Path) -> bool:
    """Whether recording.json says that no program ran."""
    try:
        found = read(directory)
    except RankwiseError:
        return False
    return found is not None and found.generated is not None


def json_schema() -> dict[str, Any]:
    """JSON schema of recording.json, as kept in formats/recording.schema.json."""
    return msgspec.json.schema(Manifest)


def write(manifest: Manifest, directory: Path) -> None:
    """Write recording.json by rename."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
    with replacing(directory / FILE_NAME) as scratch:
        scratch.write_bytes(text)


def read(directory: Path) -> Manifest | None:
    """Read recording.json; `None` if there is none (the recorder was started without `rankwise record`).

    Raises:
        RankwiseError: It cannot be read, or is not what formats/recording.schema.json says.
    """
    path = directory / FILE_NAME
    try:
        return msgspec.json.decode(regular_files.read_bytes(path), type=Manifest)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, UnicodeDecodeError, OSError, RecursionError) as error:
        reason = str(error).replace("\n", " ")
        raise RankwiseError(
            f"`{path}` says nothing of how the program was run: {reason}",
            "what the ranks recorded is not in it: remove it, and read the rest",
        ) from None
