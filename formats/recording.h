/* SPDX-License-Identifier: BSD-3-Clause */
// clang-format off: pictures and tables, laid out by hand
/*
 * The raw recording: what one node's ranks leave behind while the program runs.
 *
 * A recording directory NAME.rw/ holds raw/HOST.NODE.RUN.rwn, one file for each node, mapped by every rank of that node.
 * NODE tells nodes of one name apart, RUN (the first 8 digits of RANKWISE_RUN; left out without it) tells runs apart that
 * write into one directory; readers take any name that ends in .rwn. Each rank holds a shared flock() on the file as long
 * as it can write to it, where the file system has such locks and the program does not close descriptors it did not open.
 * All integers are little endian, all structs are naturally aligned and have no hidden padding.
 *
 *   offset 0                 RW_FILE_HEADER_BYTES             + n * RW_CHUNK_BYTES
 *   +------------------------+-------------+-------------+-- - - --+
 *   | rw_file_header         | chunk 0     | chunk 1     |         |
 *   +------------------------+-------------+-------------+-- - - --+
 *
 * A writer takes n consecutive chunks with one atomic fetch-and-add on `next_chunk`, has the file system allocate
 * them (posix_fallocate) and only then maps them: a store into a mapped page never meets a full disk. A file that is
 * all zeros is a valid empty file, so no rank has to be the one that initialises it.
 *
 * A run of chunks starts with an rw_chunk_header. Runs of one (job, pid, thread) belong to one rw_rank record.
 * `magic` is stored last when a run is prepared: a run without it was never used, and a reader steps over one chunk. That
 * happens to a rank that is killed in between or finds no space; else every chunk below `next_chunk` is of a run, and
 * behind the last of them the file ends.
 *
 * Version policy: a writer writes RW_FORMAT_VERSION; readers take that one and RW_FORMAT_OLDEST, in which there are no
 * samples, no notes and no network time, and zeros behind the header's `reserved`.
 *
 * Numbers that are too large to be real are damage, and readers leave them out:
 *
 *     counts and bytes              2^RW_MOST_COUNTED_BITS and more; RW_SITE_BYTES_UNKNOWN is none
 *     a collective's bytes          with `count` calls of so many, the same
 *     clocks, times and ticks       2^RW_MOST_TIME_BITS and more; the extremes of a call, and what says that there is no
 *                                   end or no interval, are none
 *     rows of samples               2^RW_MOST_TIME_BITS and more, KiB as facts, a PU of 8192 and more; RW_NOT_KNOWN and
 *                                   RW_NOT_READ are none
 *     facts                         2^RW_MOST_FACT_BITS and more
 *     offsets of call sites         2^63 and more
 *
 * A rank record with such a clock is left out as a whole, as is an entry of a table with such a number. Of an entry of
 * network time its totals are left out; of a rank record, of samples and facts the number alone.
 */
#ifndef RANKWISE_FORMATS_RECORDING_H
#define RANKWISE_FORMATS_RECORDING_H

#include <stdint.h>

#define RW_FORMAT_VERSION 4u
#define RW_FORMAT_OLDEST 3u
#define RW_FILE_MAGIC 0x314e574eu  /* "NWN1" */
#define RW_CHUNK_MAGIC 0x4b484352u /* "RCHK" */
#define RW_FILE_HEADER_BYTES 4096u
#define RW_CHUNK_BYTES 65536u
#define RW_MOST_COUNTED_BITS 56u
#define RW_MOST_TIME_BITS 62u
#define RW_MOST_FACT_BITS 48u

struct rw_file_header {
    uint32_t magic;   /* RW_FILE_MAGIC, stored by every rank that opens the file */
    uint32_t version; /* RW_FORMAT_VERSION */
    uint32_t chunk_bytes;
    uint32_t calls;     /* length of the MPI call table (formats/mpi_calls.txt) the writer was built with */
    uint64_t calls_crc; /* CRC-32 of that table's text, so that call numbers are never misread */
    uint64_t next_chunk; /* atomic */
    uint64_t run[2];     /* RANKWISE_RUN, 32 hexadecimal digits; 0 where it was not set */
    uint32_t crc; /* CRC-32C of all before it, `next_chunk` taken as 0 */
    uint32_t reserved;
    /* What the ranks of the node agree on while they run: who takes the node's samples. All atomic. */
    uint64_t node_samples;  /* 0: nobody has begun; 1: somebody prepares them; else 2 + first chunk of their run */
    uint64_t node_due;      /* ticks: the next sample of the node */
    uint64_t node_sampler;  /* pid of the rank that took the last one */
    uint64_t ranks_running; /* have started and not come to MPI_Finalize */
};

