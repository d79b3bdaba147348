/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes and packets of the node's network interfaces: /proc/net/dev. InfiniBand and the like say snapshot.c's
 * copies. */
#include <string.h>
#include <sys/stat.h>

#include "../formats/crc32c.h"
#include "counters/kept.h"
#include "counters/sources.h"

#define MOST_INTERFACES 128u
#define NAME_BYTES 16u /* IFNAMSIZ */

/* The numbers of a line of /proc/net/dev, and where among the columns they go. */
static const char *const fields[] = {"rx_bytes", "rx_packets", "rx_errors", "rx_dropped",
                                     "tx_bytes", "tx_packets", "tx_errors", "tx_dropped"};
static const int place_of[] = {0, 1, 2, 3, -1, -1, -1, -1, 4, 5, 6, 7};
#define FIELDS (sizeof fields / sizeof *fields)
#define NUMBERS (sizeof place_of / sizeof *place_of)

static struct rw_kept file = RW_NOT_KEPT;
static struct rw_reader reader;
static char interfaces[MOST_INTERFACES][NAME_BYTES];
static unsigned count;

/* Step behind the colon of an interface's line. @return whether this is one */
static int interface_line(char name[NAME_BYTES]) {
    if (rw_word(&reader, name, NAME_BYTES) == 0 || rw_peek(&reader) != ':')
        return 0;
    reader.at++;
    return 1;
}

static void open_interfaces(struct rw_series *series) {
    char name[NAME_BYTES];
    const int error = rw_keep(&file, "/proc/net/dev");
    if (error) {
        rw_note_absent(series, "interfaces", error, "/proc/net/dev");
        return;
    }
    unsigned there = 0;
    for (int more = rw_read_again(&reader, &file) == 0; more; more = rw_skip_line(&reader)) {
        if (!interface_line(name))
            continue;
        there++;
        if (count < MOST_INTERFACES)
            memcpy(interfaces[count++], name, NAME_BYTES);
    }
    for (unsigned i = 0; i < count; i++)
        rw_add_columns(series, "interface", interfaces[i], FIELDS);
    /* Ranks of other name spaces have other interfaces of the same names. */
    struct stat space;
    if (stat("/proc/self/ns/net", &space) == 0)
        series->columns_crc = rw_crc32c(series->columns_crc, &space.st_ino, sizeof space.st_ino);
    if (there > count)
        rw_note_absent(series, "more interfaces", 0, "only the first 128 are sampled");
}

/* Interfaces keep their order while none comes or goes; so the search begins where the last one was. */
static void read_interfaces(uint64_t *values) {
    char name[NAME_BYTES];
    unsigned at = 0;
    for (int more = rw_read_again(&reader, &file) == 0; more; more = rw_skip_line(&reader)) {
        if (!interface_line(name))
            continue;
        unsigned tried = 0;
        while (tried < count && strcmp(name, interfaces[at % count]) != 0)
            tried++, at++;
        if (tried == count)
            continue;
        for (unsigned number = 0; number < NUMBERS; number++) {
            uint64_t value;
            if (!rw_number(&reader, &value))
                break;
            if (place_of[number] >= 0)
                values[at % count * FIELDS + (unsigned)place_of[number]] = value;
        }
    }
}

const struct rw_source rw_interfaces = {open_interfaces, read_interfaces};
