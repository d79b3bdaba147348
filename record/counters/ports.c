/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What went through the ports of InfiniBand, Omni-Path and RoCE adapters (/sys/class/infiniband) and through
 * Slingshot's (/sys/class/cxi). All their other counters say snapshot.c's copies.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/kept.h"
#include "counters/sources.h"

#define MOST_PORTS 16u
#define FIELDS 4u
#define NAME_BYTES 64u
#define PATH_BYTES 512u

/* In the order of the columns; Slingshot counts packets by size only. */
static const char *const infiniband[FIELDS] = {"port_rcv_data", "port_rcv_packets", "port_xmit_data",
                                               "port_xmit_packets"};
static const char *const cxi[FIELDS] = {"hni_sts_rx_ok_octets", NULL, "hni_sts_tx_ok_octets", NULL};

static struct {
    char name[2 * NAME_BYTES]; /* `mlx5_0/1`, `cxi0` */
    struct rw_kept files[FIELDS];
} ports[MOST_PORTS];
static unsigned count, there;
static struct rw_reader reader;

/* @return errno of the first file that cannot be opened; 0 if there is one */
static int keep_files(const char *directory, const char *const *names) {
    char path[PATH_BYTES];
    int error = 0, opened = 0;
    for (unsigned field = 0; field < FIELDS; field++) {
        ports[count].files[field] = (struct rw_kept)RW_NOT_KEPT;
        if (!names[field] ||
            (size_t)snprintf(path, sizeof path, "%s/%s", directory, names[field]) >= sizeof path)
            continue;
        const int failed = rw_keep(&ports[count].files[field], path);
        error = error ? error : failed;
        opened += !failed;
    }
    return opened ? 0 : error;
}

static void add_port(struct rw_series *series, const char *directory, const char *name,
                     const char *const *names) {
    char text[2 * NAME_BYTES + 8];
    there++;
    if (count == MOST_PORTS)
        return;
    const int error = keep_files(directory, names);
    if (error) {
        snprintf(text, sizeof text, "port %s", name);
        rw_note_absent(series, text, error, directory);
        return;
    }
    snprintf(ports[count].name, sizeof ports[count].name, "%s", name);
    count++;
}

static DIR *open_directory(const char *directory) {
    char path[PATH_BYTES];
    rw_root_path(path, sizeof path, directory);
    return opendir(path);
}

static const char *next_entry(DIR *directory) {
    for (struct dirent *entry; directory && (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < NAME_BYTES)
            return entry->d_name;
    return NULL;
}

static void add_ports_of(struct rw_series *series, const char *adapter) {
    char path[PATH_BYTES], name[2 * NAME_BYTES];
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports", adapter);
    DIR *const directory = open_directory(path);
    for (const char *port; (port = next_entry(directory)) != NULL;) {
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%s/counters", adapter, port);
        snprintf(name, sizeof name, "%s/%s", adapter, port);
        add_port(series, path, name, infiniband);
    }
    if (directory)
        closedir(directory);
}

/* Directories have no order that would be the same in all ranks. */
static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static void open_ports(struct rw_series *series) {
    DIR *directory = open_directory("/sys/class/infiniband");
    for (const char *adapter; (adapter = next_entry(directory)) != NULL;)
        add_ports_of(series, adapter);
    if (directory)
        closedir(directory);
    directory = open_directory("/sys/class/cxi");
    for (const char *adapter; (adapter = next_entry(directory)) != NULL;) {
        char path[PATH_BYTES];
        snprintf(path, sizeof path, "/sys/class/cxi/%s/device/telemetry", adapter);
        add_port(series, path, adapter, cxi);
    }
    if (directory)
        closedir(directory);
    qsort(ports, count, sizeof *ports, by_name); /* by the first member */
    for (unsigned port = 0; port < count; port++)
        rw_add_columns(series, "port", ports[port].name, FIELDS);
    if (there > MOST_PORTS)
        rw_note_absent(series, "more ports", 0,
                       "only 16 are sampled; all are in the copies at the start and the end");
}

static void read_ports(uint64_t *values) {
    uint64_t value;
    for (unsigned port = 0; port < count; port++)
        for (unsigned field = 0; field < FIELDS; field++)
            if (ports[port].files[field].file >= 0 &&
                rw_read_again(&reader, &ports[port].files[field]) == 0 && rw_number(&reader, &value))
                values[port * FIELDS + field] = value;
}

const struct rw_source rw_ports = {open_ports, read_ports};
