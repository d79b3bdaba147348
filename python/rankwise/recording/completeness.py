# SPDX-License-Identifier: BSD-3-Clause
"""What is missing in a recording: asked and answered here, for all that show or use one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, Literal

from rankwise.errors import RankwiseError
from rankwise.quantities import seconds_text
from rankwise.record.directory import in_use

_MOST_RANKS_NAMED = 6
NO_SPACE = "the file system had no space"
_LOST = "recording had stopped"  # as `context` says it of messages


Severity = Literal["damaged", "partial", "note"]


@dataclass(frozen=True)
class Gap:
    """Something that is not in the recording.

    Attributes:
        what: What is missing.
        why: The reason, without a full stop.
        severity: `damaged`: what is left says nothing of the run as a whole, nothing is predicted from it; `partial`:
            it is of a part of the run, and so is what is predicted; `note`: nothing that predictions need.
        said_by: What says the same and why in one sentence, with all others that it is of; `None` if nothing does.
    """

    what: str
    why: str
    severity: Severity
    said_by: str | None = None

    def __str__(self) -> str:
        return self.said_by or f"partial, what was recorded is replayed: {self.what}: {self.why}"


def gaps(path: Path, context: dict[str, Any]) -> list[Gap]:
    """What is missing, and why.

    Args:
        path: The recording directory.
        context: Content of the recording's context.json.
    """
    found = []
    cut_short = context["ending"] and f"the run was cut short: {context['ending']['text']}"
    if use := in_use(path):
        cut_short = None
        found = [Gap("the rest of the run", f"it is still being recorded by {use.holder}", "partial")]
    full = _is_full(context)
    if missing := context["missing_ranks"]:
        why = "left nothing behind" + (f": {NO_SPACE}" if full else "")
        found.append(Gap(f"{ranks_text(missing)} of {context['world_size']}", why, "damaged"))
    alike: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for entry in context["partial_ranks"]:
        alike.setdefault((entry["why"], entry.get("damaged", False)), []).append(entry)
    for (why, damaged), entries in alike.items():
        who = ranks_text([entry["rank"] for entry in entries])
        what = f"a part of {who}" if damaged else f"the end of {who}"
        severity: Severity = "damaged" if damaged else "partial"
        found.append(Gap(what, why + _since(entries), severity, None if damaged else cut_short))
    if empty := context["trace"]["empty_ranks"]:
        why = "their calls were counted, but the trace of them is not there" + (
            f": {NO_SPACE}" if full else ""
        )
        found.append(Gap(f"the trace of {ranks_text(empty)}", why, "damaged"))
    for entry in context["not_recorded"]:
        severity = "partial" if entry["why"].startswith(_LOST) else "note"
        found.append(Gap(_counted(entry["what"], entry["count"]), entry["why"], severity))
    for why, hosts in _topology_problems(context).items():
        named = ", ".join(hosts[:3]) + (", ..." if len(hosts) > 3 else "")
        found.append(Gap(f"the topology of {named}", why, "note"))
    damage = set(context["damage"])
    found += [
        Gap("in the raw files", problem, "damaged" if problem in damage else "note")
        for problem in context["problems"]
    ]
    return found


def partial(found: list[Gap]) -> list[Gap]:
    """Those that make what is predicted partial."""
    return [gap for gap in found if gap.severity == "partial"]


def check_usable(path: Path, context: dict[str, Any]) -> list[Gap]:
    """Refuse a recording from which nothing can be predicted.

    Returns:
        What makes it partial.

    Raises:
        RankwiseError: Ranks are missing, or what they left is damaged.
    """
    found = gaps(path, context)
    damaged = [gap for gap in found if gap.severity == "damaged"]
    hint = f"see what there is with `rankwise report {path}`; record it again"
    nodes = "record it again, with every node writing to the recording directory"
    if _is_full(context):
        nodes = hint = (
            f"record it again where there is more space: `df -h {quote(str(path))}` shows what there is"
        )
    causes = tuple(f"{gap.what}: {gap.why}" for gap in damaged)
    if missing := context["missing_ranks"]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise RankwiseError(
            f"the recording `{path}` lacks rank `{missing[0]}`{more}",
            nodes,
            causes=causes[0 if _is_full(context) else 1 :][:3],
        )
    if damaged:
        raise RankwiseError(f"the recording `{path}` is damaged: {causes[0]}", hint, causes=causes[1:4])
    trace = context["trace"]
    cut = [entry["why"] for entry in context["not_recorded"] if entry["what"] == "trace"]
    if trace["ranks"] and not trace["bytes"] and (cut or partial(found)):
        why = cut[0] if cut else "it ended before anything was traced"
        raise RankwiseError(f"the trace of `{path}` is empty: {why}", hint)
    return partial(found)


def ranks_text(ranks: list[int]) -> str:
    """`rank 3`, `ranks 1, 2, 5`, `ranks 0-15`, `12 ranks`."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 2 and sorted(ranks) == list(range(min(ranks), max(ranks) + 1)):
        return f"ranks {min(ranks)}-{max(ranks)}"
    if len(ranks) <= _MOST_RANKS_NAMED:
        return "ranks " + ", ".join(map(str, ranks))
    return f"{len(ranks)} ranks"


def _is_full(context: dict[str, Any]) -> bool:
    """Whether recording stopped, on any rank, as the disk was full."""
    reasons = [entry["why"] for key in ("partial_ranks", "not_recorded") for entry in context[key]]
    return context["trace"]["stopped"] == NO_SPACE or any(NO_SPACE in why for why in reasons)


def _since(entries: list[dict[str, Any]]) -> str:
    """When the calls began that did not return; entries of one reason are all in one or none."""
    times = sorted(entry["since_s"] for entry in entries if entry.get("since_s") is not None)
    if not times:
        return ""
    first, last = (seconds_text(time) for time in (times[0], times[-1]))
    return f" (entered {first if first == last else f'{first} to {last}'} after MPI_Init)"


def _counted(what: str, count: int | None) -> str:
    name = {"io": "file calls"}.get(what, what)
    return name if count is None else f"{count} {name}"


def _topology_problems(context: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host in context["hosts"]:
        if host["topology"] is None:
            why = host["topology_problem"] or "it was not saved"
            found.setdefault(why, []).append(host["host"])
    return found
