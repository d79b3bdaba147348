/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters/perf_events.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/kept.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* As perf list has them. */
static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} generic[] = {
    {"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    {"bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
};

/* CACHE-OPERATIONs and CACHE-OPERATION-misses, as perf list has them. */
static int cache_event(const char *name, uint64_t *config) {
    static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
    static const char *const operations[] = {"load", "store", "prefetch"};
    for (unsigned cache = 0; cache < COUNT(caches); cache++)
        for (unsigned operation = 0; operation < COUNT(operations); operation++)
            for (unsigned missed = 0; missed < 2; missed++) {
                char text[64];
                snprintf(text, sizeof text, "%s-%s%s", caches[cache], operations[operation],
                         missed           ? "-misses"
                         : operation == 2 ? "es"
                                          : "s");
                if (strcmp(name, text) == 0) {
                    *config = cache | operation << 8 | missed << 16;
                    return 1;
                }
            }
    return 0;
}

struct processor {
    char vendor[32]; /* as /proc/cpuinfo has it; `Arm` where that has implementers */
    uint64_t family, model;
};

/* `KEY : NUMBER` of the line, whose key is read already. */
static uint64_t number_behind(struct rw_reader *reader) {
    uint64_t value = 0;
    if (rw_skip_blanks(reader) == ':') {
        reader->at++;
        rw_number(reader, &value);
    }
    return value;
}

/* The first processor of /proc/cpuinfo. */
static void find_processor(struct processor *found) {
    static struct rw_reader reader;
    struct rw_kept info;
    char word[64];
    memset(found, 0, sizeof *found);
    if (rw_keep(&info, "/proc/cpuinfo") != 0)
        return;
    for (int more = rw_read_again(&reader, &info) == 0; more && !found->model; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        if (strcmp(word, "vendor_id") == 0) {
            rw_skip_blanks(&reader);
            reader.at++;
            rw_word(&reader, found->vendor, sizeof found->vendor);
        } else if (strcmp(word, "model") == 0) {
            found->model = number_behind(&reader);
        } else if (strcmp(word, "cpu") == 0) {
            rw_word(&reader, word, sizeof word);
            if (strcmp(word, "family") == 0)
                found->family = number_behind(&reader);
        } else if (strcmp(word, "CPU") == 0) {
            rw_word(&reader, word, sizeof word);
            if (strcmp(word, "implementer") == 0)
                strcpy(found->vendor, "Arm");
        }
    }
    rw_drop(&info);
}

/*
 * Raw codes, event | umask << 8 | cmask << 24, that perf has no name for; the first line that fits counts.
 * Intel: Software Developer's Manual, volume 3B; of family 6 those of models that are no Core are excluded
 * first. AMD: Processor Programming References, PMCx064, PMCx0AE, PMCx0AF. Arm: Architecture Reference
 * Manual, PMUv3 common events.
 */
static const struct {
    const char *name, *vendor;
    uint64_t family, first_model, last_model, config;
} codes[] = {
    {"l2-misses", "GenuineIntel", 6, 60, 255, 0x10d1},   /* MEM_LOAD_RETIRED.L2_MISS */
    {"l2-misses", "AuthenticAMD", 0x17, 0, 255, 0x0864}, /* requests of loads that missed, Zen */
    {"l2-misses", "AuthenticAMD", 0x19, 0, 255, 0x0864}, /* Zen 3, 4 */
    {"l2-misses", "HygonGenuine", 0x18, 0, 255, 0x0864}, /* Zen */
    {"l2-misses", "Arm", 0, 0, 255, 0x17},               /* L2D_CACHE_REFILL */
    {"memory-stalls", "GenuineIntel", 6, 143, 143,
     0x050021a6}, /* EXE_ACTIVITY.BOUND_ON_LOADS, Sapphire Rapids */
    {"memory-stalls", "GenuineIntel", 6, 207, 207, 0x050021a6}, /* Emerald Rapids */
    {"memory-stalls", "GenuineIntel", 6, 85, 85, 0x140014a3}, /* CYCLE_ACTIVITY.STALLS_MEM_ANY, Skylake-SP */
    {"memory-stalls", "GenuineIntel", 6, 106, 106, 0x140014a3}, /* Ice Lake-SP */
    {"memory-stalls", "AuthenticAMD", 0x17, 0x30, 255, 0x02ae}, /* dispatch waits for the load queue, Zen 2 */
    {"memory-stalls", "AuthenticAMD", 0x19, 0, 255, 0x02ae},
    {"resource-stalls", "GenuineIntel", 6, 60, 94, 0x01a2},    /* RESOURCE_STALLS.ANY, Haswell to Skylake */
    {"resource-stalls", "AuthenticAMD", 0x19, 0, 255, 0x20af}, /* dispatch waits for the retire queue */
};

/* Of family 6: Atom and its like, Xeon Phi. */
static int is_no_core(uint64_t model) {
    static const uint8_t others[] = {74,  76,  77,  87,  90,  92,  93,  95,  122,
                                     133, 134, 138, 150, 156, 175, 182, 190, 221};
    for (unsigned i = 0; i < COUNT(others); i++)
        if (model == others[i])
            return 1;
    return 0;
}

/* @return whether it is a name of that list; `config` is 0 where the processor has none, or it is not known
 */
static int code_of_processor(const char *name, uint64_t *config) {
    struct processor processor = {.vendor = ""};
    int known = 0;
    *config = 0;
    for (unsigned i = 0; i < COUNT(codes) && !*config; i++) {
        if (strcmp(name, codes[i].name) != 0)
            continue;
        if (!known++)
            find_processor(&processor);
        if (strcmp(processor.vendor, codes[i].vendor) == 0 && processor.family == codes[i].family &&
            processor.model >= codes[i].first_model && processor.model <= codes[i].last_model &&
            !(codes[i].family == 6 && is_no_core(processor.model)))
            *config = codes[i].config;
    }
    return known;
}

/* libpfm4's own struct for PFM_OS_PERF_EVENT; its ABI number is the library's. */
struct encoding {
    struct perf_event_attr *event;
    char **full_name;
    size_t size;
    int index, cpu, flags;
};
#define PFM_OS_PERF_EVENT 1
#define PFM_PLM0 1
#define PFM_PLM3 8

static const char *libpfm_event(const char *name, struct perf_event_attr *event) {
    static char why[160];
    void *library = dlopen("libpfm.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return "no such name of perf's, and libpfm.so.4 (libpfm4) is not there to look it up";
    int (*initialize)(void);
    int (*encode)(const char *, int, int, void *);
    const char *(*message)(int);
    *(void **)&initialize = dlsym(library, "pfm_initialize");
    *(void **)&encode = dlsym(library, "pfm_get_os_event_encoding");
    *(void **)&message = dlsym(library, "pfm_strerror");
    if (!initialize || !encode || !message)
        return "libpfm.so.4 lacks its functions";
    struct encoding encoding = {.event = event, .size = sizeof encoding};
    int error = initialize();
    if (!error)
        error = encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &encoding);
    if (!error)
        return NULL;
    snprintf(why, sizeof why, "no such name of perf's, and libpfm4 says: %s", message(error));
    return why;
}

const char *rw_perf_event(const char *name, struct perf_event_attr *event) {
    char *end;
    memset(event, 0, sizeof *event);
    event->size = sizeof *event;
    for (unsigned i = 0; i < COUNT(generic); i++)
        if (strcmp(name, generic[i].name) == 0) {
            event->type = generic[i].type;
            event->config = generic[i].config;
            return NULL;
        }
    uint64_t config = 0;
    if (cache_event(name, &config)) {
        event->type = PERF_TYPE_HW_CACHE;
        event->config = config;
        return NULL;
    }
    event->type = PERF_TYPE_RAW;
    if (name[0] == 'r' && isxdigit((unsigned char)name[1])) {
        event->config = strtoull(name + 1, &end, 16);
        if (!*end)
            return NULL;
    }
    if (code_of_processor(name, &config)) {
        event->config = config;
        return config ? NULL : "its code on this processor is not known: give it as rNNN";
    }
    return libpfm_event(name, event);
}
