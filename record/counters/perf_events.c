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

/* The raw code of loads that missed the second-level cache; 0 where it is not known. */
static uint64_t l2_misses(void) {
    static struct rw_reader reader;
    uint64_t family = 0, model = 0;
    struct rw_kept info;
    char word[64], vendor[64] = "";
    if (rw_keep(&info, "/proc/cpuinfo") != 0)
        return 0;
    for (int more = rw_read_again(&reader, &info) == 0; more && !model; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        if (strcmp(word, "vendor_id") == 0) {
            rw_skip_blanks(&reader);
            reader.at++;
            rw_word(&reader, vendor, sizeof vendor);
        } else if (strcmp(word, "cpu") == 0 || strcmp(word, "model") == 0) {
            uint64_t *const number = word[0] == 'c' ? &family : &model;
            if (word[0] == 'c') {
                rw_word(&reader, word, sizeof word);
                if (strcmp(word, "family") != 0)
                    continue;
            }
            if (rw_skip_blanks(&reader) == ':') {
                reader.at++;
                rw_number(&reader, number);
            }
        }
    }
    rw_drop(&info);
    if (strcmp(vendor, "GenuineIntel") == 0 && family == 6 && model >= 60)
        return 0x10d1; /* MEM_LOAD_RETIRED.L2_MISS, Haswell and later */
    if (strcmp(vendor, "AuthenticAMD") == 0 && family >= 0x17)
        return 0x0964; /* L2 cache misses of loads and of code, Zen */
    return 0;
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
    uint64_t config;
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
    if (strcmp(name, "l2-misses") == 0) {
        event->config = l2_misses();
        return event->config ? NULL : "its code on this processor is not known: give it as rNNN";
    }
    return libpfm_event(name, event);
}