enum rw_chunk_kind {
    RW_CHUNK_RANK = 1,        /* rw_rank, then calls x rw_call_total, then rw_progress */
    RW_CHUNK_PEERS = 2,       /* open-addressing table of rw_peer_entry */
    RW_CHUNK_COLLECTIVES = 3, /* open-addressing table of rw_collective_entry */
    RW_CHUNK_COMMS = 4,       /* log of communicator definitions */
    RW_CHUNK_TRACE = 5,       /* log of events */
    RW_CHUNK_DEAD = 6,        /* a table that was outgrown and copied elsewhere */
    RW_CHUNK_HISTOGRAMS = 7,  /* log of rw_call_histogram, whole ones */
    RW_CHUNK_SITES_WITHOUT_BYTES = 8, /* as RW_CHUNK_SITES, of rw_site_entry_without_bytes: not written any more */
    RW_CHUNK_MODULES = 9,     /* log of rw_module */
    RW_CHUNK_SAMPLES = 10,      /* rw_samples, then rows: of a process; its owner is the first thread */
    RW_CHUNK_NOTES = 11,        /* log of rw_note: of the same */
    RW_CHUNK_NODE_SAMPLES = 12, /* as RW_CHUNK_SAMPLES, of the node; `rank_chunk` says who made it */
    RW_CHUNK_NODE_NOTES = 13,   /* as RW_CHUNK_NOTES, of the node */
    RW_CHUNK_NETWORK = 14,      /* rw_network_peer, the first of no peer: of a process; its owner is the first thread */
    RW_CHUNK_TRANSPORTS = 15,   /* rw_transport_entry, the first RW_TRANSPORTS of no peer: owned as the network's */
    RW_CHUNK_SITES = 16,        /* open-addressing table of rw_site_entry */
    RW_CHUNK_KINDS = 17
};

struct rw_chunk_header {
    uint32_t magic; /* RW_CHUNK_MAGIC */
    uint32_t kind;  /* enum rw_chunk_kind */
    uint32_t chunks;    /* length of the run */
    uint32_t rank_chunk; /* number of the first chunk of the owner's RW_CHUNK_RANK run */
    /*
     * 0, 1, 2, ... over the runs of this kind of this owner. Parts of a log are joined in this order. Of a table the run
     * of the highest sequence is the live one: it is published when all entries of the one before are in it, and that one
     * becomes RW_CHUNK_DEAD only afterwards. So a process killed in between leaves two, and the higher is complete.
     */
    uint64_t sequence;
    uint64_t used;      /* logs and rw_rank: bytes used behind this header; tables: slots in the table */
    uint64_t seal;      /* 0, or RW_SEAL_CLOSED? | checked bytes | CRC-32C << 32; stored at once */
    uint64_t first_chunk; /* the number of the chunk that this header is in */
    uint64_t run[2];    /* as in the file header */
};
#define RW_SEAL_CLOSED 0x80000000u
#define RW_SEAL_BYTES 0x7fffffffu

/*
 * Checksums. A run of chunks is sealed when it is finished, about once a second while it is written to, and when
 * MPI_Finalize is entered. When that has returned it is closed: nothing is stored in it any more, or it is sealed again
 * afterwards. The CRC is that of the checked bytes behind the header, followed by an rw_sealed.
 *
 *   kind                                      checked bytes                           of an open run whose CRC differs
 *   rank, peers, collectives, sites,          all that is used (tables: all slots)    it was written to since: it is not
 *   histograms, network, transports,                                                  covered, and not known to be damaged
 *   dead (none)
 *   samples                                   all that is used                        likewise
 *   comms, modules, trace, notes              those that do not change any more       it is damaged
 *   node's samples                            all, when the last rank has ended       likewise
 *
 * A closed run whose CRC differs, or that has not all that is used in it, is damaged. What an open log has behind the
 * checked bytes is not covered. The file header's CRC covers what does not change in it; for `next_chunk` there is the
 * length of the file.
 */
struct rw_sealed {
    uint32_t kind;
    uint32_t chunks;
    uint32_t rank_chunk;
    uint32_t checked; /* the lower half of the seal */
    uint64_t sequence;
    uint64_t slots;   /* `used` of tables, else 0 */
    uint64_t first_chunk;
    uint64_t run[2];
};

