# SPDX-License-Identifier: BSD-3-Clause
"""`rankwise record` with a recorder that stands in, for what has nothing to do with MPI calls."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
DRIVER = """
import sys
from pathlib import Path
import rankwise.record.library as library
library.library_directory = lambda: Path(sys.argv[1])
from rankwise.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory):
    directory = tmp_path_factory.mktemp("library")
    source, library = HERE / "stand_in_recorder.c", directory / "librankwise_record.so"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return directory


@pytest.fixture(scope="session")
def record_with(stand_in):
    """Function: the words that run `rankwise record ARGS` with the stand-in."""
    return lambda *words: [sys.executable, "-c", DRIVER, str(stand_in), "record", *map(str, words)]
