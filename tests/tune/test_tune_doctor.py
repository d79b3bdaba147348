# SPDX-License-Identifier: BSD-3-Clause
"""What `rankwise doctor` says that a tuner sees of a node."""

from rankwise.doctor import tuning


def test_what_a_tuner_sees_of_a_node_is_said(tmp_path):
    # GIVEN a made-up node with clocks and interrupts, and a limit of power that is none to be read
    for name in ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "proc/interrupts"):
        file = tmp_path / name
        file.parent.mkdir(parents=True)
        file.write_text("1\n")
    (tmp_path / "sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw").mkdir(parents=True)
    # THEN
    able, unable = tuning.seen(tmp_path).split("; ")
    assert able == "seen: clocks, interrupts"
    assert unable.startswith("not seen: heat, power limits, ")
    assert unable.endswith("memory traffic (resctrl)")
