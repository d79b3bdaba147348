# SPDX-License-Identifier: BSD-3-Clause
"""Structs and numbers of formats/recording.h, where their meaning is; written by formats/generate_layouts.py."""

import numpy as np

FORMAT_VERSION = 4
FORMAT_OLDEST = 3
FILE_MAGIC = 0x314E574E
CHUNK_MAGIC = 0x4B484352
FILE_HEADER_BYTES = 4096
CHUNK_BYTES = 65536
MOST_COUNTED_BITS = 56
MOST_TIME_BITS = 62
MOST_FACT_BITS = 48
FILE_HEADER = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u4"),
        ("chunk_bytes", "<u4"),
        ("calls", "<u4"),
        ("calls_crc", "<u8"),
        ("next_chunk", "<u8"),
        ("run", "<u8", (2,)),
        ("crc", "<u4"),
        ("reserved", "<u4"),
        ("node_samples", "<u8"),
        ("node_due", "<u8"),
        ("node_sampler", "<u8"),
        ("ranks_running", "<u8"),
    ]
)

# rw_chunk_kind
CHUNK_RANK = 1
CHUNK_PEERS = 2
CHUNK_COLLECTIVES = 3
CHUNK_COMMS = 4
CHUNK_TRACE = 5
CHUNK_DEAD = 6
CHUNK_HISTOGRAMS = 7
CHUNK_SITES_WITHOUT_BYTES = 8
CHUNK_MODULES = 9
CHUNK_SAMPLES = 10
CHUNK_NOTES = 11
CHUNK_NODE_SAMPLES = 12
CHUNK_NODE_NOTES = 13
CHUNK_NETWORK = 14
CHUNK_TRANSPORTS = 15
CHUNK_SITES = 16
CHUNK_KINDS = 17
CHUNK_HEADER = np.dtype(
    [
        ("magic", "<u4"),
        ("kind", "<u4"),
        ("chunks", "<u4"),
        ("rank_chunk", "<u4"),
        ("sequence", "<u8"),
        ("used", "<u8"),
        ("seal", "<u8"),
        ("first_chunk", "<u8"),
        ("run", "<u8", (2,)),
    ]
)
SEAL_CLOSED = 0x80000000
SEAL_BYTES = 0x7FFFFFFF
SEALED = np.dtype(
    [
        ("kind", "<u4"),
        ("chunks", "<u4"),
        ("rank_chunk", "<u4"),
        ("checked", "<u4"),
        ("sequence", "<u8"),
        ("slots", "<u8"),
        ("first_chunk", "<u8"),
        ("run", "<u8", (2,)),
    ]
)

# rw_mpi_flavour
MPI_UNKNOWN = 0
MPI_MPICH = 1
MPI_OPENMPI = 2
MPI_STANDARD_ABI = 3

# rw_rank_flag
FINALIZED = 1 << 0
ABORTED = 1 << 1
STORAGE_FULL = 1 << 2
TRACED = 1 << 3
APPROXIMATE_COLLECTIVES = 1 << 4
LAZY_COMMS = 1 << 5
UNCLASSIFIED = 1 << 6
UNTIMED = 1 << 7
TRACE_CUT = 1 << 8
FILE_GONE = 1 << 10

# rw_trace_coding
TRACE_EXACT = 5
TRACE_QUANTISED = 6
RANK = np.dtype(
    [
        ("world_rank", "<u4"),
        ("world_size", "<u4"),
        ("pid", "<u4"),
        ("thread", "<u4"),
        ("flavour", "<u4"),
        ("flags", "<u4"),
        ("thread_level", "<u4"),
        ("cpu_at_start", "<u4"),
        ("first_ticks", "<u8"),
        ("first_monotonic_ns", "<u8"),
        ("first_realtime_ns", "<u8"),
        ("last_ticks", "<u8"),
        ("last_monotonic_ns", "<u8"),
        ("last_realtime_ns", "<u8"),
        ("init_ticks", "<u8"),
        ("finalize_ticks", "<u8"),
        ("mpi_ticks", "<u8"),
        ("runqueue_wait_ns", "<u8"),
        ("cpu_ns", "<u8"),
        ("schedstat_samples", "<u8"),
        ("unrecorded_messages", "<u8"),
        ("affinity", "<u8", (128,)),
        ("job", "S64"),
        ("host", "S64"),
        ("mpi_library", "S256"),
        ("mpi_version", "S512"),
        ("executable", "S256"),
        ("note", "S256"),
        ("trace_coding", "<u4"),
        ("trace_unit_shift", "<u4"),
        ("call_cost_ticks_1024", "<u8"),
        ("recorder_ticks", "<u8"),
        ("sealed_ticks", "<u8"),
    ]
)
CALL_TOTAL = np.dtype(
    [
        ("count", "<u8"),
        ("ticks", "<u8"),
        ("max_ticks", "<u8"),
        ("bytes", "<u8"),
        ("min_ticks", "<u8"),
    ]
)
TICK_BINS = 48
CALL_HISTOGRAM = np.dtype(
    [
        ("call", "<u4"),
        ("reserved", "<u4"),
        ("bins", "<u8", (TICK_BINS,)),
    ]
)
SITE_ENTRY = np.dtype(
    [
        ("module", "<u4"),
        ("call", "<u2"),
        ("reserved", "<u2"),
        ("offset", "<u8"),
        ("count", "<u8"),
        ("ticks", "<u8"),
        ("bytes", "<u8"),
    ]
)
SITE_ENTRY_WITHOUT_BYTES = np.dtype(
    [
        ("module", "<u4"),
        ("call", "<u2"),
        ("reserved", "<u2"),
        ("offset", "<u8"),
        ("count", "<u8"),
        ("ticks", "<u8"),
    ]
)
MODULE_UNKNOWN = 0xFFFFFFFF
SITE_BYTES_UNKNOWN = 0xFFFFFFFFFFFFFFFF
MODULE = np.dtype(
    [
        ("path_bytes", "<u4"),
        ("reserved", "<u4"),
    ]
)
PROGRESS = np.dtype(
    [
        ("begin_ticks", "<u8"),
        ("call", "<u4"),
        ("reserved", "<u4"),
    ]
)
SAMPLES = np.dtype(
    [
        ("columns", "<u4"),
        ("room", "<u4"),
        ("rows", "<u8"),
        ("interval_ticks", "<u8"),
        ("asked_ns", "<u8"),
        ("taken", "<u8"),
        ("cost_ticks", "<u8"),
        ("aside_ticks", "<u8"),
        ("columns_crc", "<u8"),
    ]
)
NOT_KNOWN = 0x7FFFFFFFFFFFFFFF
NOT_READ = 0x7FFFFFFFFFFFFFFE
NOTE = np.dtype(
    [
        ("ticks", "<u8"),
        ("kind", "<u4"),
        ("count", "<u4"),
        ("bytes", "<u4"),
        ("reserved", "<u4"),
    ]
)

