# SPDX-License-Identifier: BSD-3-Clause
"""Codes that the recorder asks perf_event for, on processors that this machine has not, beside their makers' tables.

Codes are event | umask << 8 | cmask << 24. Intel: Software Developer's Manual, volume 3B, performance monitoring events
(as https://perfmon-events.intel.com has them). AMD: Processor Programming References of families 17h and 19h, PMCx064,
PMCx0AE, PMCx0AF. libpfm4 of x86-64 knows no Arm processor, so there is none here.
"""

import ctypes.util
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
RAW = 4  # PERF_TYPE_RAW
NOT_KNOWN = "its code on this processor is not known: give it as rNNN"
KNOWN = {
    # Loads that missed the last level, the second level; cycles stalled with a load outstanding; for store buffers.
    "skx": {
        "MEM_LOAD_RETIRED:L3_MISS": 0x20D1,
        "MEM_LOAD_RETIRED:L2_MISS": 0x10D1,
        "LONGEST_LAT_CACHE:MISS": 0x412E,
        "CYCLE_ACTIVITY:STALLS_MEM_ANY": 0x140014A3,
        "RESOURCE_STALLS:SB": 0x08A2,
        "RESOURCE_STALLS:ANY": 0x01A2,
    },
    "icx": {
        "MEM_LOAD_RETIRED:L3_MISS": 0x20D1,
        "MEM_LOAD_RETIRED:L2_MISS": 0x10D1,
        "LONGEST_LAT_CACHE:MISS": 0x412E,
        "CYCLE_ACTIVITY:STALLS_MEM_ANY": 0x140014A3,
        "RESOURCE_STALLS:SB": 0x08A2,
    },
    "spr": {
        "MEM_LOAD_RETIRED:L3_MISS": 0x20D1,
        "MEM_LOAD_RETIRED:L2_MISS": 0x10D1,
        "LONGEST_LAT_CACHE:MISS": 0x412E,
        "EXE_ACTIVITY:BOUND_ON_LOADS": 0x50021A6,
        "RESOURCE_STALLS:SB": 0x08A2,
    },
    # Loads that missed the second level; cycles that dispatch stood still for load queue and retire tokens.
    "amd64_fam17h_zen2": {"CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C": 0x0864},
    "amd64_fam19h_zen3": {
        "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C": 0x0864,
        "DISPATCH_RESOURCE_STALL_CYCLES_1:LOAD_QUEUE_RSRC_STALL": 0x02AE,
        "DISPATCH_RESOURCE_STALL_CYCLES_2:RETIRE_TOKEN_STALL": 0x20AF,
    },
    "amd64_fam19h_zen4": {
        "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C": 0x0864,
        "DISPATCH_RESOURCE_STALL_CYCLES_1:LOAD_QUEUE_RSRC_STALL": 0x02AE,
        "DISPATCH_RESOURCE_STALL_CYCLES_2:RETIRE_TOKEN_STALL": 0x20AF,
    },
}


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    """Function (names, environment) -> what the recorder says of each."""
    room, program = TOP / "record", tmp_path_factory.mktemp("events") / "events"
    sources = [
        room / "counters" / "perf_events.c",
        room / "counters" / "kept.c",
        TOP / "tests/programs/events_main.c",
    ]
    subprocess.run(
        ["cc", "-D_GNU_SOURCE", f"-I{room}", f"-I{TOP / 'formats'}", *sources, "-ldl", "-o", program],
        check=True,
    )

    def run(*names, **environment):
        said = subprocess.run(
            [program, *names], env=os.environ | environment, capture_output=True, text=True, check=True
        )
        return said.stdout.splitlines()

    return run


@pytest.mark.skipif(ctypes.util.find_library("pfm") is None, reason="libpfm4 is not installed")
@pytest.mark.parametrize("processor", KNOWN)
def test_names_of_libpfm4_have_the_makers_codes(events, processor):
    known = KNOWN[processor]
    said = events(*known, LIBPFM_FORCE_PMU=processor)
    assert dict(zip(known, said, strict=True)) == {name: f"{RAW} {code:#x}" for name, code in known.items()}


@pytest.mark.skipif(ctypes.util.find_library("pfm") is None, reason="libpfm4 is not installed")
def test_a_name_of_another_processor_is_refused_in_words(events):
    (said,) = events("MEM_LOAD_RETIRED:L3_MISS", LIBPFM_FORCE_PMU="amd64_fam19h_zen4")
    assert "libpfm4 says: event not found" in said


def test_names_of_perf_have_the_kernels_numbers(events):
    # THEN they are those of include/uapi/linux/perf_event.h
    assert events("task-clock", "cycles", "LLC-load-misses", "dTLB-stores", "r10d1") == [
        "1 0x1", "0 0x0", "3 0x10002", "3 0x103", "4 0x10d1"
    ]  # fmt: skip


# Skylake-SP, Ice Lake-SP, Sapphire Rapids, Broadwell, Xeon Phi, Zen 2, Zen 4, Dhyana, Neoverse: vendor, family, model.
REGISTERS = {
    "skx": ("GenuineIntel", 6, 85, ["0x10d1", "0x140014a3", "0x1a2"]),
    "icx": ("GenuineIntel", 6, 106, ["0x10d1", "0x140014a3", None]),
    "spr": ("GenuineIntel", 6, 143, ["0x10d1", "0x50021a6", None]),
    "bdx": ("GenuineIntel", 6, 79, ["0x10d1", None, "0x1a2"]),
    "knl": ("GenuineIntel", 6, 87, [None, None, None]),
    "zen2": ("AuthenticAMD", 23, 49, ["0x864", "0x2ae", None]),
    "zen4": ("AuthenticAMD", 25, 17, ["0x864", "0x2ae", "0x20af"]),
    "zen1": ("AuthenticAMD", 23, 1, ["0x864", None, None]),
    "dhyana": ("HygonGenuine", 24, 1, ["0x864", None, None]),
    "other": ("CentaurHauls", 6, 15, [None, None, None]),
}


@pytest.mark.parametrize("processor", REGISTERS)
def test_each_processor_has_its_codes(events, processor, tmp_path):
    vendor, family, model, codes = REGISTERS[processor]
    lines = f"processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n"
    (tmp_path / "cpuinfo").write_text(lines + "model name\t: of a test\n")
    said = events("l2-misses", "memory-stalls", "resource-stalls", RANKWISE_PROC=str(tmp_path))
    assert said == [f"{RAW} {code}" if code else NOT_KNOWN for code in codes]


def test_arm_has_the_common_events(events, tmp_path):
    (tmp_path / "cpuinfo").write_text(
        "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    )
    assert events("l2-misses", "memory-stalls", RANKWISE_PROC=str(tmp_path)) == [f"{RAW} 0x17", NOT_KNOWN]