enum rw_mpi_flavour { RW_MPI_UNKNOWN = 0, RW_MPI_MPICH = 1, RW_MPI_OPENMPI = 2, RW_MPI_STANDARD_ABI = 3 };

/* rw_rank.flags */
enum rw_rank_flag {
    RW_FINALIZED = 1u << 0,       /* MPI_Finalize was entered; its absence means that the recording is partial */
    RW_ABORTED = 1u << 1,         /* MPI_Abort was called */
    RW_STORAGE_FULL = 1u << 2,    /* recording stopped: the file system had no space */
    RW_TRACED = 1u << 3,          /* a trace was asked for */
    RW_APPROXIMATE_COLLECTIVES = 1u << 4, /* more distinct collective sizes than fit: the rest by size bin */
    RW_LAZY_COMMS = 1u << 5,      /* a communicator was first seen in use, not at its creation */
    RW_UNCLASSIFIED = 1u << 6,    /* a handle could not be resolved: those messages have peer RW_PEER_UNKNOWN */
    RW_UNTIMED = 1u << 7,         /* calls were counted only: all ticks of calls are 0 */
    RW_TRACE_CUT = 1u << 8,       /* only a part of the calls was to be traced (a range of calls, a phase) */
    RW_FILE_GONE = 1u << 10       /* recording stopped: the node's file is no longer where it was */
};

/* rw_rank.trace_coding */
enum rw_trace_coding {
    RW_TRACE_EXACT = 5,    /* times in ticks */
    RW_TRACE_QUANTISED = 6 /* times rounded */
};

/* One thread of one MPI process. World rank and size are those of MPI_COMM_WORLD. */
struct rw_rank {
    uint32_t world_rank;
    uint32_t world_size;
    uint32_t pid;
    uint32_t thread;       /* 0 for the first thread that called MPI */
    uint32_t flavour;      /* enum rw_mpi_flavour */
    uint32_t flags;        /* enum rw_rank_flag */
    uint32_t thread_level; /* as provided: 0 single .. 3 multiple */
    uint32_t cpu_at_start; /* OS index, sched_getcpu() after MPI_Init */
    /* Two relations of the tick counter to the clocks; the last one is refreshed while running. */
    uint64_t first_ticks, first_monotonic_ns, first_realtime_ns;
    uint64_t last_ticks, last_monotonic_ns, last_realtime_ns;
    uint64_t init_ticks;     /* tick count when MPI_Init returned */
    uint64_t finalize_ticks; /* tick count when MPI_Finalize was entered, 0 if it never was */
    uint64_t mpi_ticks;      /* 0: the totals say it */
    uint64_t runqueue_wait_ns; /* /proc/thread-self/schedstat, difference since MPI_Init, sampled */
    uint64_t cpu_ns;           /* the same file's run time */
    uint64_t schedstat_samples;
    uint64_t unrecorded_messages; /* messages seen after recording stopped */
    uint64_t affinity[128];    /* sched_getaffinity() after MPI_Init, bit i = OS PU i */
    char job[64];              /* what tells this MPI job from others (PMI_JOBID, PMIX_NAMESPACE, ...) */
    char host[64];
    char mpi_library[256];     /* path of the loaded MPI library */
    char mpi_version[512];     /* MPI_Get_library_version, cut to fit */
    char executable[256];      /* /proc/self/exe */
    char note[256];            /* why something was not recorded, empty if nothing */
    uint32_t trace_coding;     /* enum rw_trace_coding */
    uint32_t trace_unit_shift; /* rounded times are in units of 2^this ticks */
    uint64_t call_cost_ticks_1024; /* what recording adds to a call: 1/1024 ticks, measured in MPI_Init; 0 if it was not */
    uint64_t recorder_ticks;   /* spent by the recorder beside that: on samples and checksums, for space; version 3: in MPI_Init, too */
    uint64_t sealed_ticks;     /* when this thread's runs were last sealed, 0 if never */
};

struct rw_call_total {
    uint64_t count;
    uint64_t ticks;     /* inside the call, outermost calls only */
    uint64_t max_ticks;
    uint64_t bytes;     /* sent by the caller; for receives, received */
    uint64_t min_ticks; /* meaningful where the call has a histogram */
};

