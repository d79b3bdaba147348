# SPDX-License-Identifier: BSD-3-Clause
"""Network time of transports that are libraries: messages with known answers, and programs that it leaves alone."""

import os
import subprocess
from pathlib import Path

import mpis
import polars as pl
import pytest

from rankwise.recording import Recording
from rankwise.report.build import build

pytestmark = [pytest.mark.mpi, pytest.mark.root]
LAPS = 200
# A rank on a host name of its own, as on a node of its own; the ranks reach each other over TCP.
ON_A_NODE = (
    "sh",
    "-c",
    'exec unshare --uts sh -c \'hostname node$0; exec "$@"\' ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} "$@"',
    "sh",
)
MPICH = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_ODD_EVEN_CLIQUES": "0"}
UCX = {
    "mpich": {**MPICH, "UCX_TLS": "tcp,self"},
    "openmpi": {
        "UCX_TLS": "tcp,self",
        "OMPI_MCA_pml": "ucx",
        "OMPI_MCA_opal_common_ucx_tls": "any",
        "OMPI_MCA_opal_common_ucx_devices": "any",
    },
}
LIBFABRIC = {
    "mpich": {**MPICH, "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"},
    "openmpi": {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": "tcp"},
}
OVER_LIBFABRIC = mpis.only(
    lambda mpi: mpi.name in ("mpich-5.0.2", "mpich-4.3.2", "openmpi-5.0.11", "openmpi-4.1.8")
)
OVER_UCX = mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "openmpi-5.0.11", "openmpi-4.1.8"))


def of(recording, rank, transport):
    """Calls, bytes and calls of unknown size by node and kind."""
    table = recording.network_time.filter(rank=rank, transport=transport)
    sums = table.group_by("node", "kind").agg(pl.col("calls", "bytes", "unsized").sum())
    return {(node, kind): tuple(totals) for node, kind, *totals in sums.rows()}


@OVER_UCX
def test_messages_over_ucx_are_counted_by_the_node_they_go_to(mpi, compiled, record, tmp_path):
    # GIVEN two nodes between which a token of 1000 bytes goes to and fro WHEN it is recorded
    record(mpi, 2, *ON_A_NODE, compiled(mpi, "ring.c"), LAPS, environment=UCX[mpi.family])
    recording = Recording.open(tmp_path)
    for rank in (0, 1):
        found, there = of(recording, rank, "UCX"), f"node{1 - rank}"
        # THEN each sent it as often as it went round, to the other node, and posted as many receives
        assert found[there, "send"] == (LAPS, 1000 * LAPS, 0)
        assert found[None, "receive"] == (LAPS, 0, LAPS)
        # AND looked for it in vain, which is waiting, while it was not there
        assert found[None, "progress"][0] >= LAPS and found[None, "wait"][0] > 0
        assert set(found) <= {(there, "send"), *((None, kind) for kind in ("receive", "progress", "wait"))}
        # AND the sockets below moved as many bytes and UCX's own, and took no time beside
        below = recording.network_time.filter(
            pl.col("node").is_not_null() & pl.col("inside_mpi"), rank=rank, transport="sockets"
        )
        assert LAPS * 1000 <= below.filter(kind="send")["bytes"].sum() <= LAPS * 1030
    assert (recording.context["problems"], recording.context["damage"]) == ([], [])


@OVER_LIBFABRIC
def test_messages_over_libfabric_are_counted_by_the_node_they_go_to(mpi, compiled, record, tmp_path):
    # GIVEN two nodes between which a token of 1000 bytes goes to and fro WHEN it is recorded
    record(mpi, 2, *ON_A_NODE, compiled(mpi, "ring.c"), LAPS, environment=LIBFABRIC[mpi.family])
    recording = Recording.open(tmp_path)
    for rank in (0, 1):
        found, there = of(recording, rank, "libfabric"), f"node{1 - rank}"
        # THEN each sent it as often as it went round, to the other node, and posted as many receives, of one peer each
        assert found[there, "send"] == (LAPS, 1000 * LAPS, 0)
        assert found[there, "receive"] == (LAPS, 0, LAPS)
        # AND both were completed, and looked for in vain meanwhile
        assert found[None, "progress"][0] >= LAPS and found[None, "wait"][0] > 0
        below = recording.network_time.filter(
            pl.col("node").is_not_null() & pl.col("inside_mpi"), rank=rank, transport="sockets"
        )
        assert LAPS * 1000 <= below.filter(kind="send")["bytes"].sum() <= LAPS * 1060
        assert (
            below["time_s"].sum()
            < 0.01 * recording.network_time.filter(transport="libfabric")["time_s"].sum()
        )
    assert (recording.context["problems"], recording.context["damage"]) == ([], [])


@mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "mpich-4.3.2"))
def test_a_provider_whose_addresses_are_text_has_messages_without_peers(mpi, compiled, record, tmp_path):
    record(mpi, 2, compiled(mpi, "ring.c"), LAPS, environment={**LIBFABRIC["mpich"], "FI_PROVIDER": "shm"})
    for rank in (0, 1):
        assert of(Recording.open(tmp_path), rank, "libfabric")[None, "send"] == (LAPS, 1000 * LAPS, 0)


@pytest.mark.one_of(3)
@mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "openmpi-5.0.11"), quick=("openmpi-5.0.11",))
@pytest.mark.parametrize("over", ["UCX", "libfabric"])
@pytest.mark.parametrize("program", ["collectives.c", "hostile/window_allocate.c", "hostile/partitioned.c"])
def test_programs_run_as_without_the_recorder(mpi, compiled, tmp_path, environment_for, over, program):
    # GIVEN programs with messages of all sizes, collectives and windows, over each transport
    which = {"UCX": UCX, "libfabric": LIBFABRIC}[over][mpi.family]
    built = compiled(mpi, program)
    plain = mpi.run(4, built, environment=which, timeout=120)
    assert plain.returncode == 0
    # WHEN they are recorded
    done = mpi.run(4, built, environment=environment_for(tmp_path, **which), timeout=120)
    # THEN they end as they do without
    assert (done.returncode, sorted(done.stdout), done.stderr) == (
        plain.returncode,
        sorted(plain.stdout),
        plain.stderr,
    )
    assert over in set(Recording.open(tmp_path).network_time["transport"])


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
@pytest.mark.parametrize("over", ["UCX", "libfabric"])
def test_nothing_is_counted_where_it_is_switched_off(mpi, compiled, record, tmp_path, over):
    which = {"UCX": UCX, "libfabric": LIBFABRIC}[over]["mpich"]
    record(mpi, 2, compiled(mpi, "ring.c"), LAPS, environment={**which, "RANKWISE_NETWORK": "0"})
    assert len(Recording.open(tmp_path).network_time) == 0


@OVER_UCX
def test_a_socket_call_inside_ucx_has_no_time_of_its_own(mpi, compiled, record, tmp_path):
    record(mpi, 2, compiled(mpi, "ring.c"), LAPS, environment=UCX[mpi.family])
    table = Recording.open(tmp_path).network_time
    moved = table.filter(pl.col("kind").is_in(["send", "receive"]) & pl.col("inside_mpi"))
    times = {
        transport: time for transport, time in moved.group_by("transport").agg(pl.col("time_s").sum()).rows()
    }
    assert times["sockets"] < 0.01 * times["UCX"]


PROGRAMS = Path(__file__).resolve().parents[2] / "programs"


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    """A program that links nothing, and plugins, each linked with a libucp of its own, that says which it is."""
    made = []
    shared = ["cc", "-shared", "-fPIC"]
    for which in ("one", "two", "deep"):
        directory = tmp_path_factory.mktemp(which)
        library, plugin = directory / f"libucp.so.{which}", directory / f"{which}.so"
        name = [f'-DWHICH="{which}"', f"-Wl,-soname,{library.name}"]
        subprocess.run([*shared, *name, PROGRAMS / "fake_ucx.c", "-o", library], check=True)
        found = [f"-Wl,-rpath,{directory}", library]
        subprocess.run([*shared, PROGRAMS / "ucx_user.c", *found, "-o", plugin], check=True)
        made.append(plugin)
    program = tmp_path_factory.mktemp("program") / "plugins"
    subprocess.run(["cc", "-D_GNU_SOURCE", PROGRAMS / "plugins.c", "-o", program], check=True)
    return program, *made


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_plugins_reach_the_library_that_they_are_linked_with(mpi, compiled, record, tmp_path, plugins):
    # GIVEN plugins with libraries of their own, that come and go, and are used again in children WHEN they are recorded
    program, one, two, deep = plugins
    with_mpi = compiled(mpi, "mpi_plugin.c", "-shared", "-fPIC")
    said = {"RANKWISE_MPI": str(mpi.mpicc.parent.parent / "lib" / "libmpi.so.12")}
    done = record(mpi, 1, program, with_mpi, one, two, one, f"+{deep}", environment=said).run
    # THEN each reaches its own
    answers = [f"worker of {which}" for which in ("one", "two", "one", "deep")]
    assert done.stdout.split("\n") == [*answers, *answers, ""]
    # AND counted is what each does, without what the library calls of itself, a failure as progress; by its peer, which
    # is its own node. Not those that look into their own libraries first (RTLD_DEEPBIND), nor those of children
    recording = Recording.open(tmp_path)
    (host,) = recording.context["hosts"]
    assert of(recording, 0, "UCX") == {
        (host["host"], "send"): (3 * 400, 3 * 100 * (10 + 24 + 11), 3 * 100),
        (host["host"], "progress"): (3, 0, 0),
        (None, "progress"): (3 * 100, 0, 0),
        (None, "wait"): (3 * 100, 0, 0),
    }


