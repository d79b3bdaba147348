# SPDX-License-Identifier: BSD-3-Clause
"""The tuner that ranks of a job's other nodes start, when it is killed and when there is a second one.

Here the ranks of this node start one, as nobody else has made the directory for their pages. Jobs on several nodes are
in tests/lab/test_tuned_nodes.py.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import mpis
import pytest
from misplaced import FIRST, Misplaced
from waiting import until

from rankwise.tune.node import NodeAsked, node_environment
from rankwise.tune.preload import tune_environment
from rankwise.tune.summary import tuners_of_hosts

pytestmark = [pytest.mark.mpi, mpis.only(mpis.has_its_own_launcher, quick=("mpich-5.0.2",))]
RANKWISE = Path(sys.executable).parent / "rankwise"


@dataclass
class Tuned:
    """A job, and the tuner that its first rank has started.

    Attributes:
        job: It.
        pid: The tuner.
        scratch: What the rank made for pages.
        output: Where `HOST.jsonl` is, and `HOST.log` if something is wrong.
    """

    job: Misplaced
    pid: int
    scratch: Path
    output: Path

    def events(self, *what):
        file = self.output / f"{socket.gethostname()}.jsonl"
        found = [json.loads(line) for line in file.read_text().split("\n")[:-1]]
        return [event for event in found if event["what"] in what]


def child(of: str) -> int | None:
    """The tuner whose parent was given these words by a rank."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if of.encode() not in (process / "cmdline").read_bytes().split(b"\0"):
                continue
            children = (process / "task" / process.name / "children").read_text().split()
            tuners = [pid for pid in children if Path(f"/proc/{pid}/comm").read_text() == "rankwise-tuned\n"]
        except OSError:
            continue
        if tuners:
            return int(tuners[0])
    return None


@pytest.fixture
def tuned(mpi, misplaced, tmp_path):
    """Such a job."""
    scratch, output = tmp_path / "job", tmp_path / "a.tune"
    output.mkdir()
    pages = scratch / "pages"
    asked = NodeAsked(act=True, irq=False, machine=None, pages=str(pages), events=str(output))
    of_node = node_environment(asked)
    job = misplaced(mpi, pages, tune_environment(pages, None) | of_node)
    word = of_node["RANKWISE_TUNE_NODE"]
    assert until(lambda: child(word))
    yield Tuned(job, child(word), scratch, output)
    job.end()
    assert until(lambda: not scratch.exists())


def attach(pids, tmp_path):
    """Start `rankwise tune --pid` of these, as another user of the node would."""
    (tmp_path / "run").mkdir(mode=0o700)
    return subprocess.Popen(
        [*FIRST, RANKWISE, "tune", "-o", tmp_path / "b.tune", "--pid", *map(str, pids)],
        env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path / "run")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_masks_are_given_back_when_it_is_killed_and_the_job_goes_on(tuned):
    # GIVEN ranks that it has moved
    tuned.job.share_core()
    assert until(lambda: not tuned.job.is_as_before())
    # WHEN it is killed
    os.kill(tuned.pid, signal.SIGKILL)
    # THEN its guard gives back what they had, and the job goes on
    assert until(tuned.job.is_as_before)
    assert tuned.job.goes_on()
    # AND why it has ended is said where its events are; nothing is left of it
    assert until(lambda: not tuned.scratch.exists())
    (ended,) = tuners_of_hosts(tuned.output)
    assert ended.ended_early == "it died of SIGKILL"
    assert ended.ranks_seen == 2
    assert tuned.job.is_as_before()


@pytest.mark.slow
def test_a_second_tuner_of_what_it_moved_refuses(tuned, tmp_path):
    # GIVEN ranks that it has moved
    tuned.job.share_core()
    assert until(lambda: not tuned.job.is_as_before())
    # WHEN another one is to tune one of them
    second = attach(tuned.job.ranks[:1], tmp_path)
    out, err = second.communicate(timeout=60)
    # THEN it does not start, and says who has the rank
    assert (second.returncode, out) == (1, "")
    assert f"process `{tuned.job.ranks[0]}` is tuned by process `{tuned.pid}` already" in err
    # AND the first one goes on
    assert tuned.events("stopped", "failed") == []
    assert tuned.job.goes_on()


def test_it_leaves_alone_what_another_tuner_has(tuned):
    # GIVEN a rank that another tuner has: a lock on its directory in /proc says so (tune/act/claim.cpp)
    rank = os.open(f"/proc/{tuned.job.ranks[0]}", os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(rank, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        # WHEN the mapping gets bad
        tuned.job.share_core()
        assert until(lambda: tuned.events("failed"))
        # THEN the node's tuner cannot mend it, and says who has the rank
        assert tuned.events("failed")[0]["why"] == f"rank 0 is tuned by process `{os.getpid()}` already"
        assert tuned.job.is_as_before()
        assert tuned.job.goes_on()
    finally:
        os.close(rank)