/* How long the calls of one function took: bin k counts those of [2^k, 2^(k+1)) ticks, bin 0 those of 0 and 1. */
#define RW_TICK_BINS 48u
struct rw_call_histogram {
    uint32_t call;
    uint32_t reserved;
    uint64_t bins[RW_TICK_BINS]; /* the last one counts all longer ones too */
};

/* Calls of one function from one place of the program. */
struct rw_site_entry {
    uint32_t module; /* RW_CHUNK_MODULES index; RW_MODULE_UNKNOWN: `offset` is an address */
    uint16_t call;
    uint16_t reserved;
    uint64_t offset; /* of the return address from where the module is loaded */
    uint64_t count;  /* 0 = free slot */
    uint64_t ticks;
    /*
     * What these calls, while they were under way, added to `bytes` of their function's rw_call_total. So there is nothing
     * of messages whose bytes are counted when a later call completes or starts them.
     */
    uint64_t bytes;
};
struct rw_site_entry_without_bytes {
    uint32_t module;
    uint16_t call;
    uint16_t reserved;
    uint64_t offset;
    uint64_t count;
    uint64_t ticks;
};
#define RW_MODULE_UNKNOWN 0xffffffffu
#define RW_SITE_BYTES_UNKNOWN 0xffffffffffffffffu /* read from a table that has none */

/* Files that calls came from, numbered 0, 1, 2, ... in the order of the log. */
struct rw_module {
    uint32_t path_bytes; /* of the path behind this struct, padded with zeros to a multiple of 8 */
    uint32_t reserved;
};

/*
 * The call that a thread is in, of those that wait for other processes or files: where a rank hung, or was when it was
 * killed. Recordings made before there was such a struct have zeros there.
 */
struct rw_progress {
    uint64_t begin_ticks;
    uint32_t call; /* index into the call table + 1; 0: in no such call */
    uint32_t reserved;
};

/*
 * Samples over time: rows of a tick count and then `columns` numbers, which count from some beginning (the process's, the
 * node's start): what happened between two samples is the difference. What the columns are say notes. A row is there when
 * its ticks are not 0. When all `room` rows are filled, every second one goes and the interval doubles. A process that is
 * killed while that is done leaves rows twice: by their ticks they are the same.
 */
struct rw_samples {
    uint32_t columns;
    uint32_t room;
    uint64_t rows;
    uint64_t interval_ticks; /* at least, between two rows; UINT64_MAX: only at the start and the end */
    uint64_t asked_ns;       /* the interval asked for; 0: only at the start and the end */
    uint64_t taken;          /* samples, those that went included */
    uint64_t cost_ticks;     /* spent on them between MPI_Init and MPI_Finalize */
    uint64_t aside_ticks;    /* spent by the recorder before and after that: on storage, sources, copies */
    uint64_t columns_crc;    /* CRC-32C of the texts and counts of the notes of columns; it tells ranks that see others */
};
#define RW_NOT_KNOWN 0x7fffffffffffffffu /* in a row: this time there was no such number */
#define RW_NOT_READ 0x7ffffffffffffffeu  /* in a row: this time it was left out, as it takes long */

/* What the samples are, what is not in them, and what is known only once. Followed by a text, padded to 8 bytes with zeros. */
struct rw_note {
    uint64_t ticks;
    uint32_t kind;  /* enum rw_note_kind */
    uint32_t count; /* of columns; for RW_NOTE_ABSENT an errno, 0 where it is none */
    uint32_t bytes; /* of the text */
    uint32_t reserved;
};

enum rw_note_kind {
    RW_NOTE_COLUMNS = 1, /* the next `count` columns: `what`, or `what:of which` */
    RW_NOTE_ABSENT = 2,  /* there is no `source`, tab, why */
    RW_NOTE_ALLOWED = 3, /* OS PUs that the first thread may use from here on, as `0-3,8` */
    RW_NOTE_RAN_ON = 4,  /* OS PUs on which it was seen until here */
    RW_NOTE_FACT = 5,    /* `name`, tab, value */
    RW_NOTE_VARIABLE = 6, /* MPI_T: `class:name`, tab, value, a number as printf %.17g writes it; `count`: it is a sum of these */
    RW_NOTE_THREADS_RAN_ON = 7, /* OS PUs on which threads that ran were seen until here */
    RW_NOTE_SET_BY = 8 /* file whose code set what the ALLOWED before says, by a call of libc's; empty if no such call was seen */
};

