# SPDX-License-Identifier: BSD-3-Clause
"""What a program in a lab cannot do to the host, in labs of root and of users without rights."""

import ctypes
import os
import socket
import sys

import mpis
import pytest

from rankwise.lab import up

pytestmark = pytest.mark.root

ESCAPES = mpis.PROGRAMS / "escapes.py"
QUEUES = "import pyroute2; print([q.get_attr('TCA_KIND') for q in pyroute2.IPRoute().get_qdiscs()])"


@pytest.fixture(params=[False, True], ids=["made-by-root", "in-a-user-namespace"])
def node(request, line, monkeypatch):
    """Function that runs a command on a node of a lab made either way."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(line.directory))
    plan = up.plan_lab("lab", 1, 2, 12.5e6)
    plan.user_namespace = plan.user_namespace or request.param
    up.bring_up(plan)
    return lambda *words: line.on("rw-lab-node0", *words)


def test_a_program_in_a_lab_changes_nothing_of_the_host_and_reaches_no_process_outside(node):
    # GIVEN a process outside, with a port, a socket and a string in its memory, and the queues of the node's interfaces
    kept = ctypes.create_string_buffer(b"mine")
    limit = node(sys.executable, "-c", QUEUES)
    with socket.create_server(("127.0.0.1", 0)) as port, socket.socket(socket.AF_UNIX) as named:
        named.bind(f"\0rankwise-outside-{os.getpid()}")
        named.listen()
        # WHEN a program on the node tries to get at the host in forty ways
        where = (os.getpid(), port.getsockname()[1], ctypes.addressof(kept))
        told = dict(row.split(" ", 1) for row in node(sys.executable, ESCAPES, *map(str, where)).splitlines())
    # THEN each is refused
    assert len(told) > 40
    assert {name: how for name, how in told.items() if how != "refused"} == {}
    # AND nothing has changed
    assert kept.value == b"mine"
    assert node(sys.executable, "-c", QUEUES) == limit
    assert "noqueue" in limit


def test_what_programs_need_of_a_host_is_on_a_node(node):
    # WHEN a program uses devices, a terminal of its own, shared memory, its own settings in /proc
    said = node(
        sys.executable,
        "-c",
        "import os, pty, multiprocessing.shared_memory as m\n"
        "open('/dev/null', 'w').write('x'); assert len(open('/dev/urandom', 'rb').read(8)) == 8\n"
        "assert open('/dev/zero', 'rb').read(2) == bytes(2)\n"
        "ours, theirs = pty.openpty(); os.write(theirs, b'a'); assert os.read(ours, 1) == b'a'\n"
        "s = m.SharedMemory(create=True, size=8); s.unlink()\n"
        "open('/proc/self/timerslack_ns', 'w').write('150000'); open('/dev/stdout', 'w').write('fine')",
    )
    # THEN it has them
    assert said == "fine"


def test_ranks_of_a_node_copy_from_each_others_memory(node):
    # WHEN a process reads the memory of another one that is not its child, as MPI libraries do inside a node
    said = node(
        sys.executable,
        "-c",
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "class Part(ctypes.Structure): _fields_ = [('at', ctypes.c_void_p), ('bytes', ctypes.c_size_t)]\n"
        "text, got = ctypes.create_string_buffer(b'here'), ctypes.create_string_buffer(4)\n"
        "parent = os.getpid()\n"
        "libc.prctl(0x59616D61, ctypes.c_ulong(-1), 0, 0, 0)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    ours, theirs = Part(ctypes.addressof(got), 4), Part(ctypes.addressof(text), 4)\n"
        "    libc.process_vm_readv(parent, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)\n"
        "    print(got.raw.decode(), flush=True); os._exit(0)\n"
        "os.waitpid(child, 0)",
    )
    # THEN it may
    assert said == "here\n"
