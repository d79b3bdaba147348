# SPDX-License-Identifier: BSD-3-Clause
"""Command lines are kept without secrets."""

import pytest

from rankwise.launchers.secrets import masked
from rankwise.measure.site import Site
from rankwise.record.library import What


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("./app --password=x", "./app --password=***"),
        ("./app --password x in", "./app --password *** in"),
        ("./app --db-token x", "./app --db-token ***"),
        ("env PASSWORD=x ./app", "env PASSWORD=*** ./app"),
        ("env AWS_SECRET_ACCESS_KEY=a=b ./app", "env AWS_SECRET_ACCESS_KEY=*** ./app"),
        ("mpiexec -genv API_KEY x -n 2 ./app", "mpiexec -genv API_KEY *** -n 2 ./app"),
        ("mpirun -x TOKEN=x ./app", "mpirun -x TOKEN=*** ./app"),
        ("srun --export=ALL,DB_PASSWD=x,N=3 ./app", "srun --export=ALL,DB_PASSWD=***,N=3 ./app"),
        ("srun --export=MY_KEY=x ./app", "srun --export=MY_KEY=*** ./app"),
        (
            "mpirun --mca mca_base_env_list A=1;KEY=x ./app",
            "mpirun --mca mca_base_env_list A=1;KEY=*** ./app",
        ),
        ("./app https://me:x@host/path", "./app https://me:***@host/path"),
        ("./app --apiKey=x", "./app --apiKey=***"),
    ],
)
def test_values_of_what_is_named_like_a_secret_are_masked(typed, kept):
    assert " ".join(masked(typed.split())) == kept


@pytest.mark.parametrize(
    "typed",
    [
        "mpiexec -n 16 ./app -in in.lj",
        "./monkey --keyboard=us --author=me",
        "./tokens --compass 3 bypass=1",
        "./app --nsteps=5,a=b https://host/path key",
    ],
)
def test_other_words_stay(typed):
    assert " ".join(masked(typed.split())) == typed


def test_what_a_machine_file_keeps_of_a_command_has_no_secret():
    site = Site(["mpiexec", "-genv", "API_KEY", "x", "-n", "2"])
    assert site.description == "mpiexec -genv API_KEY *** -n 2"


@pytest.mark.parametrize(("keep", "kept"), [(False, "--token=***"), (True, "--token=x")])
def test_what_recordings_keep_of_a_command_is_whole_only_on_demand(keep, kept):
    assert What(arguments=keep).command(["./app", "--token=x"]) == ["./app", kept]