/*
 * Network time: socket calls on connected TCP and UDP sockets between MPI_Init and MPI_Finalize, whoever made them, by the two
 * addresses of the connection. A call that moved data is a send or a receive; one that moved none (EAGAIN, end of file) is
 * progress. Calls that look at many descriptors (poll, epoll_wait, select, ... without a timeout) are progress of no peer,
 * those that may sleep in it are waits. What has no peer (the first entry) has zeros for addresses; there is also what came
 * when all entries were taken. In each process all threads add up here.
 */
enum rw_network_kind {
    RW_NETWORK_SEND = 0,
    RW_NETWORK_RECEIVE = 1,
    RW_NETWORK_PROGRESS = 2,
    RW_NETWORK_WAIT = 3,
    RW_NETWORK_KINDS = 4
};

/*
 * Totals by enum rw_network_kind, first those of threads outside of MPI (also the library's own, which call no MPI), then
 * those of threads inside an MPI call.
 */
#define RW_NETWORK_TOTALS 8u
struct rw_network_peer {
    uint32_t own[4]; /* 16 bytes as they are on the wire: IPv6, or IPv4 as ::ffff:a.b.c.d */
    uint32_t peer[4];
    uint64_t calls[RW_NETWORK_TOTALS];
    uint64_t bytes[RW_NETWORK_TOTALS];
    uint64_t ticks[RW_NETWORK_TOTALS];
};

/*
 * Network time of transports that are not sockets: calls of their functions, when and where as RW_CHUNK_NETWORK, by the
 * peer's address. That is kept as a hash: what tells endpoints apart differs by transport (record/shim). The addresses of
 * the process itself are entries of role own, without totals; a peer is the process whose own address is the same.
 *
 *   send, receive   messages as they were handed over, whatever the transport did with them in that call
 *   progress        calls for progress and completions in which something happened; flushes that do not block; failures
 *   wait            those in which nothing did, and those that block
 *
 * The entries 0 .. RW_TRANSPORTS - 1 are those of no peer, by transport. A transport's call inside another's (a socket
 * call is one, too) adds calls and bytes; ticks are those of the outermost.
 */
enum rw_transport {
    RW_TRANSPORT_SOCKETS = 0, /* those are in RW_CHUNK_NETWORK */
    RW_TRANSPORT_UCX = 1,
    RW_TRANSPORT_LIBFABRIC = 2,
    RW_TRANSPORT_PSM2 = 3,
    RW_TRANSPORTS = 4
};
enum rw_transport_role { RW_ROLE_NONE = 0, RW_ROLE_PEER = 1, RW_ROLE_OWN = 2 };
struct rw_transport_entry {
    uint32_t transport;
    uint32_t role;
    uint64_t address; /* FNV-1a */
    /* Calls that do not say how many bytes: `bytes` has not theirs. Sends, receives outside of MPI, then those inside. */
    uint64_t unsized[4];
    uint64_t calls[RW_NETWORK_TOTALS];
    uint64_t bytes[RW_NETWORK_TOTALS];
    uint64_t ticks[RW_NETWORK_TOTALS];
};

#define RW_PEER_UNKNOWN 0xfffffffeu
#define RW_PEER_EMPTY 0xffffffffu /* free slot, with call 0xffff */
#define RW_DIRECTION_RECEIVE 0x8000u

/*
 * Messages to or from one world rank by one MPI call, of one size range. Empty slots have count 0.
 * One-sided operations are entered by their origin alone: what goes to the target as sent, what comes back as received.
 * Each partition of a partitioned operation is a message. What MPI_Isendrecv received is missing on MPICH, whose status
 * does not say it.
 * Size bins include their upper bound, as the ranges (a, b] of Chai, Gao & Panda, section 5.2:
 *   bin 0: 0 bytes;  bin 1: 1 byte;  bin k: (2^(k-2), 2^(k-1)] bytes.
 */
struct rw_peer_entry {
    uint32_t peer;
    uint16_t call; /* index into the call table, | RW_DIRECTION_RECEIVE for what was received */
    uint16_t bin;
    uint64_t count; /* 0 = free slot */
    uint64_t bytes;
};

/* rw_collective_entry.flags */
enum rw_collective_flag {
    RW_COLL_NONCOMMUTATIVE = 1u << 0,
    RW_COLL_IN_PLACE = 1u << 1,
    RW_COLL_BINNED = 1u << 2,      /* bytes is the upper bound of a size bin, not exact */
    RW_COLL_INTERCOMM = 1u << 3,
    RW_COLL_DERIVED_TYPE = 1u << 4,
    RW_COLL_RECEIVE_SIDE = 1u << 5 /* this rank's own contribution is not significant (non-root of scatter, ...) */
};

