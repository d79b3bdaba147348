# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures of all rooms: the MPI libraries at hand and programs compiled with them."""

import fcntl
import os
import signal
from functools import cache
from pathlib import Path
from zlib import crc32

import browser
import mpis
import pytest
from hypothesis import HealthCheck, settings
from skips import pytest_make_collect_report, pytest_runtest_makereport  # noqa: F401

# `make test` gives the same answer on the same tree, however busy the machine is; `make test-all` draws anew, and more.
_PATIENT = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, max_examples=25, **_PATIENT)
settings.register_profile("anew", **_PATIENT)
settings.load_profile("anew")

# Rooms whose tests start processes that share this machine's cores with whatever else runs there.
STARTING_PROCESSES = (
    "cli",
    "collectives",
    "lab",
    "launchers",
    "measure",
    "record",
    "run",
    "trace",
    "workloads",
)
# Rooms whose tests measure, or bring up nodes. Those of `make test` assert nothing that others on the machine change;
# the slow ones measure for longer, and nothing runs beside them.
MEASURING = ("lab", "measure")
# `make test` runs every test with one of these libraries, in turn, and one test of three with one of the others, too.
IN_TURN = ("mpich-5.0.2", "openmpi-5.0.11")

_SIGNAL_MASK = signal.pthread_sigmask(signal.SIG_BLOCK, ())


def pytest_addoption(parser):
    parser.addoption(
        "--update-transcripts",
        action="store_true",
        help="write tests/transcripts/*.txt anew, see test_transcripts.py",
    )
    parser.addoption(
        "--update-runs",
        action="store_true",
        help="also those of runs, and the recording that is kept of one: all figures of them change",
    )


def takes_its_mpi(item) -> bool:
    """Whether a test is for the MPI that it is to be run with: all its markers `only_mpis` say so."""
    mpi = item.callspec.params.get("mpi") if hasattr(item, "callspec") else None
    return not isinstance(mpi, mpis.Mpi) or all(
        marker.kwargs["which"](mpi) for marker in item.iter_markers("only_mpis")
    )


def leave_libraries_to_test_all(items) -> None:
    """Mark as slow all but one of two libraries, by turns, and for one test of three one of the others, too.

    Tests for some libraries name those of them that are not slow, or all are not. What has the marker `matrix` keeps
    the two.
    """
    libraries: dict[tuple, list] = {}
    for item in items:
        mpi = item.callspec.params.get("mpi") if hasattr(item, "callspec") else None
        quick = next((marker.kwargs["quick"] for marker in item.iter_markers("only_mpis")), ())
        if quick and isinstance(mpi, mpis.Mpi) and mpi.name not in quick:
            item.add_marker(pytest.mark.slow)
        if isinstance(mpi, mpis.Mpi) and not item.get_closest_marker("slow"):
            libraries.setdefault((item.path, item.name.replace(mpi.name, "", 1)), []).append(item)
    for (path, case), alike in libraries.items():
        if any(marker.name in ("matrix", "only_mpis") for marker in alike[0].iter_markers()):
            continue
        two = [item for item in alike if item.callspec.params["mpi"].name in IN_TURN]
        others = [item for item in alike if item not in two]
        drawn = crc32(f"{path.name} {case}".encode())
        leave_all_but(two, drawn % max(len(two), 1))
        leave_all_but(others, drawn // 2 % (3 * max(len(others), 1)))


def leave_cases_to_test_all(items) -> None:
    """Of the cases of a test with the marker `one_of(n)`, mark all but one of n as slow."""
    cases: dict[tuple, list] = {}
    for item in items:
        if item.get_closest_marker("one_of") and not item.get_closest_marker("slow"):
            cases.setdefault((item.path, item.originalname), []).append(item)
    for alike in cases.values():
        alike.sort(key=lambda item: crc32(item.name.encode()))
        one_of = alike[0].get_closest_marker("one_of").args[0]
        for item in alike[-(-len(alike) // one_of) :]:
            item.add_marker(pytest.mark.slow)


def leave_all_but(items, kept: int) -> None:
    """Mark as slow all but one of the items, or all if there is no such one."""
    for item in items[:kept] + items[kept + 1 :]:
        item.add_marker(pytest.mark.slow)


@cache
def room_of(path: Path) -> str:
    """The folder of tests/ that a file is in."""
    return path.relative_to(Path(__file__).parent).parts[0]


def pytest_collection_modifyitems(config, items):
    """Mark what runs alone, and try tests that start processes once more when they fail.

    On a starved machine any of these meets a time limit. What fails twice fails; the summary tells both.
    """
    passed_over = [item for item in items if not takes_its_mpi(item)]
    if passed_over:
        config.hook.pytest_deselected(items=passed_over)
        items[:] = [item for item in items if takes_its_mpi(item)]
    leave_libraries_to_test_all(items)
    leave_cases_to_test_all(items)
    for item in items:
        measures = room_of(item.path) in MEASURING or "misplaced" in getattr(item, "fixturenames", ())
        if measures and item.get_closest_marker("slow"):
            item.add_marker("alone")
        if room_of(item.path) in STARTING_PROCESSES or "mpi" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1, reruns_delay=2))


def pytest_sessionfinish():
    """End what tests share."""
    browser.at_end.close()


@pytest.fixture(autouse=True)
def signals_reach_us():
    """Commands that keep a program's status hold signals back until they exit; called in this process, they never do.

    Launchers that older MPICHs have hand the mask on to their ranks, which SIGTERM then does not end.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, _SIGNAL_MASK)
    # Shells start what runs in the background with it ignored, and programs started here would keep that.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, _SIGNAL_MASK)


@pytest.fixture(
    scope="session", params=mpis.installed() or [None], ids=lambda mpi: mpi.name if mpi else "none"
)
def mpi(request) -> mpis.Mpi:
    """Each MPI library at hand; run tests/install_mpis.sh first."""
    if request.param is None:
        pytest.fail("no MPI at hand; run `bash tests/install_mpis.sh .venv/bin`")
    return request.param


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Function (mpi, source, *flags) -> executable; each is compiled once a session, for all workers."""
    own = tmp_path_factory.getbasetemp()
    directory = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "programs"
    directory.mkdir(exist_ok=True)

    @cache
    def build(mpi: mpis.Mpi, source: str | Path, *flags: str) -> Path:
        digest = crc32("\0".join(map(str, (source, *flags))).encode())
        output = directory / f"{Path(source).stem}.{mpi.name}.{digest:08x}"
        with open(f"{output}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not output.exists():
                mpi.compile(source, Path(f"{output}.new"), *flags).rename(output)
        return output

    return build
