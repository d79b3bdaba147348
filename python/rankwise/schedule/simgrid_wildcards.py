# SPDX-License-Identifier: BSD-3-Clause
"""Which messages the receives of a SimGrid trace take that name no source or no tag."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

ANY_TAG = (-1, -444)
SENDS = ("send", "isend", "ssend", "issend")
RECEIVES = ("recv", "irecv")
_WILDCARD = re.compile(r"recv\s+(-|\S+\s+(-1|-444)\s)", re.IGNORECASE)


class Wildcards:
    """What a first reading of all lines tells about receives with wildcards; empty for traces without any.

    Receives that name their source take its messages in the order in which they were sent, whatever the times. Those
    that name none are left to the replay, unless nothing is left for them: then they are receives from
    MPI_PROC_NULL, which SimGrid writes in the same way.
    """

    def __init__(self, texts: Iterable[str], lines: Iterable[tuple[int, list[str]]]):
        self._sent: dict[tuple[int, int], list[int | None]] = defaultdict(list)
        self._left: Counter[tuple[int, int | None]] = Counter()  # by receiver and tag, `None` for all tags
        if any(_WILDCARD.search(text) for text in texts):
            for rank, words in lines:
                self._count(rank, words)

    def _count(self, rank: int, words: list[str]) -> None:
        action = words[1].lower()
        if action in SENDS + RECEIVES and len(words) >= 4:
            older = len(words) == 4
            peer, tag = int(words[2]), 0 if older else int(words[3])
            if peer >= 0:
                self._one(rank, peer, tag, action in SENDS)
        elif action == "sendrecv" and len(words) >= 6:
            self._one(rank, int(words[3]), 0, True)
            self._one(rank, int(words[5]), 0, False)

    def _one(self, rank: int, peer: int, tag: int, is_send: bool) -> None:
        if is_send:
            self._sent[rank, peer].append(tag)
        receiver, step = (peer, 1) if is_send else (rank, -1)
        self._left[receiver, None] += step
        if tag not in ANY_TAG:
            self._left[receiver, tag] += step

    def from_nobody(self, rank: int, tag: int) -> bool:
        """Whether no message is left for a receive of a rank that names no source."""
        return self._left[rank, None if tag in ANY_TAG else tag] <= 0

    def tag(self, rank: int, peer: int, tag: int) -> int:
        """The tag that a receive from a known source takes.

        Raises:
            ValueError: It takes any, and the source has sent no message more.
        """
        sent = self._sent.get((peer, rank))
        if tag not in ANY_TAG:
            if sent and tag in sent:
                sent[sent.index(tag)] = None
            return tag
        at = next((at for at, each in enumerate(sent or []) if each is not None), None)
        if sent is None or at is None:
            raise ValueError("a receive that nothing is sent to")
        taken, sent[at] = sent[at], None
        return taken or 0