/* rw_collective_entry.root: this rank of an intercommunicator is the root (MPI_ROOT). */
#define RW_ROOT_HERE (-3)

/*
 * Collective calls with equal arguments. `bytes` is, by operation:
 *   bcast, reduce, allreduce, scan, exscan                    the whole buffer
 *   gather, scatter, allgather, alltoall, reduce_scatter_block one rank's block
 *   gatherv, scatterv, allgatherv, alltoallv/w, reduce_scatter this rank's own block(s), summed; bytes2 = sum over ranks
 *                                                              where this rank knows it (root, or all), else 0
 *   neighbor_allgather(v), neighbor_alltoall                   what one neighbour gets
 *   neighbor_alltoallv/w                                       what all neighbours get
 *   barrier                                                    0
 * Persistent operations are entered when they are started, under the call that made them.
 * Messages of alltoallv, alltoallw, gatherv, scatterv and the neighbourhood collectives are also entered, as sent by
 * this rank, into the peers table, because only their caller knows each size: for the first four without empty ones
 * and those to itself, which no implementation sends; for the neighbourhood collectives with both.
 */
struct rw_collective_entry {
    uint16_t call;
    uint16_t flags;
    uint32_t comm; /* RW_CHUNK_COMMS index */
    int32_t root;  /* rank in comm, -1 where there is none; intercommunicators: in the other group, RW_ROOT_HERE */
    uint32_t datatype_bytes; /* size of one element */
    uint64_t bytes;
    uint64_t bytes2;
    uint64_t count; /* 0 = free slot */
    uint64_t ticks;
};

/*
 * Communicators, appended to RW_CHUNK_COMMS as they appear; index 0 is MPI_COMM_WORLD, 1 is MPI_COMM_SELF.
 * A definition is rw_comm followed by `runs` rw_rank_run (the group, in communicator rank order). `group_hash` and
 * `instance` (the how-many-th communicator with this very group) name the communicator on every member alike, so a
 * large irregular group is written by its first two members only (runs = 0 elsewhere). Definitions follow each other
 * without padding, so every second one may begin at a multiple of 4 that is none of 8: read them by copying.
 */
struct rw_comm {
    uint32_t index;
    uint32_t size;
    uint32_t rank; /* this process's rank in it */
    uint32_t runs;
    uint64_t group_hash; /* FNV-1a over the members' world ranks as 32-bit little-endian words */
    uint32_t instance;
    uint32_t remote_size; /* intercommunicators: a second list of `remote_runs` runs follows */
    uint32_t remote_runs;
    uint32_t reserved;
};

/* World ranks first, first + stride, ..., count of them; first = RW_PEER_UNKNOWN: processes outside this world (spawned). */
struct rw_rank_run {
    uint32_t first;
    int32_t stride;
    uint32_t count;
};

