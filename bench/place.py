# SPDX-License-Identifier: BSD-3-Clause
"""Cost of placing graphs on a hierarchy, beside simple placements, an exhaustive box tiling and mapping tools.

Usage: bench/place.py [--cases halo3d:65536 cg:4096:6:4:2 ...] [--quick] [--keep DIR] [--json]

A case is PATTERN:RANKS[:CORES:...], the last numbers being the parts of a node (default 8:4:2). Distances: 1:3:10:50.
Costs (sum of weight x distance over the edges) and the weight of the busiest node are relative to blocked; CPU seconds
and memory are those of a whole process, reading the graph included. Tools are taken from PATH (`scotch_gmap` and
`scotch_gcv` or `gcv`, `gpmetis`) and from Python (`kahip`). A `*` marks maps that put several ranks on one core; these
ranks are moved to the free cores that follow before they are scored.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from place_graphs import PATTERNS, compressed, shape_of
from rankwise._core.placement import Graph, Mapping

DISTANCES = (1, 3, 10, 50)
SIXTY_FOUR = {
    "halo2d": (4096, 16384, 65536, 262144),
    "halo3d": (4096, 16384, 65536, 262144),
    "halo3da": (16384,),
    "cg": (4096, 16384, 65536),
    "mg": (4096, 16384, 65536),
    "ft": (1024, 4096),
    "rgg": (4096, 65536, 262144),
    "rggkd": (65536,),
    "plaw": (4096, 65536),
}
FORTY_EIGHT = {
    "halo2d": (4096,),
    "halo3d": (4096, 13824, 65536),
    "cg": (4096,),
    "mg": (4096,),
    "ft": (4096,),
    "rgg": (4096,),
}
WHOLE = [
    *(f"{name}:{ranks}" for name, each in SIXTY_FOUR.items() for ranks in each),
    *(f"{name}:{ranks}:6:4:2" for name, each in FORTY_EIGHT.items() for ranks in each),
]
QUICK = [case for case in WHOLE if int(case.split(":")[1]) <= 4096]
TOOL_LIMIT_S = 300


class Case:
    """A graph with its file, and the machine."""

    def __init__(self, text: str, folder: Path):
        name, ranks, *node = text.split(":")
        self.text, self.name, self.ranks = text, name, int(ranks)
        self.node = [int(word) for word in node] or [8, 4, 2]
        self.parts = [*self.node, -(-self.ranks // math.prod(self.node))]
        self.distances = [*DISTANCES[: len(self.node)], DISTANCES[-1]]
        self.rows = compressed(self.ranks, PATTERNS[name](self.ranks))
        self.graph = Graph(*self.rows)
        self.mapping = Mapping(self.graph, self.parts, self.distances)
        self.file = folder / f"{name}-{ranks}.graph"
        if not self.file.exists():
            self._write()

    def _write(self) -> None:
        offsets, neighbour, weight = self.rows
        words = np.stack([neighbour + 1, weight], axis=1).astype(str)
        pairs = [" ".join(pair) for pair in words.tolist()]
        lines = (" ".join(pairs[a:b]) for a, b in itertools.pairwise(offsets.tolist()))
        self.file.write_text(f"{self.ranks} {self.graph.edges} 001\n" + "\n".join(lines) + "\n")

    @property
    def cores(self) -> int:
        """Cores of the machine."""
        return math.prod(self.parts)

    def one_a_core(self, core: np.ndarray) -> tuple[np.ndarray, bool]:
        """The map with a core of its own for each rank, and whether it was that already."""
        core = np.asarray(core, dtype=np.int64).copy()
        order = np.argsort(core, kind="stable")
        twice = order[1:][core[order][1:] == core[order][:-1]]
        if len(twice) == 0:
            return core, True
        free = np.setdiff1d(np.arange(self.cores), core)
        for rank in twice:  # the next free core, which is likely to be near
            at = min(int(np.searchsorted(free, core[rank])), len(free) - 1)
            core[rank], free = free[at], np.delete(free, at)
        return core, False


# Started from a small process: the most memory of a child counts that of the process it was forked from.
_MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=float(sys.argv[1]))
used = resource.getrusage(resource.RUSAGE_CHILDREN)
said = done.stderr.decode(errors="replace").strip()
print(json.dumps([done.returncode, said[-200:], used.ru_utime + used.ru_stime, used.ru_maxrss * 1024]))
"""


