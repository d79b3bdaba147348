# SPDX-License-Identifier: BSD-3-Clause
"""Nodes from synthetic descriptions, XML files and saved files, with hand-computed answers."""

import os
import subprocess
import sys
import tarfile

import pytest

from rankwise.errors import RankwiseError
from rankwise.machine import hwloc, topology
from rankwise.machine.topology import NodeTopology


def test_a_description_without_a_pu_level_has_one_pu_a_core():
    node = topology.from_synthetic("package:2 core:2")
    assert node.pus == ((0,), (1,), (2,), (3,))
    assert node.packages == (0, 0, 1, 1)
    assert node.caches == ()


@pytest.mark.parametrize(
    "description",
    [
        "package:2 core:2(indexes=0,2,1,3)",
        "package:2 core:2(indexes=0,2,1,3) pu:1",
        "package:2 core:2 pu:1(indexes=0,2,1,3)",
    ],
)
def test_indexes_number_the_pus_wherever_they_stand(description):
    # GIVEN the node of claim C-cores: OS cores 0 and 2 in one package, 1 and 3 in the other
    node = topology.from_synthetic(description)
    # THEN logical order is by package and OS order alternates
    assert node.pus == ((0,), (2,), (1,), (3,))
    assert node.packages == (0, 0, 1, 1)
    assert node.os_order == (0, 2, 1, 3)
    assert [node.packages[core] for core in node.os_order] == [0, 1, 0, 1]


def test_hwlocs_interleaving_of_indexes_is_understood():
    node = topology.from_synthetic("package:2 core:2 pu:2(indexes=package:core)")
    assert node.pus == ((0, 4), (2, 6), (1, 5), (3, 7))


