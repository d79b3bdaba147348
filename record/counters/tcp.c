/* SPDX-License-Identifier: BSD-3-Clause */
/* What TCP sent and sent again, in this network namespace: /proc/net/snmp. */
#include <string.h>

#include "counters/kept.h"
#include "counters/sources.h"

static const char *const names[] = {"InSegs", "OutSegs", "RetransSegs", "InErrs"};
#define NAMES (sizeof names / sizeof *names)
#define MOST_FIELDS 32u

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;

static void open_tcp(struct rw_series *series) {
    const int error = rw_keep(&file, "/proc/net/snmp");
    if (error) {
        rw_note_absent(series, "tcp", error, "/proc/net/snmp");
        return;
    }
    for (unsigned name = 0; name < NAMES; name++)
        rw_add_columns(series, "tcp", names[name], 1);
}

/* Two lines: `Tcp:` with names, and `Tcp:` with as many numbers. */
static void read_tcp(uint64_t *values) {
    int place[MOST_FIELDS], lines = 0;
    memset(place, 0xff, sizeof place);
    char word[64];
    for (int more = rw_read_again(&reader, &file) == 0; more && lines < 2; more = rw_skip_line(&reader)) {
        rw_word(&reader, word, sizeof word);
        if (strcmp(word, "Tcp") != 0 || rw_peek(&reader) != ':')
            continue;
        reader.at++;
        for (unsigned field = 0; field < MOST_FIELDS && rw_word(&reader, word, sizeof word) > 0; field++) {
            if (lines == 0) {
                place[field] = -1;
                for (unsigned name = 0; name < NAMES; name++)
                    if (strcmp(word, names[name]) == 0)
                        place[field] = (int)name;
            } else if (place[field] >= 0) {
                uint64_t value = 0;
                for (const char *digit = word; *digit >= '0' && *digit <= '9'; digit++)
                    value = value * 10 + (uint64_t)(*digit - '0');
                values[place[field]] = value;
            }
        }
        lines++;
    }
}

const struct rw_source rw_tcp = {open_tcp, read_tcp};
