# SPDX-License-Identifier: BSD-3-Clause
"""What is kept about calls besides their messages: times and their distribution, places, or counts only."""

from collections import Counter

import pytest
import raw_reader

pytestmark = pytest.mark.mpi


def test_every_call_is_in_the_histogram_of_its_function(mpi, compiled, record):
    # GIVEN a program that makes many kinds of calls
    # WHEN it is recorded
    recorded = record(mpi, 2, compiled(mpi, "messages.c"))
    # THEN each function has as many calls in its bins as it has calls, none shorter or longer than it says
    for thread in recorded.threads:
        counts = {call: total[0] for call, total in thread.totals.items() if total[0]}
        # MPI_Init returns before there is a file for its time.
        counts.pop("MPI_Init")
        assert {call: sum(bins) for call, bins in thread.histograms.items()} == counts
        for call, bins in thread.histograms.items():
            _, _, longest, _, shortest = thread.totals[call]
            used = [k for k, count in enumerate(bins) if count]
            assert used[0] == max(shortest.bit_length() - 1, 0)
            assert used[-1] == max(longest.bit_length() - 1, 0)


def test_counting_alone_gives_the_same_counts_and_no_times(mpi, compiled, environment_for, tmp_path_factory):
    # GIVEN a program that does the same in every run
    program = compiled(mpi, "messages.c")

    def run(**more):
        directory = tmp_path_factory.mktemp("recording")
        done = mpi.run(2, program, environment=environment_for(directory, **more))
        assert (done.returncode, done.stderr) == (0, "")
        return raw_reader.read(directory)

    # WHEN it is recorded with and without times
    timed, counted = run(), run(RANKWISE_COUNTS="1")
    # THEN the messages are the same, and only the times are missing
    for with_times, without in zip(timed, counted, strict=True):
        # How often these are called depends on when messages come.
        polled = ("MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Waitsome")

        calls = [
            {call: total[0] for call, total in thread.totals.items() if not call.startswith(polled)}
            for thread in (with_times, without)
        ]
        assert calls[0] == calls[1]
        assert with_times.sent == without.sent and with_times.sent_bytes == without.sent_bytes
        assert with_times.received == without.received
        assert without.has("untimed") and not with_times.has("untimed")
        assert sum(total[1] for total in with_times.totals.values()) > 0
        assert sum(total[1] + total[2] for total in without.totals.values()) == 0
        assert without.info["finalize_ticks"] > without.info["init_ticks"] > 0


def test_each_place_of_the_program_has_its_calls(mpi, compiled, record):
    # GIVEN a program that calls from many places
    # WHEN it is recorded with their places
    recorded = record(mpi, 2, compiled(mpi, "messages.c", "-g"), environment={"RANKWISE_SITES": "1"})
    # THEN the places of a function have all its calls together, and they lie in the program
    for thread in recorded.threads:
        by_call = Counter()
        for site in thread.sites:
            by_call[site["call"]] += site["count"]
            assert "messages" in thread.modules[site["module"]]
        counts = {call: total[0] for call, total in thread.totals.items() if total[0] and call != "MPI_Init"}
        assert dict(by_call) == counts
        places = Counter(site["call"] for site in thread.sites)
        assert max(places.values()) > 1
        assert places["MPI_Finalize"] == 1
        # AND what they sent or received, but of receives that later calls complete
        sizes = Counter()
        for site in thread.sites:
            sizes[site["call"]] += site["bytes"]
        for call in ("MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Recv", "MPI_Sendrecv"):
            assert sizes[call] == thread.totals[call][3], call
        assert sum(sizes.values()) > 0 and sizes["MPI_Irecv"] == 0


def test_what_recording_adds_to_a_call_is_measured_in_every_rank(mpi, compiled, record):
    recorded = record(mpi, 2, compiled(mpi, "ring.c"))
    for thread in recorded.threads:
        info = thread.info
        per_tick = (info["last_monotonic_ns"] - info["first_monotonic_ns"]) / max(
            info["last_ticks"] - info["first_ticks"], 1
        )
        # More than nothing, less than any system call.
        assert 0.5 < info["call_cost_ticks_1024"] / 1024 * per_tick < 2000
        assert info["recorder_ticks"] > 0