/*
 * The trace: each thread's events in program order, packed as LEB128 varints ("u") and zigzag varints ("z"). Varints may
 * be longer than they need be (bytes 0x80 before the last), so that a number can be changed where it stands.
 * The used bytes of the RW_CHUNK_TRACE runs of one owner, joined by `sequence`, are the stream; an event never
 * crosses a run. The stream starts with the first call after MPI_Init: the gap of its first event begins at `init_ticks`.
 * With RW_TRACE_CUT it may start and stop anywhere, a phase also several times: the time in between is in no gap. Requests
 * may be completed then that were taken before.
 *
 * Every event has a kind, a gap, a duration and a payload; "Coding", below, says how they are packed.
 * kind < RW_EVENT_FIRST is an index into the call table; gap and duration are ticks: since the end of the event
 * before (the computation), and inside the call. By class of call the payload is:
 *
 *   send      MPI_Send ...        u comm  z peer  z tag  u bytes
 *   isend     MPI_Isend ...       as send; takes the next request number
 *   recv      MPI_Recv ...        u comm  z posted_peer  z posted_tag  z peer  z tag  u bytes
 *   irecv     MPI_Irecv ...       u comm  z posted_peer  z posted_tag  u capacity_bytes; takes the next request number
 *   sendrecv  MPI_Sendrecv ...    send payload, then recv payload
 *   isendrecv                     send payload, then irecv payload; takes one request number
 *   init      MPI_Send_init, MPI_Recv_init, ...   as isend or irecv; takes the next request number, starts nothing
 *   start     MPI_Start(all)      u n, then n times: u back
 *   complete  MPI_Wait*, MPI_Test* that completed something:
 *                                 u n, then n times: u back  u is_receive [z peer  z tag  u bytes]
 *   probe     MPI_Probe, MPI_Mprobe, successful I(m)probe   u comm  z posted_peer  z posted_tag  z peer  z tag  u bytes
 *   collective                    u comm  z root  u flags  u datatype_bytes  u bytes  u bytes2  u n  n times: u bytes
 *   icollective                   as collective; takes the next request number
 *   cancel, request_free          u back
 *   comm      MPI_Comm_split ...  u parent  u reorder
 *   anything else                 nothing
 *
 * Peers are world ranks, -1 MPI_PROC_NULL, -2 MPI_ANY_SOURCE, -3 unknown; tags as MPI has them, -1 for MPI_ANY_TAG.
 * Request numbers count 0, 1, 2, ... over a thread in the order taken; `back` is (next number - number). A request
 * that another thread has made is further back than the first one.
 * A receive that was cancelled completes with peer -1 and 0 bytes.
 * Cancel and request_free of a request that has no number (made by a call of another class) have back 0; start and
 * complete leave such requests out.
 * `parent` is 1 + the index of the communicator that the new one was made of, 0 if the call has none, failed, or it is
 * not known; `reorder` is the argument of that name, 0 where there is none.
 * `n` values of a collective are the per-rank sizes of a v-variant where this rank knows them: what it sends to each
 * (alltoallv/w, scatterv at the root), else what each contributes (allgatherv, gatherv at the root, reduce_scatter);
 * 0 values otherwise. Neighbourhood collectives have n destinations, each "z peer  u bytes".
 *
 *   RW_EVENT_POLL      failed MPI_Test... and MPI_I(m)probe since the last event: u count; gap and duration are sums. The first
 *                      one is an event of its own (older recordings: of all together)
 *   RW_EVENT_SCHED     u runqueue_wait_ns  u cpu_ns, both since the last such event (gap 0, duration 0)
 *   RW_EVENT_LOST      u events: not recorded from here on
 *
 * Worked examples (call 12 standing for MPI_Send, 30 for MPI_Wait):
 *   MPI_Send of 300 bytes to world rank 5, tag 7, world, 1000 ticks after the last event, lasting 200 ticks, as
 *   RW_TOKEN_SINGLE:
 *       f2 0c  00 0a 0e ac 02  e8 07  c8 01
 *   MPI_Wait completing the receive request before last, 64 bytes from rank 3 with tag -1+1 = 0, gap 5, lasting 90:
 *       f2 1e  01  02 01 06 00 40  05  5a
 */
