/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the microbenchmarks share. A test is one question in one file; it is entered in list.c and asked by
 * steps on the command line:
 *
 *     rankwise-measure [census] [TEST:key=value:key=value...]...
 *
 * Every rank walks through the same steps. In a step some ranks are active, in pairs; the others sleep, so
 * that they leave the cores alone. Times are those of CLOCK_MONOTONIC less what reading it costs.
 *
 * Results are text lines on rank 0's stdout (launchers forward it from everywhere, also without a common file
 * system), each starting with MEASURE_MARK, so that whatever else is on stdout can be set apart:
 *
 *     sample STEP TEST PAIRS FROM TO BYTES MESSAGES SWITCHES SENTINEL_NS CPU_FROM CPU_TO V1 .. V5
 *            SETTING ROTATE WAITED
 *     point STEP TEST PAIRS FROM TO BYTES REASON
 *     others STEP BYTES RANK SECONDS CORES OTHERS_S STOLEN_S
 *     wrong STEP TEST PAIRS FROM TO BYTES
 *     end SECONDS
 *
 * SWITCHES counts how often the kernel took either rank off its core during the sample. SENTINEL_NS is the
 * time a cache line needed from one rank to the other just before, -1 if they share no memory. REASON says
 * why repetition ended: `interval` (of the median, narrow enough), `budget` (of time) or `count`; after a
 * point whose least samples fit neither `budget_s` nor `longest_s`, the step's further sizes are left out.
 * Where a launch is behind its plan (`due_s`), both are less. V1..V5 are the test's own, in seconds unless it
 * says otherwise. The last line says how long all steps took. SETTING is what the test varies besides the
 * size, ROTATE the step's `rotate_bytes`. Of a group, PAIRS is the number of its ranks, FROM and TO are its
 * first and last. WAITED is the part of the sample in which a rank that could run waited for a core, the
 * largest of all its ranks; -1 if the kernel does not say. After each point one rank a machine says how much
 * processor time others and the hypervisor used there so far, SECONDS after the start.
 */
#ifndef RANKWISE_MEASURE_H
#define RANKWISE_MEASURE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#define MEASURE_MARK "@rankwise "
#define MEASURE_MAX_PAIRS 1024
#define MEASURE_MAX_SIZES 256
#define MEASURE_VALUES 5
#define MEASURE_LEAST_EVER 3
#define MEASURE_WARM_BATCHES 3
#define MEASURE_MOST_MESSAGES 100000 /* of a batch */
#define MEASURE_SENTINEL_ROUNDS 50
#define MEASURE_MAX_CORES 4096
#define MEASURE_MAX_WINDOWS 256 /* of one stream */
#define MEASURE_TAG 77
#define MEASURE_TAG_READY 178
#define MEASURE_TAG_CONTROL 179

struct measure_test;

/* One step of the command line. Keys have the names of the members; lists are `sizes=1,8,64`, `pairs=0-1,2-3`
 * and, where ranks are to be moved to other cores for the step, `cores=4-5,6-7`. Groups have `ranks=0,1,2`
 * and `on=4,5,6` instead; their ranks and cores are in `from` and `core_from`. */
struct measure_step {
    int number;
    const struct measure_test *test;
    int pairs; /* of a group: its ranks */
    int from[MEASURE_MAX_PAIRS];
    int to[MEASURE_MAX_PAIRS];
    int bound;                        /* pairs that have cores given: the first ones */
    int core_from[MEASURE_MAX_PAIRS]; /* OS index of the core FROM runs on during the step; -1: as launched */
    int core_to[MEASURE_MAX_PAIRS];
    int sizes;
    long bytes[MEASURE_MAX_SIZES];
    double budget_s;  /* for each size */
    double longest_s; /* sizes go on growing while the least samples of one fit this, though not the budget */
    double due_s; /* after the start of the launch: by then this step and those that share its time should be
                     over */
    double
        planned_s;  /* what this step and those after it until then are planned to take; 0: no plan to keep */
    double skip_s;  /* after so long, points of this step are left out; 0: never */
    double batch_s; /* aimed length of one timed batch */
    double patience;   /* budgets that are spent on a busy machine to get samples that nobody interrupted */
    double precision;  /* half width of the median's interval, relative, that ends repetition */
    long least;        /* samples at least, unless the budget ends after LEAST_EVER of them */
    long most;         /* samples at most */
    long messages;     /* of one burst: stream, share */
    long setting;      /* what the test varies besides the size; each test says what it means */
    long waiters;      /* 1: ranks that take no part wait in MPI meanwhile, as in programs; 0: they sleep */
    long rotate_bytes; /* 0: the same buffers again and again; else they walk through this much memory */
};