def measured(words: list[str], folder: Path) -> tuple[float, int]:
    """Run a program; its CPU seconds and most memory in bytes.

    Raises:
        RuntimeError: It failed, or took longer than the limit.
    """
    environment = os.environ | {"SCOTCH_PTHREAD_NUMBER": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-S", "-c", _MEASURE, str(TOOL_LIMIT_S), *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"longer than {TOOL_LIMIT_S} s, or not found")
    status, said, cpu_s, memory = json.loads(done.stdout)
    if status != 0:
        raise RuntimeError(said.splitlines()[-1] if said else f"status {status}")
    return cpu_s, memory


def rankwise(case: Case, folder: Path) -> tuple[np.ndarray, float, int]:
    """What is measured here."""
    hierarchy, distances = (":".join(map(str, each)) for each in (case.parts, case.distances))
    words = [sys.executable, "-m", "rankwise", "place", "--graph", str(case.file), "--hierarchy", hierarchy]
    cost = measured([*words, "--distances", distances, "-o", "own.cores", "--force", "-q"], folder)
    return np.loadtxt(folder / "own.cores", dtype=np.int64), *cost


def scotch(case: Case, folder: Path) -> tuple[np.ndarray, float, int]:
    """Scotch on a tree whose link costs add up to the distances."""
    convert = shutil.which("scotch_gcv") or "gcv"
    subprocess.run(
        [convert, "-ic", "-os", str(case.file), "own.grf"], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    steps = np.diff([0, *case.distances])
    tree = " ".join(
        f"{part} {step:g}" for part, step in zip(reversed(case.parts), reversed(steps), strict=True)
    )
    (folder / "own.tgt").write_text(f"tleaf {len(case.parts)} {tree}\n")
    cost = measured([shutil.which("scotch_gmap") or "gmap", "-cb", "own.grf", "own.tgt", "own.map"], folder)
    pairs = np.loadtxt(folder / "own.map", dtype=np.int64, skiprows=1)
    core = np.empty(case.ranks, dtype=np.int64)
    core[pairs[:, 0] - pairs[:, 0].min()] = pairs[:, 1]
    return core, *cost


def metis(case: Case, folder: Path) -> tuple[np.ndarray, float, int]:
    """METIS into as many parts as nodes, rank order inside."""
    cost = measured(["gpmetis", "-ptype=rb", "-ufactor=1", str(case.file), str(case.parts[-1])], folder)
    part = np.loadtxt(f"{case.file}.part.{case.parts[-1]}", dtype=np.int64)
    return _inside_in_order(case, part), *cost


_KAHIP = """
import json, sys, time, resource
import kahip, numpy
rows = numpy.load(sys.argv[1])
cut, part = kahip.kaffpa([1] * (len(rows["offsets"]) - 1), rows["offsets"].tolist(), rows["weight"].tolist(),
                         rows["neighbour"].tolist(), int(sys.argv[2]), 0.01, True, 1, kahip.ECO)
numpy.save("own.npy", numpy.array(part))
"""


def kahip(case: Case, folder: Path) -> tuple[np.ndarray, float, int]:
    """KaHIP's kaffpa (eco) into as many parts as nodes, rank order inside."""
    offsets, neighbour, weight = case.rows
    np.savez(folder / "own.npz", offsets=offsets, neighbour=neighbour, weight=weight)
    cost = measured([sys.executable, "-c", _KAHIP, "own.npz", str(case.parts[-1])], folder)
    return _inside_in_order(case, np.load(folder / "own.npy")), *cost


def _inside_in_order(case: Case, part: np.ndarray) -> np.ndarray:
    node = math.prod(case.node)
    order = np.argsort(part, kind="stable")
    first = np.searchsorted(part[order], np.arange(case.parts[-1]))
    place = np.empty(case.ranks, dtype=np.int64)
    place[order] = np.arange(case.ranks) - first[part[order]]
    return part * node + np.minimum(place, node - 1)


def boxes(case: Case, folder: Path) -> tuple[np.ndarray, float, int]:
    """The best chain of nested boxes out of all, of a grid whose shape is told.

    Raises:
        RuntimeError: The pattern is no grid, or boxes of these sizes do not fill it.
    """
    shape = shape_of(case.name, case.ranks)
    if shape is None:
        raise RuntimeError("no grid")
    start = time.process_time()
    offsets, neighbour, weight = case.rows
    ends = np.repeat(np.arange(case.ranks), np.diff(offsets)), neighbour
    once = ends[0] < ends[1]
    at = [np.stack(np.unravel_index(end[once], shape)) for end in ends]
    weight = weight[once]
    sizes = np.cumprod(case.node)
    choices = [_boxes_of(shape, int(size)) for size in sizes]
    inside = {}
    for box in {box for each in choices for box in each}:
        sides = np.array(box)[:, None]
        inside[box] = float(weight[np.all(at[0] // sides == at[1] // sides, axis=0)].sum())
    gains = -np.diff([*case.distances[::-1]])[::-1]
    best = max(
        (chain for chain in itertools.product(*choices) if _nested(chain)),
        key=lambda chain: sum(gain * inside[box] for gain, box in zip(gains, chain, strict=True)),
        default=None,
    )
    if best is None:
        raise RuntimeError("boxes do not fill it")
    coordinates = np.stack(np.unravel_index(np.arange(case.ranks), shape))
    core, worth, below = np.zeros(case.ranks, dtype=np.int64), 1, (1,) * len(shape)
    for box in (*best, shape):
        number = np.zeros(case.ranks, dtype=np.int64)
        for axis, (side, small) in enumerate(zip(box, below, strict=True)):
            number = number * (side // small) + coordinates[axis] % side // small
        core, worth, below = core + number * worth, worth * math.prod(box) // math.prod(below), box
    return core, time.process_time() - start, 0


def _boxes_of(shape: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    if not shape:
        return [()] if size == 1 else []
    sides = [side for side in range(1, size + 1) if size % side == 0 and shape[0] % side == 0]
    return [(side, *rest) for side in sides for rest in _boxes_of(shape[1:], size // side)]


def _nested(chain: tuple[tuple[int, ...], ...]) -> bool:
    return all(
        b % a == 0 for small, large in itertools.pairwise(chain) for a, b in zip(small, large, strict=True)
    )


def tools() -> dict:
    """The mappers that can run here."""
    found = {"rankwise": rankwise, "boxes": boxes}
    if shutil.which("scotch_gmap") or shutil.which("gmap"):
        found["scotch"] = scotch
    if shutil.which("gpmetis"):
        found["metis"] = metis
    if importlib.util.find_spec("kahip"):
        found["kahip"] = kahip
    return found


def bench(case: Case, folder: Path, chosen: dict) -> dict:
    """One line of the table."""
    blocked, busiest = case.mapping.score(list(range(case.ranks)))
    nodes = case.parts[-1]
    rank = np.arange(case.ranks)
    cyclic, _ = case.mapping.score((rank % nodes * math.prod(case.node) + rank // nodes).tolist())
    line = {
        "case": case.text, "edges": case.graph.edges, "blocked": blocked, "busiest_blocked": busiest,
        "cyclic": cyclic / blocked, "lower_bound": case.mapping.lower_bound() / blocked, "tools": {},
    }  # fmt: skip
    for name, tool in chosen.items():
        try:
            core, cpu_s, memory = tool(case, folder)
        except (RuntimeError, subprocess.CalledProcessError) as problem:
            line["tools"][name] = {"failed": str(problem)}
            continue
        core, own = case.one_a_core(core)
        cost, busy = case.mapping.score(core.tolist())
        line["tools"][name] = {
            "cost": cost / blocked, "busiest": busy / busiest if busiest else 1.0, "cpu_s": cpu_s, "bytes": memory,
            "one_rank_a_core": own,
        }  # fmt: skip
    return line


def text_of(line: dict, names: list[str]) -> str:
    """A line of the table: cost, busiest node, CPU seconds (and memory of Rankwise) of each tool."""
    cells = [line["case"], f"{line['edges']}", f"{line['cyclic']:.3f}", f"{line['lower_bound']:.3f}"]
    for name in names:
        each = line["tools"][name]
        if "failed" in each:
            cells.append("-")
            continue
        star = "" if each["one_rank_a_core"] else "*"
        memory = f", {each['bytes'] / 1e6:.0f} MB" if name == "rankwise" else ""
        cells.append(f"{each['cost']:.3f}{star} / {each['busiest']:.2f} ({each['cpu_s']:.1f} s{memory})")
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="default: a table of 31")
    parser.add_argument("--quick", action="store_true", help="up to 4096 ranks only")
    parser.add_argument(
        "--tools", nargs="+", metavar="TOOL", choices=sorted(tools()), help="default: all that are here"
    )
    parser.add_argument("--keep", metavar="DIR", help="keep the graph files there, and use those that are")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    chosen = {name: tool for name, tool in tools().items() if not args.tools or name in args.tools}
    with tempfile.TemporaryDirectory() as scratch:
        graphs = Path(args.keep or scratch).resolve()
        graphs.mkdir(parents=True, exist_ok=True)
        lines = []
        head = ["case", "edges", "cyclic", "lower bound", *chosen]
        if not args.json:
            print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        for text in args.cases or (QUICK if args.quick else WHOLE):
            lines.append(bench(Case(text, graphs), Path(scratch), chosen))
            if not args.json:
                print(text_of(lines[-1], list(chosen)), flush=True)
        if args.json:
            print(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
