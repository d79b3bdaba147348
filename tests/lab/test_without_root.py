# SPDX-License-Identifier: BSD-3-Clause
"""A lab of a user who is not root."""

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import mpis
import pytest

pytestmark = [pytest.mark.root, pytest.mark.mpi]

NOBODY = 65534


def python_for_all(directory):
    """A Python of this version with these packages that other users may execute, too; `None` if there is none.

    The one that runs the tests may lie in a home directory.
    """
    says = "import sys; print(sys.version_info[:2])"
    for candidate in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        with contextlib.suppress(OSError):
            words = [candidate, "-I", "-S", "-c", says]
            told = subprocess.run(words, user=NOBODY, capture_output=True, text=True, check=False).stdout
            if told.strip() == str(sys.version_info[:2]):
                made = [candidate, "-m", "venv", "--without-pip", directory / "python"]
                if subprocess.run(made, capture_output=True, check=False).returncode == 0:
                    packages = sysconfig.get_path("purelib")
                    here = next((directory / "python" / "lib").glob("python3*/site-packages"))
                    (here / "theirs.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
                    return directory / "python" / "bin" / "python"
    return None


@pytest.fixture
def unprivileged():
    """Run `rankwise lab ...` as a user without any rights, with a directory of its own."""
    if os.getuid() != 0:
        pytest.skip("the tests run without root, so all other tests of the lab are this one")
    directory = Path(tempfile.mkdtemp(prefix="rankwise-test-", dir="/tmp"))
    os.chmod(directory, 0o755)
    python = python_for_all(directory)
    if python is None:
        shutil.rmtree(directory)
        pytest.skip("no Python of this version that other users may execute")
    os.chown(directory, NOBODY, NOBODY)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = kept | {"XDG_RUNTIME_DIR": str(directory), "HOME": str(directory)}

    def run(*words):
        return subprocess.run(
            [python, "-m", "rankwise", "lab", *map(str, words)],
            env=environment,
            cwd=directory,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )

    run.directory = directory
    yield run
    run("down")
    shutil.rmtree(directory, ignore_errors=True)


def test_a_user_without_rights_has_a_lab_through_user_namespaces(unprivileged, compiled):
    up = unprivileged("up", "--nodes", 2, "--cores", 2, "--rate", "100mbit")
    if "may not make network namespaces" in up.stderr:
        pytest.skip(up.stderr.splitlines()[0])
    assert up.returncode == 0, up.stderr
    for family in ("mpich", "openmpi"):
        # GIVEN a program of each MPI that sends 10 messages of 100 kB to the last rank
        mpi = mpis.first(family, mpis.runs_in_a_lab)
        program = shutil.copy(compiled(mpi, "cross_nodes.c"), unprivileged.directory / family)
        os.chmod(program, 0o755)
        # WHEN it runs, THEN its ranks are on both nodes and its bytes on the interfaces
        done = unprivileged("run", "--allocation", "cyclic", "--", program, 10, 100_000)
        assert done.returncode == 0, done.stderr
        hosts = {line.split()[1] for line in done.stdout.splitlines() if not line.endswith(" s")}
        assert hosts == {"rw-lab-node0", "rw-lab-node1"}
        assert "rankwise: verified: 4 ranks on 2 hosts ran as cyclic says\n" in done.stderr
        assert "rankwise: rw-lab-node0 sent 1." in done.stderr
    assert unprivileged("down").returncode == 0
