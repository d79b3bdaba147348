# SPDX-License-Identifier: BSD-3-Clause
"""The files that a measurement leaves: samples first, then the machine file fitted to them."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from rankwise import whole_files
from rankwise.errors import RankwiseError
from rankwise.machine.channels import channel_names
from rankwise.machine.distrusted import distrusted
from rankwise.machine.file import save
from rankwise.machine.machine import Machine, Protocol
from rankwise.machine.nodes import Node, OtherNodes
from rankwise.machine.topology import NodeTopology, Topology
from rankwise.measure import samples as sample_files
from rankwise.measure.answer_table import entries
from rankwise.measure.contact import add_contact_times
from rankwise.measure.declared import declared_limit, narrow_eager_limits
from rankwise.measure.distrust import mark_distrusted
from rankwise.measure.interrupt_core import interrupt_core
from rankwise.measure.machine_file import Findings, find, machine
from rankwise.measure.measurement import Measurement
from rankwise.measure.memories import caches, memory
from rankwise.measure.node_text import synthetic_of
from rankwise.measure.processor_time import charge_processor_time
from rankwise.measure.questions import answers as ask
from rankwise.measure.questions import progress
from rankwise.measure.questions.answer import Answer

SUFFIX = ".machine.toml"
DISTURBED = ".disturbed"  # before the suffix: a machine file that is not to be trusted
NODES_DIFFER = "each channel was measured on one pair, and is taken to cost the same on nodes of another kind"
# Devices whose drivers move data without the host's protocol stack: InfiniBand and RoCE, HPE Slingshot.
RDMA_DIRECTORIES = ("/sys/class/infiniband", "/sys/class/cxi")


@dataclass(frozen=True)
class Written:
    """Files that were written and what is in them; `path` is another than was asked for where others disturbed it."""

    samples: Path
    path: Path
    machine: Machine
    findings: Findings
    answers: list[Answer]
    sha256: str


def output_path(asked: str | None, force: bool, resume: bool = False) -> Path:
    """Where the machine file will be, made sure of before anything is measured.

    Args:
        asked: By the user.
        force: Files that exist may be replaced.
        resume: Likewise, by a measurement that goes on with them.

    Raises:
        RankwiseError: It exists, or its directory cannot be written.
    """
    path = Path(asked if asked is not None else socket.gethostname() + SUFFIX)
    option = f"-o {path}"
    if path.is_dir():
        raise RankwiseError(
            f"`{path}` is a directory", f"name a file, for example `-o {path / ('site' + SUFFIX)}`"
        )
    for each in (path, samples_path(path), disturbed_path(path)):
        whole_files.refuse_special(each)
        if each.exists() and not force and not resume:
            raise RankwiseError(
                f"`{each}` exists",
                f"`--resume` goes on with what was interrupted, `--force` replaces it; or another name than `{option}`",
            )
    if not os.access(path.parent, os.W_OK):
        reason = "cannot be written" if path.parent.is_dir() else "does not exist"
        raise RankwiseError(f"the directory `{path.parent}` {reason}", "choose another file with `-o`")
    return path


def disturbed_path(path: Path) -> Path:
    """Where `NAME.machine.toml` is written when others disturbed it: `NAME.disturbed.machine.toml`."""
    return path.with_name(path.name.removesuffix(SUFFIX).removesuffix(".toml") + DISTURBED + SUFFIX)


def samples_path(path: Path) -> Path:
    """The samples of `NAME.machine.toml` are `NAME.samples.parquet`."""
    return path.with_name(path.name.removesuffix(SUFFIX).removesuffix(".toml") + ".samples.parquet")


def write(measurement: Measurement, path: Path, anyway: bool = False) -> Written:
    """Write the samples, fit, write the machine file: under another name if others disturbed numbers of it.

    Args:
        measurement: What was measured.
        path: Of the machine file.
        anyway: Under this name, too, if numbers were disturbed.

    Raises:
        RankwiseError: There are no samples, or too few of every channel; those there are have been kept.
    """
    table = measurement.samples()
    if not len(table):
        raise RankwiseError("interrupted before anything was measured", status=130)
    launches = table["launch"].n_unique()
    kept = samples_path(path)
    sample_files.save(table, kept)
    findings = find(table, measurement.plan.missing)
    _only_known(findings, measurement)
    if not findings.channels:
        raise _nothing(findings, table, kept)
    answers = ask(table, measurement.plan, measurement.effort.quick)
    built = machine(
        findings,
        name=path.name.removesuffix(SUFFIX),
        progress=progress.verdicts(answers),
        node=_node(measurement, path),
        context={**_context(measurement), "launches": launches, "samples": kept.name},
        network_protocol=network_protocol(),
        waiting=measurement.site.waiting,
        cores_suffice=measurement.plan.cores_suffice,
    )
    links = narrow_eager_limits(built.link_classes, measurement.census.variables)
    built = msgspec.structs.replace(built, link_classes=links)
    if measurement.site.waiting == "yield":
        built = charge_processor_time(built, table)
    built = add_contact_times(built, table)
    # On emulated nodes all ranks stream through the one memory of the machine beneath, and its kernel serves them all.
    if not built.node.host_cores:
        cores, links = interrupt_core(table, measurement.plan, built.link_classes)
        fewest = min(node.cores for node in measurement.topologies.values())
        if any(each.core is not None and each.core >= fewest for each in cores):
            cores, links = [], built.link_classes
        shared = [*memory(table, built.link_classes), *caches(table, built.link_classes)]
        resources = [*built.resources, *shared, *cores]
        built = msgspec.structs.replace(built, resources=resources, link_classes=links)
    built = mark_distrusted(msgspec.structs.replace(built, answers=entries(answers)), table)
    if (known := distrusted(built)) and not anyway:
        path = disturbed_path(path)
    if known:
        built = msgspec.structs.replace(built, context={**built.context, "disturbed": ", ".join(known)})
    return Written(kept, path, built, findings, answers, save(built, path))


def _only_known(findings: Findings, measurement: Measurement) -> None:
    """Leave out channels that no node has: no prediction could use them."""
    known = channel_names(Topology(tuple(measurement.topologies.values())))
    for channel in [name for name in findings.channels if name not in known]:
        del findings.channels[channel]
        findings.missing[channel] = "none of the nodes has it"


def _nothing(findings: Findings, table: pl.DataFrame, kept: Path) -> RankwiseError:
    causes = [f"{channel}: {reason}" for channel, reason in findings.missing.items()]
    interrupted = table.select((pl.col("switches") > 0).mean()).item()
    causes.append(f"{100 * interrupted:.0f} % of {len(table)} samples were interrupted by other programs")
    return RankwiseError(
        f"no channel could be fitted; the samples are kept in `{kept}`",
        "measure while nothing else runs, or longer, for example `--budget 10min --force`",
        causes=tuple(causes),
    )


def network_protocol() -> Protocol:
    """`offloaded` if this node has an RDMA device, else the host's stack must do the work."""
    present = any(os.path.isdir(each) and os.listdir(each) for each in RDMA_DIRECTORIES)
    return "offloaded" if present else "host-processed"


