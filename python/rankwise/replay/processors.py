# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks share cores: each rank's processor, and how many cores that has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

# A core of a node, or of the host of an emulated machine.
Core = tuple[int, int]


def processors(cores_of: Sequence[frozenset[Core]]) -> tuple[list[int], list[frozenset[Core]]]:
    """Divide cores among the ranks that may use them.

    Ranks that may use the same cores share a processor of these. Where sets of cores overlap, the set with the
    most ranks a core that can run nowhere else becomes a processor of these ranks, the others have the cores that
    are left, and so on: a scheduler moves those that are free to move away from crowded cores. For nested sets and
    ranks that all compute this is the max-min fair division (Bertsekas & Gallager, Data Networks, 6.5.2).

    Args:
        cores_of: Cores of each rank, at least one.

    Returns:
        For each rank its processor, numbered by their first rank, and the cores of each processor.
    """
    users = Counter(cores_of)
    if sum(map(len, users)) == len(set().union(*users)):
        share = {each: each for each in users}
    else:
        share = {}
        for overlapping in _components(users):
            share |= _divided({each: users[each] for each in overlapping})
    number: dict[frozenset[Core], int] = {}
    processor = [number.setdefault(share[each], len(number)) for each in cores_of]
    return processor, list(number)


def _components(sets: Iterable[frozenset[Core]]) -> list[list[frozenset[Core]]]:
    """Sets that have cores in common, directly or through others."""
    parts: dict[int, list[frozenset[Core]]] = {}
    part_of: dict[Core, int] = {}
    for number, each in enumerate(sets):
        parts[number] = [each]
        for old in {part_of[core] for core in each if core in part_of}:
            parts[number] += parts.pop(old)
        for core in frozenset().union(*parts[number]):
            part_of[core] = number
    return list(parts.values())


def _divided(users: dict[frozenset[Core], int]) -> dict[frozenset[Core], frozenset[Core]]:
    """For each of some sets that overlap, the cores that its ranks share in the end."""
    share: dict[frozenset[Core], frozenset[Core]] = {}
    left = {each: each for each in users}
    while left:
        taken: frozenset[Core] = frozenset()
        most = (0.0, 0)
        for cores in {*left.values(), frozenset().union(*left.values())}:
            confined = sum(users[each] for each, still in left.items() if still <= cores)
            if (crowd := (confined / len(cores), len(cores))) > most:
                taken, most = cores, crowd
        share |= {each: taken for each, still in left.items() if still <= taken}
        left = {each: still - taken for each, still in left.items() if each not in share}
    return share
