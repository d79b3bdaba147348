/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which network devices the process has open, and which addresses its interfaces have: with the own addresses
 * of its connections (network/) that says which interfaces it uses. Looked at once at the start and the end.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "counters/kept.h"
#include "counters/sources.h"

#define MOST_DEVICES 32u
#define MOST_FILES 65536u
#define NAME_BYTES 64u

static char noted[MOST_DEVICES][NAME_BYTES];
static unsigned count;

static void note_device(struct rw_series *series, const char *name) {
    char text[NAME_BYTES + 16];
    for (unsigned i = 0; i < count; i++)
        if (strcmp(noted[i], name) == 0)
            return;
    if (count == MOST_DEVICES)
        return;
    snprintf(noted[count++], NAME_BYTES, "%s", name);
    snprintf(text, sizeof text, "device:%s", name);
    rw_note_fact(series, text, 1);
}

/* uverbs3 is which adapter? */
static void note_verbs(struct rw_series *series, const char *verbs) {
    static struct rw_reader reader;
    char path[128], name[NAME_BYTES] = "";
    struct rw_kept file;
    snprintf(path, sizeof path, "/sys/class/infiniband_verbs/%.48s/ibdev", verbs);
    if (rw_keep(&file, path) == 0) {
        if (rw_read_again(&reader, &file) == 0)
            rw_word(&reader, name, sizeof name);
        rw_drop(&file);
    }
    note_device(series, name[0] ? name : verbs);
}

static void note_open_devices(struct rw_series *series) {
    char path[512], target[128];
    rw_root_path(path, sizeof path, "/proc/self/fd");
    DIR *const directory = opendir(path);
    if (!directory) {
        rw_note_absent(series, "open devices", errno, "/proc/self/fd");
        return;
    }
    struct dirent *entry;
    for (unsigned seen = 0; seen < MOST_FILES && (entry = readdir(directory)) != NULL; seen++) {
        const ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof target - 1);
        if (length <= 0)
            continue;
        target[length] = 0;
        /* hfi1_0 of Omni-Path and cxi0 of Slingshot have the adapter's name. */
        if (strncmp(target, "/dev/infiniband/uverbs", 22) == 0)
            note_verbs(series, target + 16);
        else if (strncmp(target, "/dev/hfi1_", 10) == 0 || strncmp(target, "/dev/cxi", 8) == 0)
            note_device(series, target + 5);
    }
    closedir(directory);
}

static void note_addresses(struct rw_series *series) {
    struct ifaddrs *all;
    char address[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + NAME_BYTES];
    if (getifaddrs(&all) != 0) {
        rw_note_absent(series, "addresses of interfaces", errno, NULL);
        return;
    }
    for (const struct ifaddrs *each = all; each; each = each->ifa_next) {
        const int family = each->ifa_addr ? each->ifa_addr->sa_family : AF_UNSPEC;
        const void *const bytes =
            family == AF_INET
                ? (const void *)&((const struct sockaddr_in *)(const void *)each->ifa_addr)->sin_addr
            : family == AF_INET6
                ? (const void *)&((const struct sockaddr_in6 *)(const void *)each->ifa_addr)->sin6_addr
                : NULL;
        if (!bytes || !inet_ntop(family, bytes, address, sizeof address))
            continue;
        /* Further addresses may be called `eth0:1`. */
        const int length = (int)strcspn(each->ifa_name, ":");
        snprintf(text, sizeof text, "address:%.*s %s", length < 15 ? length : 15, each->ifa_name, address);
        rw_note_fact(series, text, 1);
    }
    freeifaddrs(all);
}

void rw_note_devices(struct rw_series *series, int at_start) {
    if (at_start)
        note_addresses(series);
    note_open_devices(series);
}
