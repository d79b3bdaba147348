# SPDX-License-Identifier: BSD-3-Clause
"""The daemon's systemd unit: it keeps the daemon from what it does not need, and hides nothing that it reads."""

import configparser
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import tune_driver

TOP = Path(__file__).resolve().parents[3]
UNIT = TOP / "packaging/systemd/rankwise-tune.service"
RANKWISE = Path(sys.executable).parent / "rankwise"
# systemd.exec(5): what the tuner would not see of the node.
HIDES = {
    "PrivateNetwork": "interfaces and their queues, in /sys/class/net",
    "NetworkNamespacePath": "the same",
    "ProtectProc": "other users' ranks",
    "ProcSubset": "/proc/stat, /proc/interrupts, /proc/irq",
    "PrivatePIDs": "all ranks",
    "PrivateUsers": "whose ranks they are",
    "RootDirectory": "all",
    "RootImage": "all",
    "TemporaryFileSystem": "what it is mounted over",
    "InaccessiblePaths": "these",
}
NO = ("no", "false", "off", "0", "default", "all", "")


@pytest.fixture
def service():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(UNIT)
    return unit["Service"]


@pytest.mark.parametrize("setting", HIDES)
def test_the_unit_hides_nothing_that_is_read(service, setting):
    assert service.get(setting, "no") in NO, f"it hides {HIDES[setting]}"


def test_the_unit_leaves_the_daemon_no_network(service):
    assert service["RestrictAddressFamilies"] == "AF_UNIX"
    assert service["IPAddressDeny"] == "any"


def test_a_tuner_with_a_network_of_its_own_says_what_it_does_not_see(driving, driver_program, tmp_path):
    if subprocess.run(["unshare", "--pid", "--net", "--fork", "--mount-proc", "true"]).returncode:
        pytest.skip("this user may not make network namespaces")
    # GIVEN a tuner whose network is not that of process 1, as with PrivateNetwork=yes
    apart = tmp_path / "apart"
    apart.write_text(
        "#!/bin/sh\nexec unshare --pid --fork --kill-child --mount-proc sh -c "
        f'\'unshare --net {driver_program} "$1"; exit\' sh "$@"\n'
    )
    apart.chmod(0o755)

    def unknown(driver):
        driver.sample()
        return [each for each in json.loads(driver.ask("limits"))["unknown"] if "network" in each]

    with tune_driver.Driver(tmp_path, [], apart) as driver:
        # THEN its status says so
        assert unknown(driver) == [
            "network interfaces of the node: this tuner has a network namespace of its own, and sees no others"
        ]
    # AND that of another one does not
    assert unknown(driving()) == []


@pytest.fixture
def booted(tmp_path):
    """Function (script) -> what the script printed under a systemd that has the unit, after `basic.target`."""
    if os.geteuid() != 0:
        pytest.skip("only root can boot a systemd")

    def run(script: str) -> list[str]:
        for unit in UNIT.parent.iterdir():
            (tmp_path / unit.name).write_text(unit.read_text())
        changed = ["[Service]", "ExecStart=", f"ExecStart={RANKWISE} tune --daemon"]
        if {"home", "root"} & {str(path).split("/")[1] for path in (TOP, sys.base_prefix)}:
            changed.append("ProtectHome=read-only")  # as the unit says
        (tmp_path / f"{UNIT.name}.d").mkdir()
        (tmp_path / f"{UNIT.name}.d" / "here.conf").write_text("\n".join(changed) + "\n")
        (tmp_path / "trial.sh").write_text(f"exec >{tmp_path}/said 2>&1\n{script}")
        (tmp_path / "trial.service").write_text(
            f"[Service]\nType=oneshot\nExecStart=/bin/bash {tmp_path}/trial.sh\n"
            "ExecStopPost=/usr/bin/systemctl poweroff --force\n"
        )
        done = subprocess.run(
            [Path(__file__).with_name("booted_systemd.sh"), tmp_path, TOP],
            capture_output=True,
            text=True,
        )
        if done.returncode == 77:
            pytest.skip("no systemd can be booted here")
        assert done.returncode == 0, done.stderr
        return (tmp_path / "said").read_text().splitlines()

    return run


SHOW = "systemctl show --property"
METRICS = "rankwise-tune-metrics"
TEXTFILES = "/var/lib/node_exporter/textfile_collector"


def test_systemd_starts_the_unit_and_ends_it(booted):
    # WHEN systemd starts the unit, on a node without a file for it
    said = booted(
        f"systemctl start {UNIT.stem}\n"
        f"for i in $(seq 600); do {RANKWISE} tune status --json 2>/dev/null && break; sleep 0.1; done\n"
        f"echo\nmkdir -p {TEXTFILES}\nchown nobody {TEXTFILES}\nsystemctl start {METRICS}.service\n"
        f"cat {TEXTFILES}/rankwise.prom\n"
        f"sed -i s/=30s/=3s/ /etc/systemd/system/{METRICS}.timer\nsystemctl daemon-reload\n"
        f"systemctl start {METRICS}.timer\n"
        f"for i in 1 2; do rm {TEXTFILES}/rankwise.prom\n"
        f"for j in $(seq 450); do [ -e {TEXTFILES}/rankwise.prom ] && echo again $i && break; sleep 0.1; done; done\n"
        f"systemctl stop {UNIT.stem}\n{SHOW} Result,NRestarts,ExecMainStatus {UNIT.stem}\n"
        f"systemctl start {METRICS}.service 2>/dev/null\n"
        f"find /run/rankwise {TEXTFILES} -name tune.sock -o -name '*.prom'\n"
    )
    # THEN it serves the node, changes nothing, and ends well
    document = json.loads("\n".join(said[: said.index("}") + 1]))
    status = document["tuners"][0]["status"]
    assert (status["daemon"], status["act"]) == (True, False)
    assert document["tuners"][0]["socket"] == "/run/rankwise/tune.sock"
    # AND node_exporter finds its counters, again and again, and none after its end
    assert "rankwise_tune_acting 0" in said
    assert [line for line in said if line.startswith("again")] == ["again 1", "again 2"]
    assert sorted(said[-3:]) == ["ExecMainStatus=0", "NRestarts=0", "Result=success"]


@pytest.mark.slow
def test_what_is_wrong_the_next_time_too_is_not_started_again_and_what_may_pass_is(booted):
    # GIVEN a node whose file is wrong, then one whose socket cannot be made where it is to be
    failed = f"for i in $(seq 600); do systemctl is-failed -q {UNIT.stem} && break; sleep 0.1; done\n"
    said = booted(
        "mkdir -p /etc/rankwise\necho act = 1 >/etc/rankwise/tune.toml\n"
        f"systemctl start {UNIT.stem}\n{failed}{SHOW} Result,NRestarts,ExecMainStatus {UNIT.stem}\necho then\n"
        "echo 'socket = \"/run/none/sock\"' >/etc/rankwise/tune.toml\n"
        f"sed -i s/RestartSec=50/RestartSec=0.1/ /etc/systemd/system/{UNIT.name}\nsystemctl daemon-reload\n"
        f"systemctl reset-failed {UNIT.stem}\nsystemctl start {UNIT.stem}\n{failed}"
        f"{SHOW} Result,NRestarts,ExecMainStatus {UNIT.stem}\n"
    )
    at = said.index("then")
    # THEN systemd leaves the first one alone, and tries the second one as often as the unit says
    assert sorted(said[:at]) == ["ExecMainStatus=4", "NRestarts=0", "Result=exit-code"]
    assert sorted(said[at + 1 :]) == ["ExecMainStatus=1", "NRestarts=5", "Result=exit-code"]