/*
 * Coding. Programs repeat themselves, so what was to be expected is left out.
 * The shape of an event is its kind and payload, `u kind payload`: all but its times. Writer and reader number the shapes
 * 0, 1, 2, ... as they appear, and remember which one came last after which, so that a loop costs only its times:
 *
 *   stream   = token ...
 *   token    = n in 1 .. RW_TOKEN_MOST_REPEATS, then n times: times       n events that were to be expected
 *            | RW_TOKEN_KNOWN   u number  times                           a shape by its number
 *            | RW_TOKEN_NEW     shape     times                           a new one, of at most RW_MODEL_SHAPE_BYTES
 *            | RW_TOKEN_SINGLE  shape  u gap  u duration                  not remembered: polls, lost ones, longer shapes
 *            | RW_TOKEN_SCHED   u wait   u cpu                            RW_EVENT_SCHED, in 2^RW_SCHED_COARSE_SHIFT ns
 *            | RW_TOKEN_FORGET                                            all is as at the start but for the carried rests
 *            | RW_TOKEN_CHANGED_BY    base changes times                  a new one, by differences from another
 *            | RW_TOKEN_CHANGED_TO    base changes times                  a new one, by the numbers that differ
 *            | RW_TOKEN_GAP_CPU u cpu                                     no event, but of the next one's gap
 *
 * A run that is cut short (its writer was killed) may end before the n events have come. `n` counts on while they come.
 *
 * RW_TOKEN_GAP_CPU says how long the thread was on a core during the gap of the next event of a call, in
 * 2^RW_SCHED_UNIT_SHIFT ns. It is there where the thread shares its core, for gaps of more than about 0.1 ms; not for
 * those of polls, and not for gaps under 1 ms that the thread had nearly all of its core.
 *
 * The base of a change is `u 0` for the shape that is expected here, else `u 1 + kind` for the last shape of that kind that
 * came. A shape's payload is numbers, whatever they mean; it must be of as many as the base's, at most RW_MOST_CHANGED:
 *
 *   changes  = u mask, of which bit i says that number i is not the base's; then these numbers in their order:
 *              CHANGED_BY   z difference of the packed numbers, modulo 2^64 (of a number packed as z: of what packing makes of it)
 *              CHANGED_TO   u the packed number
 *
 * What is expected. Let h be the numbers + 1 of the last four remembered events, 16 bits each, the last one lowest (0 at
 * the start), and x = h * 0x9e3779b97f4a7c15 modulo 2^64. Followers are kept in 2^RW_MODEL_FOLLOWER_BITS slots; the one
 * at x >> (64 - RW_MODEL_FOLLOWER_BITS) is h's if it is filled and its check equals (x >> 8) & 0xffff. Then its shape is
 * expected, with its two time codes; else the shape that came last after the last event, with the codes that shape had
 * last. After each remembered event the slot of h is filled with shape, check and codes, the shape becomes the one that
 * came last after the event before, and h moves on. A shape given by number has the codes it had last for expected ones,
 * a new one those of the event before (0 at the start), a changed one those its base had last. If there are RW_MODEL_SHAPES of them or a new one would not fit
 * into RW_MODEL_ARENA_BYTES together with all others, RW_TOKEN_FORGET comes first. So reader and writer need about 0.4 MB.
 *
 * Times, exact: u gap  u duration, in ticks. Rounded: both as codes, one byte (gap's nibble * 16 +
 * duration's) and what these ask for, gap's first: nibble 0 .. 2 * RW_CODE_REACH means expected code - RW_CODE_REACH +
 * nibble, RW_NIBBLE_BYTE a code in a byte of its own. A code c means c units of 2^trace_unit_shift ticks if c < 8, else
 * (4 + c % 4) << (c / 4 - 1) units: three significant bits. Codes go up to RW_CODE_MOST.
 *
 * Error bound: what rounding left of a time is carried to the next gap (or duration) of the same power of two. The steps
 * between 2^k and 2^(k+1) are 2^k / 4, so at most 2^k / 8 is left, or twice that where a time was rounded up beyond
 * 2^(k+1). So each time is off by at most 3/8 of itself and a unit (1/8 without what was carried), and the sum of all
 * times of one power of two by at most 1/4 of the longest, however many there are; that of all times by half of the
 * longest, and a unit for each power of two.
 *
 * Worked example, of call 12 standing for MPI_Send of 8 bytes to world rank 1, four times, unit shift 0, gaps of 5 and
 * durations of 3: the first is new; that it follows itself is not expected the first time; the other two are, and so are
 * their times. (The call's number takes one byte here.)
 *       f0 0c 00 02 00 08 ca f1 00 77 02 77 77
 * One of 24 bytes behind these, as long and as long after: 24 - 8 = 16 in number 3, of mask 8.
 *       f5 00 08 20 77
 */
enum rw_trace_token {
    RW_TOKEN_MOST_REPEATS = 239,
    RW_TOKEN_NEW = 240,
    RW_TOKEN_KNOWN = 241,
    RW_TOKEN_SINGLE = 242,
    RW_TOKEN_FORGET = 243,
    RW_TOKEN_SCHED = 244,
    RW_TOKEN_CHANGED_BY = 245,
    RW_TOKEN_CHANGED_TO = 246,
    RW_TOKEN_GAP_CPU = 247
};
#define RW_MODEL_SHAPES 4096u
#define RW_MODEL_SHAPE_BYTES 1024u
#define RW_MODEL_ARENA_BYTES 262144u
#define RW_MODEL_FOLLOWER_BITS 12u
#define RW_MODEL_FOLLOWERS (1u << RW_MODEL_FOLLOWER_BITS)
#define RW_CODE_REACH 7u
#define RW_NIBBLE_BYTE 15u
#define RW_CODE_MOST 247u
#define RW_SCHED_UNIT_SHIFT 10u
#define RW_SCHED_COARSE_SHIFT 17u
#define RW_MOST_CHANGED 63u

enum rw_event_kind { RW_EVENT_FIRST = 2048, RW_EVENT_POLL = 2048, RW_EVENT_SCHED = 2049, RW_EVENT_LOST = 2050 };

#endif
