# SPDX-License-Identifier: BSD-3-Clause
"""The daemon's systemd unit: it keeps the daemon from what it does not need, and hides nothing that it reads."""

import configparser
import json
import subprocess
from pathlib import Path

import pytest
import tune_driver

UNIT = Path(__file__).resolve().parents[2] / "packaging/systemd/rankwise-tune.service"
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
