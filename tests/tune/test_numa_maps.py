# SPDX-License-Identifier: BSD-3-Clause
"""Where a rank's pages are, from /proc/PID/numa_maps: own ones by NUMA node, and those that a memory policy binds."""

import json
import subprocess

import pytest

# Spread on purpose, pages have their home nowhere; those of files may be of other processes as well.
BY_NODE = (
    "5500 default file=/bin/a mapped=3 N0=1 N1=2 kernelpagesize_kB=4\n"
    "7f00 default anon=5 dirty=5 N1=5 kernelpagesize_kB=2048\n"
    "7f80 interleave:0-1 anon=90 N0=50 N1=40 kernelpagesize_kB=4\n"
    "7fa0 weighted interleave:0-1 anon=90 N0=50 N1=40 kernelpagesize_kB=4\n"
)
BOUND = (
    "5500 default anon=7 N1=7 kernelpagesize_kB=4\n"
    "7f00 bind:1-2 anon=5 N1=5 kernelpagesize_kB=2048\n"
    "7f80 prefer (many):0 anon=3 N0=1 N1=2 kernelpagesize_kB=4\n"
    "7fa0 local anon=2 N0=2 kernelpagesize_kB=4\n"
)


# The cpuset leaves node 1 only, whatever a policy says.
CPUSET = "Name:\trank\nMems_allowed:\t00000000,00000002\nMems_allowed_list:\t1\n--\n"


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        (BY_NODE, [[0, 5 * 512], 0, []]),
        (BOUND, [[3, 9 + 5 * 512], 5 * 512 + 3, [3, 5 * 512, 5 * 512]]),
        (CPUSET + BOUND, [[3, 9 + 5 * 512], 12 + 5 * 512, [0, 9 + 5 * 512]]),
    ],
    ids=["by node", "bound", "cpuset"],
)
def test_own_pages_are_counted_in_pages_of_4_kib(driver_program, tmp_path, text, pages):
    maps = tmp_path / "numa_maps"
    maps.write_text(text)
    done = subprocess.run(
        [driver_program, "--read", "numa_maps", maps], capture_output=True, text=True, check=True
    )
    # THEN there are those of each node, how many are bound, and by node how many of them may be there
    assert json.loads(done.stdout) == pages