def test_a_function_that_no_library_has_ends_the_process_as_without_the_recorder(tmp_path, plugins, recorder):
    # GIVEN a plugin whose libucp is not there WHEN it calls it, with the recorder and without
    plugin = tmp_path / "lacking.so"
    subprocess.run(["cc", "-shared", "-fPIC", PROGRAMS / "ucx_user.c", "-o", plugin], check=True)
    command = [plugins[0], "", plugin]
    plain = subprocess.run(command, capture_output=True, text=True)
    done = subprocess.run(command, env=os.environ | recorder, capture_output=True, text=True)
    # THEN it ends alike, and both name the function
    assert done.returncode == plain.returncode == 127
    assert all("undefined symbol: ucp_worker_get_address" in each.stderr for each in (plain, done))


@mpis.only(lambda mpi: mpi.name in ("mpich-5.0.2", "openmpi-5.0.11"), quick=("mpich-5.0.2",))
@pytest.mark.parametrize("version", ["PSM2_1.0", None])
def test_calls_of_psm2_are_counted_by_the_node_they_go_to(
    mpi, compiled, record, tmp_path, tmp_path_factory, version
):
    # GIVEN a libpsm2 that moves nothing, with the version of its symbols or none, and ranks that make known calls
    directory = tmp_path_factory.mktemp("psm2")
    (directory / "map").write_text(f"{version} {{ global: *; }};" if version else "{ global: *; };")
    library = directory / "libpsm2.so.2"
    shared = ["cc", "-shared", "-fPIC", "-Wl,-soname,libpsm2.so.2", f"-Wl,--version-script={directory}/map"]
    subprocess.run([*shared, PROGRAMS / "fake_psm2.c", "-o", library], check=True)
    program = compiled(mpi, "psm2_user.c", f"-Wl,-rpath,{directory}", str(library))
    # WHEN they are recorded
    done = record(mpi, 2, *ON_A_NODE, program).run
    assert done.stdout == "10\n10\n"
    recording = Recording.open(tmp_path)
    for rank in (0, 1):
        own, other = f"node{rank}", f"node{1 - rank}"
        # THEN each call is there, by its peer, and not those that the library makes of its own functions
        assert of(recording, rank, "PSM2") == {
            (other, "send"): (60, 30 * 120, 0),
            (own, "receive"): (30, 0, 30),
            (None, "receive"): (30, 0, 30),
            (None, "wait"): (30 + 30 + 20, 0, 0),
            (None, "progress"): (10, 0, 0),
        }


@mpis.only(lambda mpi: mpi.name in ("openmpi-5.0.11", "openmpi-4.1.8"), quick=("openmpi-5.0.11",))
def test_performance_variables_say_what_the_library_knows(mpi, compiled, record, tmp_path):
    # GIVEN ranks that leave 5 and 6 receives posted WHEN they are recorded over a library that counts its queues
    record(mpi, 2, compiled(mpi, "posted.c"), environment={"OMPI_MCA_pml": "ob1", "RANKWISE_VARIABLES": "*"})
    recording = Recording.open(tmp_path)
    # THEN the length of the queue is that, as the sum over its peers
    posted = recording.performance_variables.filter(variable="pml_ob1_posted_recvq_length")
    assert posted.rows() == [(rank, "pml_ob1_posted_recvq_length", "size", 5.0 + rank, 2) for rank in (0, 1)]
    (shown,) = [each for each in build(recording).network.variables if "posted" in each.name]
    assert (shown.variable_class, shown.ranks, shown.least, shown.most) == ("size", 2, 5, 6)


@mpis.only(lambda mpi: mpi.name == "openmpi-5.0.11")
def test_only_variables_that_are_asked_for_are_read(mpi, compiled, record, tmp_path):
    record(mpi, 1, compiled(mpi, "ring.c"), environment={"RANKWISE_VARIABLES": "none,mpool_huge*"})
    names = Recording.open(tmp_path).performance_variables["variable"].to_list()
    assert names == ["mpool_hugepage_bytes_allocated"]


@mpis.only(lambda mpi: mpi.name == "mpich-5.0.2")
def test_a_library_without_performance_variables_has_none(mpi, compiled, record, tmp_path):
    record(mpi, 1, compiled(mpi, "ring.c"), environment={"RANKWISE_VARIABLES": "*"})
    assert len(Recording.open(tmp_path).performance_variables) == 0