/* One end of a pair during one point (a step at one size). */
struct measure_pair {
    const struct measure_step *step;
    int role; /* 0: FROM, 1: TO */
    int peer; /* world rank of the other end */
    long bytes;
    char *send; /* buffers of this end, `bytes` valid at each multiple of `stride` below `slots` */
    char *receive;
    long stride;
    long slots;
    long work;   /* for tests that compute: iterations of measure_work */
    long rounds; /* of it, for tests that poll in between */
};

/* What a batch of `messages` repetitions gave; only the measuring end fills `value`. */
struct measure_sample {
    double value[MEASURE_VALUES];
    double batch_s; /* of all messages together, on the rank that decides; only of groups */
    double sentinel_ns;
    double waited; /* part of it in which an end could run and had no core */
    long switches;
    long messages;
    long setting;
    int cpu[2];
};

/* One rank of a group during one point. */
struct measure_group {
    const struct measure_step *step;
    MPI_Comm comm;
    int rank, size; /* in `comm` */
    long bytes;
    char *send, *receive;
};

/* What all ranks of a group do together. Whatever they send is written before each batch and checked after
 * it. */
struct measure_group_test {
    long (*room)(const struct measure_group *group); /* bytes of each of the two buffers */
    void (*fill)(struct measure_group *group, uint32_t seed);
    void (*batch)(struct measure_group *group, long messages, double value[MEASURE_VALUES]);
    int (*arrived)(struct measure_group *group, uint32_t seed);
    int adds; /* values are rates, to be added over the ranks; else times, of which the longest counts */
    int fits; /* a batch has as many messages as `batch_s` has room for, at least one, at most `messages` */
};

/*
 * One question. Either `batch`, called on both ends of one pair again and again by measure_repeat; or
 * `group`, called likewise on all ranks of a group by measure_repeat_group; or `all`, called once for each
 * size on all ranks of the world for tests that choose their own course.
 */
struct measure_test {
    const char *name;
    int measured_at; /* role that measures */
    int receivers;   /* roles whose receive buffer is checked: 1 for role 0, 2 for role 1, or both */
    int repeats;     /* whether `messages` may be raised until a batch lasts batch_s */
    void (*prepare)(struct measure_pair *pair);
    void (*batch)(struct measure_pair *pair, long messages, double value[MEASURE_VALUES]);
    void (*all)(const struct measure_step *step, long bytes);
    const struct measure_group_test *group;
    int slots;          /* places that the buffers have at least; 0 is 1 */
    int before_contact; /* asked before anything else, when ranks have not talked to each other yet */
};

extern const struct measure_test *const measure_tests[]; /* list.c; ends with NULL */

/* clock.c */
double measure_now(void);
double measure_clock_cost(void); /* seconds of one measure_now */
double measure_cpu_now(void);    /* processor time of this thread; a system call, ten times slower */
double measure_cpu_clock_cost(void);
void measure_calibrate(void);
void measure_work(long iterations);    /* keeps the core busy without memory or MPI */
long measure_work_for(double seconds); /* iterations that last this long here */
long measure_switches(void);           /* involuntary context switches of this process so far */

/* waited.c: since `before`, the part of the time in which this rank could run and had no core; -1 if not
 * known */
struct measure_moment {
    double time, waited;
};
struct measure_moment measure_moment(void);
double measure_waited(struct measure_moment before);