def _node(measurement: Measurement, path: Path) -> Node:
    kinds: dict[NodeTopology, list[int]] = {}
    for number, node in enumerate(measurement.topologies.values()):
        kinds.setdefault(node, []).append(number)
    described = []
    for at, node in enumerate(kinds):
        text = synthetic_of(node)
        if text is not None:
            described.append({"topology": text})
            continue
        more = f".{at}" if at else ""
        xml = path.with_name(f"{path.name.removesuffix(SUFFIX)}.topology{more}.xml")
        whole_files.write(xml, measurement.site.xml(node))
        described.append({"topology_xml": xml.name})
    others = [
        OtherNodes(nodes=numbers, **words)
        for words, numbers in zip(described[1:], list(kinds.values())[1:], strict=True)
    ]
    return Node(
        count=len(measurement.topologies),
        **described[0],
        host_cores=measurement.site.host_cores(),
        others=others,
    )


def _context(measurement: Measurement) -> dict[str, str | int | float | bool]:
    about = measurement.launches[0].context
    context: dict[str, str | int | float | bool] = {
        "mpi": measurement.census.library[:200],
        "command": about["command"],
        "date": about["date"],
        "rankwise": about["rankwise"],
        "hosts": ", ".join(measurement.topologies),
        "processor": about["processor"],
        "ranks": measurement.census.world,
        "load_before": measurement.census.ranks.get(0, {}).get("load", ""),
        "overheads": "post-work-wait (measure/tests/overhead.c)",
        "gap": "PRTT(n,s), n = 40 (measure/tests/stream.c)",
        "eager_limit": "sends that end before their receive is posted (measure/tests/eager.c)",
        "buffers": "reused: the same send and receive buffer for every message",
        "complete": not measurement.interrupted,
    }
    if (rate := measurement.site.lab_rate_bytes_per_s) is not None:
        context["lab_rate_bytes_per_s"] = rate
    if (others := measurement.others()) is not None:
        context["others_share"] = round(others, 3)
    if left_out := measurement.left_out():
        context["left_out"] = ", ".join(left_out)
    if measurement.unbound:
        context["unbound_ranks"] = len(measurement.unbound)
    if len({node.sha256 for node in measurement.topologies.values()}) > 1:
        context["nodes_differ"] = NODES_DIFFER
    if measurement.assumed_hosts:
        context["topology_assumed_for"] = ", ".join(measurement.assumed_hosts)
    for channel, pair in measurement.plan.pairs.items():
        if limit := declared_limit(measurement.census.variables, channel):
            context[f"{channel}_eager_limit_declared"] = f"{limit[1]} bytes ({limit[0]})"
        ends = [
            f"rank {e.rank} on {e.host} core {e.core} (OS {e.pu})" for e in (pair.source, pair.destination)
        ]
        context[f"{channel}_pair"] = " and ".join(ends)
    return context
