# SPDX-License-Identifier: BSD-3-Clause
"""Variables for the ranks: each launcher's own way, and the user's LD_PRELOAD kept behind ours."""

import pytest
from fake_launchers import fake_launcher

from rankwise.errors import RankwiseError
from rankwise.launchers import emit_environment, parse

OURS = {"LD_PRELOAD": "/r.so", "RANKWISE_DIR": "/a b"}


@pytest.fixture
def emitted(tmp_path):
    """Function: the words after the launcher, and the launcher's environment."""

    def emit(says, words, inherited=None, variables=OURS):
        word = fake_launcher(tmp_path, "srun" if says == "slurm" else "mpiexec", says)
        launch = emit_environment(parse([word, *words.split()]), variables, inherited or {})
        assert launch.words[0] == word
        return launch.words[1:], launch.environment

    return emit


GENV = ["-genv", "LD_PRELOAD", "/r.so", "-genv", "RANKWISE_DIR", "/a b"]
X = ["-x", "LD_PRELOAD=/r.so", "-x", "RANKWISE_DIR=/a b"]


def test_hydra_sets_them_once_for_all_segments(emitted):
    words, environment = emitted("hydra", "-n 2 ./a x : -n 1 ./b")
    assert words == [*GENV, *["-n", "2", "./a", "x", ":", "-n", "1", "./b"]]
    assert environment == {}


@pytest.mark.parametrize(
    ("words", "inherited", "expected"),
    [
        ("-n 2 ./a", {"LD_PRELOAD": "/u.so /v.so"}, "-n 2 ./a"),
        ("-genv LD_PRELOAD /u.so:/v.so -n 2 ./a", {"LD_PRELOAD": "/not.so"}, "-n 2 ./a"),
    ],
)
def test_hydra_keeps_what_was_preloaded(emitted, words, inherited, expected):
    merged = ["-genv", "LD_PRELOAD", "/r.so:/u.so:/v.so", *GENV[3:]]
    assert emitted("hydra", words, inherited)[0] == [*merged, *expected.split()]


def test_hydra_keeps_what_one_segment_preloads(emitted):
    words, _ = emitted("hydra", "-n 2 ./a : -n 1 -env LD_PRELOAD /u.so ./b")
    assert words == [*GENV, *["-n", "2", "./a", ":", "-n", "1", "-env", "LD_PRELOAD", "/r.so:/u.so", "./b"]]


@pytest.mark.parametrize("says", ["openmpi4", "openmpi5"])
def test_open_mpi_sets_them_in_each_segment(emitted, says):
    words, environment = emitted(says, "-np 2 ./a x : -np 1 ./b")
    assert words == [*X, *["-np", "2", "./a", "x", ":"], *X, *["-np", "1", "./b"]]
    assert environment == {}


def test_open_mpi_keeps_what_was_preloaded(emitted):
    merged = ["-x", "LD_PRELOAD=/r.so:/u.so", *X[2:]]
    words, _ = emitted("openmpi5", "-x LD_PRELOAD=/u.so -x A=1 -np 2 ./a : -np 1 ./b")
    assert words == [*merged, *["-x", "A=1", "-np", "2", "./a", ":"], *merged, *["-np", "1", "./b"]]
    assert emitted("openmpi4", "-x LD_PRELOAD ./a", {"LD_PRELOAD": "/u.so"})[0] == [*merged, "./a"]


def test_open_mpi_adds_to_a_list_of_variables_because_4_takes_no_x_beside_it(emitted):
    ours = "LD_PRELOAD=/r.so:/u.so;RANKWISE_DIR=/a b"
    words, _ = emitted("openmpi4", "--mca mca_base_env_list A=1;LD_PRELOAD=/u.so;B -np 2 ./a : ./b")
    assert words == ["--mca", "mca_base_env_list", f"A=1;B;{ours}", *["-np", "2", "./a", ":", "./b"]]
    words, _ = emitted("openmpi4", "./a", {"OMPI_MCA_mca_base_env_list": "A=1", "LD_PRELOAD": "/u.so"})
    assert words == ["--mca", "mca_base_env_list", f"A=1;{ours}", "./a"]


def test_an_appfile_of_open_mpi_4_gets_a_list_because_x_is_ignored_beside_it(emitted):
    words, _ = emitted("openmpi4", "--app lines")
    assert words == ["--mca", "mca_base_env_list", "LD_PRELOAD=/r.so;RANKWISE_DIR=/a b", "--app", "lines"]
    assert emitted("openmpi5", "--app lines")[0] == [*X, "--app", "lines"]


def test_a_value_that_a_list_cannot_hold_is_refused(emitted):
    with pytest.raises(RankwiseError, match="`/a;b` cannot be passed to the ranks: it has a semicolon"):
        emitted("openmpi4", "--app lines", variables={"RANKWISE_DIR": "/a;b"})


@pytest.mark.parametrize(
    ("words", "inherited", "expected"),
    [
        ("-n 2 ./a", {}, "ALL,LD_PRELOAD=/r.so,RANKWISE_DIR=/a b"),
        ("-n 2 --export=A,B=1 ./a", {}, "A,B=1,LD_PRELOAD=/r.so,RANKWISE_DIR=/a b"),
        ("-n 2 --export NONE ./a", {}, "LD_PRELOAD=/r.so,RANKWISE_DIR=/a b"),
        ("-n 2 --export=ALL,LD_PRELOAD=/u.so ./a", {}, "ALL,LD_PRELOAD=/r.so:/u.so,RANKWISE_DIR=/a b"),
        ("-n 2 ./a", {"LD_PRELOAD": "/u.so"}, "ALL,LD_PRELOAD=/r.so:/u.so,RANKWISE_DIR=/a b"),
        ("-n 2 ./a", {"SLURM_EXPORT_ENV": "A"}, "A,LD_PRELOAD=/r.so,RANKWISE_DIR=/a b"),
    ],
)
def test_srun_exports_them(emitted, words, inherited, expected):
    assert emitted("slurm", words, inherited) == (["--export=" + expected, "-n", "2", "./a"], {})


def test_a_variable_that_srun_has_itself_is_taken_from_it_because_it_would_count(tmp_path):
    word = fake_launcher(tmp_path, "srun", "slurm")
    inherited = {"LD_PRELOAD": "/u.so", "HOME": "/"}
    launch = emit_environment(parse([word, "-n2", "./a"]), OURS, inherited)
    assert launch.words[1] == "--export=ALL,LD_PRELOAD=/r.so:/u.so,RANKWISE_DIR=/a b"
    assert launch.environment_of_first(inherited) == {"HOME": "/"}


def test_srun_gets_a_value_with_a_comma_by_name(emitted):
    words, environment = emitted("slurm", "./a", variables={"RANKWISE_DIR": "/a,b"})
    assert (words, environment) == (["--export=ALL,RANKWISE_DIR", "./a"], {"RANKWISE_DIR": "/a,b"})


def test_srun_cannot_preload_a_path_with_a_comma(emitted):
    with pytest.raises(RankwiseError, match="it has a comma"):
        emitted("slurm", "./a", variables={"LD_PRELOAD": "/a,b.so"})


def test_without_a_launcher_they_are_the_process_own():
    launch = emit_environment(parse(["./a", "x"]), OURS, {"LD_PRELOAD": "/r.so:/u.so"})
    assert launch.words == ["./a", "x"]
    assert launch.environment == {"LD_PRELOAD": "/r.so:/u.so", "RANKWISE_DIR": "/a b"}
