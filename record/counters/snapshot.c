/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy of what is too much for samples. Of /proc/interrupts only what is not 0, as `NAME: CPU=COUNT ... |
 * WHAT`: a node of a thousand CPUs has millions of zeros there.
 */
#include "counters/snapshot.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "counters/columns_of_cpus.h"
#include "process/ticks.h"
#include "store/archive.h"
#include "store/storage.h"

/* Of one kind in a directory; nodes have up to some hundred. */
#define MOST_ENTRIES 4096u
#define PATH_BYTES 512u

static struct rw_reader reader;
static struct rw_cpu_columns columns;

static void put_text(const char *text) {
    rw_archive_put(text, strlen(text));
}

static void add_interrupts(void) {
    struct rw_kept file;
    char text[64];
    if (rw_keep(&file, "/proc/interrupts") != 0)
        return;
    if (rw_archive_begin() != 0 || rw_read_again(&reader, &file) != 0) {
        rw_drop(&file);
        return;
    }
    rw_read_cpu_columns(&reader, &columns);
    for (int more = rw_peek(&reader) >= 0; more; more = rw_skip_line(&reader)) {
        uint64_t value;
        rw_word(&reader, text, sizeof text);
        if (rw_peek(&reader) != ':')
            continue;
        reader.at++;
        put_text(text);
        put_text(":");
        for (unsigned column = 0; column < columns.count && rw_number(&reader, &value); column++) {
            if (!value)
                continue;
            snprintf(text, sizeof text, " %u=%llu", columns.cpu[column], (unsigned long long)value);
            put_text(text);
        }
        put_text(" |");
        for (int next; (next = rw_peek(&reader)) >= 0 && next != '\n'; reader.at++)
            rw_archive_put(&reader.text[reader.at], 1);
        put_text("\n");
    }
    rw_drop(&file);
    rw_archive_end("/rankwise/interrupts");
}

/* A file below /proc or /sys, wherever that is, under the name it has there. */
static void add(const char *name) {
    char path[PATH_BYTES];
    rw_root_path(path, sizeof path, name);
    rw_archive_file(path, name);
}

/* What is done with each entry of a directory. */
typedef void (*visitor)(const char *directory, const char *entry);

static void visit(const char *directory, visitor each) {
    char path[PATH_BYTES];
    unsigned count = 0;
    rw_root_path(path, sizeof path, directory);
    DIR *open_one = opendir(path);
    if (!open_one)
        return;
    for (struct dirent *entry; count < MOST_ENTRIES && (entry = readdir(open_one)) != NULL; count++)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < 64)
            each(directory, entry->d_name);
    closedir(open_one);
}

static void below(const char *directory, const char *entry, const char *rest, visitor each) {
    char path[PATH_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/%s%s", directory, entry, rest) >= sizeof path)
        return;
    if (each)
        visit(path, each);
    else
        add(path);
}

static void add_entry(const char *directory, const char *entry) {
    below(directory, entry, "", NULL);
}

static void add_queue(const char *directory, const char *entry) {
    below(directory, entry, strncmp(entry, "rx-", 3) == 0 ? "/rps_cpus" : "/xps_cpus", NULL);
}

static void add_irq(const char *directory, const char *entry) {
    (void)directory;
    rw_archive_put(" ", 1);
    put_text(entry);
}

static void add_irq_cpus(const char *directory, const char *entry) {
    (void)directory;
    below("/proc/irq", entry, "/smp_affinity_list", NULL);
    below("/proc/irq", entry, "/effective_affinity_list", NULL);
}

/* Which interrupts are a device's: of itself, or (virtio) of what it is a part of. */
static void add_irqs(const char *directory, const char *entry) {
    char name[PATH_BYTES];
    static const char *const places[] = {"/device/msi_irqs", "/device/../msi_irqs"};
    for (unsigned place = 0; place < 2; place++) {
        below(directory, entry, places[place], add_irq_cpus);
        if (rw_archive_begin() != 0)
            return;
        below(directory, entry, places[place], add_irq);
        snprintf(name, sizeof name, "%s/%s/irqs%u", directory, entry, place);
        rw_archive_end(name);
    }
}

static void add_interface(const char *directory, const char *entry) {
    static const char *const names[] = {"/operstate", "/speed", "/device/numa_node"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        below(directory, entry, names[i], NULL);
    below(directory, entry, "/queues", add_queue);
    add_irqs(directory, entry);
}

static void add_port(const char *directory, const char *entry) {
    static const char *const names[] = {"/state", "/rate", "/link_layer"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        below(directory, entry, names[i], NULL);
    below(directory, entry, "/counters", add_entry);
    below(directory, entry, "/hw_counters", add_entry);
}

static void add_infiniband(const char *directory, const char *entry) {
    below(directory, entry, "/ports", add_port);
    below(directory, entry, "/device/numa_node", NULL);
    add_irqs(directory, entry);
}

static void add_cxi(const char *directory, const char *entry) {
    below(directory, entry, "/device/telemetry", add_entry);
}

static void add_time(int meanwhile) {
    char text[64];
    if (rw_archive_begin() != 0)
        return;
    snprintf(text, sizeof text, "%llu %s\n", (unsigned long long)rw_ticks(), meanwhile ? "meanwhile" : "end");
    put_text(text);
    rw_archive_end("/rankwise/taken");
}

void rw_snapshot(const char *suffix, int meanwhile) {
    const int file = rw_storage_part(suffix);
    if (file < 0)
        return;
    add_time(meanwhile);
    add_interrupts();
    add("/proc/net/dev");
    add("/proc/net/snmp");
    add("/proc/net/netstat");
    visit("/sys/class/net", add_interface);
    visit("/sys/class/infiniband", add_infiniband);
    visit("/sys/class/cxi", add_cxi);
    rw_storage_put_in_place(suffix, rw_archive_save(file) == 0);
}