/* others.c */
void measure_others_start(void);                                  /* collective over the world */
void measure_others(const struct measure_step *step, long bytes); /* likewise; after each point */

/* steps.c */
int measure_parse_step(const char *text, int number, int world, struct measure_step *step, char *why,
                       size_t room);

/* buffers.c: payload, written and checked outside of timed parts */
void measure_buffers(struct measure_pair *pair);
void measure_room(size_t bytes, char **send, char **receive); /* the two buffers, at least this large */
void measure_spoil(char *buffer, long bytes);                 /* so that it shows if nothing arrives */
void measure_fill(char *buffer, long bytes, uint32_t seed);
int measure_matches(const char *buffer, long bytes, uint32_t seed);

/* report.c: lines collected on any rank, printed by rank 0 */
void measure_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void measure_report_sample(const struct measure_step *step, int from, int to, long bytes,
                           const struct measure_sample *sample);
void measure_report_point(const struct measure_step *step, int from, int to, long bytes, const char *reason);
void measure_flush(void);     /* collective over the world */
void measure_die(int status); /* end all ranks, after what was said has been passed on */
void measure_wrong(const struct measure_step *step, int from, int to, long bytes); /* does not return */

/* bind.c: run on the core that the step names, then wherever the launcher allowed again */
void measure_bind(const struct measure_step *step, int pair, int role);
void measure_unbind(void);

/* rest.c: a barrier of the world in which those who wait sleep, or wait in MPI; returns the least of all
 * ranks' numbers */
int measure_rest(int number, int in_mpi);

/* sentinel.c */
void measure_sentinel_start(void);                       /* collective over the world */
double measure_sentinel(int peer, int role, int rounds); /* seconds one way; negative if there is none */

/* until.c: whether there are samples enough of a point, decided by who leads */
struct measure_until {
    const struct measure_step *step;
    long bytes;
    long messages; /* of a batch, of which a larger size takes fewer; else 1 */
    double start;
    double *clean, *all; /* times of the samples that nobody interrupted, and of all */
    long cleans, count;
    double shortest[2]; /* of all, and of the clean ones */
    double patience;    /* budgets that are spent on a busy machine to get clean ones */
};
void measure_until_begin(struct measure_until *until, const struct measure_step *step, long bytes);
const char *measure_until_took(struct measure_until *until, double took,
                               long switches);      /* why it ends; NULL: go on */
int measure_until_end(struct measure_until *until); /* whether larger messages still fit the budget */
double measure_median(double *values, long count);  /* sorts */
int measure_narrow(double *values, long count, double precision);

/* pace.c: how much of what was planned for a point there is time for, sent by rank 0 to all */
#define MEASURE_PACES 1000 /* numbers of parts */
void measure_pace_start(void);
double measure_elapsed(void);                              /* seconds since then */
int measure_pace(const struct measure_step *step, int at); /* 0 to MEASURE_PACES; 0: leave it out */
int measure_in_time(const struct measure_step *step, double seconds); /* whether that is before skip_s */
const struct measure_step *measure_paced(const struct measure_step *step, int pace);

/* repeat.c, group.c: whether larger messages still fit the budget; role 0 and rank 0 of the group know */
int measure_repeat(struct measure_pair *pair);
int measure_repeat_group(struct measure_group *group);

void measure_trip(struct measure_pair *pair); /* there and back, with the pair's own buffers */
double measure_round_trip(
    struct measure_pair *pair); /* seconds of one, roughly, for tests to choose their work by */

/* interrupts.c: of devices, and softirqs for what the network received, by core; 0 if the kernel does not
 * tell */
int measure_interrupts(long *hard, long *soft);

/* busy.c: seconds that a core has been idle, -1 if the kernel does not say; how many ranks of a group are on
 * it */
double measure_idle_s(int core);
int measure_on_this_core(const struct measure_group *group, int core);

/* counters.c: of this thread so far; negative if the kernel offers no counters */
double measure_cache_misses(void);

/* peers.c */
extern double measure_resident_at_start;
double measure_resident(void);

/* census.c: who runs where, and what the library says of itself */
void measure_census(void);

#endif