def test_only_caches_that_cores_share_are_kept():
    node = topology.from_synthetic("pack:2 numa:1 l3:2 l2:2 l1:2 core:1 pu:2")
    assert node.cores == 16
    assert node.caches == (
        ("L2", tuple(core // 2 for core in range(16))),
        ("L3", tuple(core // 4 for core in range(16))),
    )
    assert node.numa_nodes == (0,) * 8 + (1,) * 8
    assert node.pus[3] == (6, 7)


def test_a_machine_of_pus_without_cores_counts_each_as_one():
    assert topology.from_synthetic("4").pus == ((0,), (1,), (2,), (3,))


def test_more_than_64_pus_and_empty_words_of_a_cpuset_are_read():
    # GIVEN NUMA nodes whose sets have whole zero words
    node = topology.from_synthetic("package:3 [numa] core:64 pu:1")
    assert node.numa_nodes == node.packages == (0,) * 64 + (1,) * 64 + (2,) * 64
    assert max(node.allowed) == 191


def test_the_hash_knows_content_and_not_the_spelling():
    one = topology.from_synthetic("package:2 core:2")
    assert one.sha256 == topology.from_synthetic("pack:2 core:2 pu:1").sha256
    assert one.sha256 != topology.from_synthetic("package:2 core:2(indexes=0,2,1,3)").sha256
    assert NodeTopology.from_dict(one.to_dict()).sha256 == one.sha256


def test_the_hash_never_changes_because_files_carry_it():
    known = "0fb71ef7"
    assert topology.from_synthetic("package:2 core:2").sha256.startswith(known)


def test_an_xml_file_gives_the_node_it_was_written_from(tmp_path):
    path = tmp_path / "node.xml"
    path.write_bytes(hwloc.xml_of_synthetic("package:2 l2:2 core:2 pu:1"))
    assert topology.describe(str(path)) == topology.from_synthetic("package:2 l2:2 core:2")


def test_cores_of_os_indices():
    node = topology.from_synthetic("package:2 core:2 pu:2(indexes=package:core)")
    assert node.cores_of([1, 5, 6]) == (1, 2)
    assert node.cores_of([99]) == ()


def test_this_machine_has_cores():
    node = topology.from_this_machine()
    assert node.cores >= 1
    assert len(node.core_of_pu) == sum(map(len, node.pus))


def test_a_node_is_read_from_its_saved_files(tmp_path):
    # GIVEN the files of /sys of a node with 2 packages of 2 cores, numbered alternately
    for pu, package in enumerate((0, 1, 0, 1)):
        folder = tmp_path / f"root/sys/devices/system/cpu/cpu{pu}/topology"
        folder.mkdir(parents=True)
        siblings = 0b0101 << package
        (folder / "physical_package_id").write_text(f"{package}\n")
        (folder / "core_id").write_text(f"{pu // 2}\n")
        (folder / "core_cpus").write_text(f"{1 << pu:08x}\n")
        (folder / "thread_siblings").write_text(f"{1 << pu:08x}\n")
        (folder / "package_cpus").write_text(f"{siblings:08x}\n")
        (folder / "core_siblings").write_text(f"{siblings:08x}\n")
    cpu = tmp_path / "root/sys/devices/system/cpu"
    for name in ("online", "possible", "present"):
        (cpu / name).write_text("0-3\n")
    with tarfile.open(tmp_path / "host.topology.tar", "w") as archive:
        archive.add(tmp_path / "root/sys", arcname="sys")
    # WHEN they are read from the directory and from the recorder's archive
    node = topology.from_saved_files(tmp_path / "root")
    again = topology.from_saved_files(tmp_path / "host.topology.tar")
    # THEN they are that node
    assert node.pus == ((0,), (2,), (1,), (3,))
    assert node.packages == (0, 0, 1, 1)
    assert again == node


def test_an_archive_cannot_write_outside(tmp_path):
    (tmp_path / "evil").write_text("x")
    with tarfile.open(tmp_path / "host.tar", "w") as archive:
        archive.add(tmp_path / "evil", arcname="../../escaped")
    with pytest.raises(RankwiseError):
        topology.from_saved_files(tmp_path / "evil")
    topology_or_error(tmp_path / "host.tar")
    assert not (tmp_path.parent / "escaped").exists()


def topology_or_error(path):
    try:
        return topology.from_saved_files(path)
    except RankwiseError as error:
        return error


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("rubbish:2", "not an hwloc synthetic description"),
        ("package:x l2:1 core:2 pu:1(indexes=0,2,1,3)", "not an hwloc synthetic description"),
        ("", "empty description"),
        ("package:2 core:0", "not an hwloc synthetic description"),
        ("package:2 core:2(indexes=0,2,1)", "lists 3 indexes for 4 PUs"),
        ("package:2 core:2(indexes=0,2,1,1)", "lists the index 1 twice"),
        ("core:2(indexes=1,0) pu:2", "numbers its cores but not its PUs"),
        ("missing.xml", "no topology file"),
    ],
)
def test_a_wrong_description_is_one_sentence_with_a_hint(description, words):
    with pytest.raises(RankwiseError, match=words) as caught:
        topology.describe(description)
    assert caught.value.hint


def test_an_xml_file_that_is_no_topology_is_said_so(tmp_path):
    path = tmp_path / "node.xml"
    path.write_text("<html/>")
    with pytest.raises(RankwiseError, match="not a topology that hwloc can read"):
        topology.from_xml_file(path)


def test_a_wrong_library_is_named(monkeypatch):
    hwloc.library.cache_clear()
    monkeypatch.setenv("RANKWISE_HWLOC", "/nowhere/libhwloc.so.15")
    with pytest.raises(RankwiseError, match="/nowhere/libhwloc.so.15"):
        hwloc.library()


def test_the_library_that_comes_with_the_package_works(monkeypatch):
    # GIVEN no system hwloc is asked for
    hwloc.library.cache_clear()
    copies = hwloc.own_copies()
    assert copies, "the package was installed without its hwloc"
    monkeypatch.setenv("RANKWISE_HWLOC", copies[0])
    # THEN ours reads a node
    assert topology.from_synthetic("package:2 core:2").packages == (0, 0, 1, 1)
    hwloc.library.cache_clear()


def test_a_library_that_something_else_loaded_is_found_by_the_process_that_reads_a_description():
    # GIVEN a process that has loaded a libhwloc.so.15 from where the loader does not look
    code = (
        "import ctypes, subprocess; from rankwise.machine import hwloc, topology; run = subprocess.run; "
        "subprocess.run = lambda words, **how: print(words[4]) or run(words, **how); "
        "ctypes.CDLL(hwloc.own_copies()[0]); print(topology.from_synthetic('core:2').cores)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "RANKWISE_HWLOC"}
    # WHEN it reads a node THEN the process that it starts for that loads the same file
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == [hwloc.own_copies()[0], "2"]


@pytest.mark.parametrize("index", ["-1", "4294967295"])
def test_a_number_of_a_pu_that_would_need_a_set_of_billions_is_refused_by_line(tmp_path, index):
    path = tmp_path / "node.xml"
    text = hwloc.xml_of_synthetic("package:2 core:2 pu:1")
    path.write_bytes(text.replace(b'type="PU" os_index="2"', f'type="PU" os_index="{index}"'.encode()))
    with pytest.raises(RankwiseError, match=f"line [0-9]+ key `os_index`: `{index}` is no number"):
        topology.from_xml_file(path)


def test_an_archive_that_holds_more_than_a_node_is_refused_before_it_is_unpacked(tmp_path):
    # GIVEN a file that says that it holds 300 MiB, and one that has them
    claimed, large = tarfile.TarInfo("proc/cpuinfo"), tmp_path / "large.topology.tar"
    claimed.size = 300 << 20
    path = tmp_path / "n0.topology.tar"
    for file in (path, large):
        file.write_bytes(claimed.tobuf())
    os.truncate(large, 300 << 20)
    for file in (path, large):
        # THEN it is not unpacked, and the size that is allowed is named
        with pytest.raises(RankwiseError, match="cannot be read") as caught:
            topology.from_saved_files(file)
        assert "it holds more than" in caught.value.causes[0]


@pytest.mark.parametrize("packed", ["gz", "bz2", "xz"])
def test_a_compressed_archive_is_refused_as_its_size_says_nothing(tmp_path, monkeypatch, packed):
    # GIVEN a file of a node, compressed
    with tarfile.open(tmp_path / "n0.topology.tar", f"w:{packed}") as archive:
        (tmp_path / "online").write_text("0-3\n")
        archive.add(tmp_path / "online", arcname="sys/devices/system/cpu/online")
    # THEN nothing of it is unpacked
    monkeypatch.setattr(topology, "_unpack", lambda *_: pytest.fail("it is unpacked"))
    with pytest.raises(RankwiseError, match="cannot be read"):
        topology.from_saved_files(tmp_path / "n0.topology.tar")


def test_what_ends_hwloc_does_not_end_us(tmp_path, monkeypatch):
    # GIVEN a library that ends its process as hwloc's assertions do
    source, library = tmp_path / "hwloc.c", tmp_path / "libhwloc.so.15"
    names = ("destroy", "set_flags", "set_synthetic", "set_xml", "load", "export_xmlbuffer")
    source.write_text(
        "#include <stdlib.h>\nunsigned hwloc_get_api_version(void) { return 2 << 16; }\n"
        "int hwloc_topology_init(void **t) { return 0; }\nvoid hwloc_free_xmlbuffer(void *t, void *b) {}\n"
        + "".join(f"int hwloc_topology_{name}(void *t) {{ abort(); }}\n" for name in names)
    )
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    monkeypatch.setenv("RANKWISE_HWLOC", str(library))
    hwloc.library.cache_clear()
    try:
        # THEN it is an error that says so
        with pytest.raises(RankwiseError) as caught:
            topology.from_synthetic("package:7 core:3")
        assert "SIGABRT" in caught.value.causes[0]
    finally:
        hwloc.library.cache_clear()
