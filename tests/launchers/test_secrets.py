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
        ("./app --password -x in", "./app --password *** in"),
        ("./app --password --in file", "./app --password --in file"),
        ("./app password:x", "./app password:***"),
        ("./app password: x in", "./app password: *** in"),
        ('./app {"password":"x","n":1}', './app {"password":"***","n":1}'),
        ("./app https://x@host/path", "./app https://***@host/path"),
        ("./app https://x:x-oauth-basic@host", "./app https://***@host"),
        ("./app postgres://u:x@x/x@h/db", "./app postgres://u:***@h/db"),
        ("./app https://h/?a=1&token=x&b=2", "./app https://h/?a=1&token=***&b=2"),
        ("curl -u me:x https://host", "curl -u me:*** https://host"),
        ("curl --user=me:x https://host", "curl --user=me:*** https://host"),
    ],
)
def test_values_of_what_is_named_like_a_secret_are_masked(typed, kept):
    assert " ".join(masked(typed.split())) == kept


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("./loop 3 --token hunter2", "./loop 3 --token ***"),
        ("cd 'a b' && PASSWORD=hunter2 ./loop | tee \"$f\"", "cd 'a b' && PASSWORD=*** ./loop | tee \"$f\""),
        ("mpiexec -genv API_KEY hunter2 ./app", "mpiexec -genv API_KEY *** ./app"),
        ("sh -c './a --token hunter2'", "sh -c './a --token ***'"),
        ("echo it's --password hunter2", "echo it's --password ***"),
        ('./a --password "hunter2 hunter2" b', "./a --password *** b"),
        ("curl -u me:hunter2 x", "curl -u me:*** x"),
        ("X-Api-Key: hunter2", "X-Api-Key: ***"),
        ("Authorization: Bearer hunter2", "Authorization: ***"),
        ("password=hunter2 hunter2", "password=***"),
        ('{"password": "hunter2", "n": 3}', '{"password": "***", "n": 3}'),
        ('{"auth": {"user": "me", "pass": "hunter2"}}', '{"auth": {"user": "me", "pass": "***"}}'),
        ('curl -d "{\\"password\\": \\"hunter2\\"}" u', None),
        ("curl -H 'X-Api-Key: hunter2' u", "curl -H 'X-Api-Key: ***' u"),
        ("see https://u:hunter2@h and more", "see https://u:***@h and more"),
    ],
)
def test_secrets_within_one_word_are_masked(word, kept):
    found = masked(["sh", "-c", word])
    assert "hunter2" not in found[2]
    assert kept is None or found == ["sh", "-c", kept]


@pytest.mark.parametrize(
    "typed",
    [
        "mpiexec -n 16 ./app -in in.lj",
        "./monkey --keyboard=us --author=me",
        "./tokens --compass 3 bypass=1",
        "./app --nsteps=5,a=b https://host/path key",
        "./app --max-tokens 50 --keys 3 n_tokens=4",
        "env LD_LIBRARY_PATH=/opt/key:/usr/lib ./app -x A:B:2",
        "pytest test_token.py::test_a",
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