# rw_note_kind
NOTE_COLUMNS = 1
NOTE_ABSENT = 2
NOTE_ALLOWED = 3
NOTE_RAN_ON = 4
NOTE_FACT = 5
NOTE_VARIABLE = 6
NOTE_THREADS_RAN_ON = 7
NOTE_SET_BY = 8

# rw_network_kind
NETWORK_SEND = 0
NETWORK_RECEIVE = 1
NETWORK_PROGRESS = 2
NETWORK_WAIT = 3
NETWORK_KINDS = 4
NETWORK_TOTALS = 8
NETWORK_PEER = np.dtype(
    [
        ("own", "<u4", (4,)),
        ("peer", "<u4", (4,)),
        ("calls", "<u8", (NETWORK_TOTALS,)),
        ("bytes", "<u8", (NETWORK_TOTALS,)),
        ("ticks", "<u8", (NETWORK_TOTALS,)),
    ]
)

# rw_transport
TRANSPORT_SOCKETS = 0
TRANSPORT_UCX = 1
TRANSPORT_LIBFABRIC = 2
TRANSPORT_PSM2 = 3
TRANSPORTS = 4

# rw_transport_role
ROLE_NONE = 0
ROLE_PEER = 1
ROLE_OWN = 2
TRANSPORT_ENTRY = np.dtype(
    [
        ("transport", "<u4"),
        ("role", "<u4"),
        ("address", "<u8"),
        ("unsized", "<u8", (4,)),
        ("calls", "<u8", (NETWORK_TOTALS,)),
        ("bytes", "<u8", (NETWORK_TOTALS,)),
        ("ticks", "<u8", (NETWORK_TOTALS,)),
    ]
)
PEER_UNKNOWN = 0xFFFFFFFE
PEER_EMPTY = 0xFFFFFFFF
DIRECTION_RECEIVE = 0x8000
PEER_ENTRY = np.dtype(
    [
        ("peer", "<u4"),
        ("call", "<u2"),
        ("bin", "<u2"),
        ("count", "<u8"),
        ("bytes", "<u8"),
    ]
)

# rw_collective_flag
COLL_NONCOMMUTATIVE = 1 << 0
COLL_IN_PLACE = 1 << 1
COLL_BINNED = 1 << 2
COLL_INTERCOMM = 1 << 3
COLL_DERIVED_TYPE = 1 << 4
COLL_RECEIVE_SIDE = 1 << 5
ROOT_HERE = -3
COLLECTIVE_ENTRY = np.dtype(
    [
        ("call", "<u2"),
        ("flags", "<u2"),
        ("comm", "<u4"),
        ("root", "<i4"),
        ("datatype_bytes", "<u4"),
        ("bytes", "<u8"),
        ("bytes2", "<u8"),
        ("count", "<u8"),
        ("ticks", "<u8"),
    ]
)
COMM = np.dtype(
    [
        ("index", "<u4"),
        ("size", "<u4"),
        ("rank", "<u4"),
        ("runs", "<u4"),
        ("group_hash", "<u8"),
        ("instance", "<u4"),
        ("remote_size", "<u4"),
        ("remote_runs", "<u4"),
        ("reserved", "<u4"),
    ]
)
RANK_RUN = np.dtype(
    [
        ("first", "<u4"),
        ("stride", "<i4"),
        ("count", "<u4"),
    ]
)

# rw_trace_token
TOKEN_MOST_REPEATS = 239
TOKEN_NEW = 240
TOKEN_KNOWN = 241
TOKEN_SINGLE = 242
TOKEN_FORGET = 243
TOKEN_SCHED = 244
TOKEN_CHANGED_BY = 245
TOKEN_CHANGED_TO = 246
TOKEN_GAP_CPU = 247
MODEL_SHAPES = 4096
MODEL_SHAPE_BYTES = 1024
MODEL_ARENA_BYTES = 262144
MODEL_FOLLOWER_BITS = 12
MODEL_FOLLOWERS = 1 << MODEL_FOLLOWER_BITS
CODE_REACH = 7
NIBBLE_BYTE = 15
CODE_MOST = 247
SCHED_UNIT_SHIFT = 10
SCHED_COARSE_SHIFT = 17
MOST_CHANGED = 63

# rw_event_kind
EVENT_FIRST = 2048
EVENT_POLL = 2048
EVENT_SCHED = 2049
EVENT_LOST = 2050
