/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's topology as the kernel tells it, for hwloc to read later: the recorder itself needs no hwloc.
 */
#include "store/topology.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/archive.h"
#include "store/storage.h"

static int starts_with(const char *name, const char *start) {
    return strncmp(name, start, strlen(start)) == 0;
}

/* What lies below /sys/devices/system/{cpu,node} and is of no use to hwloc, or is a lot. */
static int skipped(const char *name) {
    static const char *const names[] = {"power",     "cpuidle",      "microcode",       "thermal_throttle",
                                        "hotplug",   "smt",          "vulnerabilities", "vmstat",
                                        "numastat",  "uevent",       "crash_notes",     "crash_notes_size",
                                        "acpi_cppc", "intel_pstate", "amd_pstate"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return 1;
    /* Serial numbers and the like say who owns the machine, not what it is. */
    return name[0] == '.' || starts_with(name, "memory") || starts_with(name, "scaling_") ||
           starts_with(name, "stats") || strstr(name, "_list") || strstr(name, "serial") ||
           strstr(name, "uuid") || strstr(name, "asset_tag");
}

static void add_directory(const char *path, int depth) {
    DIR *directory = opendir(path);
    if (!directory)
        return;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char below[256];
        if (skipped(entry->d_name) ||
            (size_t)snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= sizeof below)
            continue;
        struct stat status;
        unsigned char type = entry->d_type;
        if (type == DT_UNKNOWN && lstat(below, &status) == 0)
            type = S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_LNK;
        if (type == DT_DIR && depth > 0)
            add_directory(below, depth - 1);
        else if (type == DT_REG)
            rw_archive_file(below, NULL);
    }
    closedir(directory);
}

/* The PUs and memory nodes that the process's control group leaves to it. */
static void add_cgroup(void) {
    char text[4096], path[sizeof text + 64];
    int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = 0;
    const char *version_2 = strstr(text, "0::/");
    if (!version_2)
        return;
    int end = (int)strcspn(version_2 + 3, "\n");
    snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/cpuset.cpus.effective", end, version_2 + 3);
    rw_archive_file(path, NULL);
    snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/cpuset.mems.effective", end, version_2 + 3);
    rw_archive_file(path, NULL);
}

void rw_save_topology(void) {
    static const char *const files[] = {
        "/proc/cpuinfo",     "/proc/meminfo",     "/proc/stat",
        "/proc/mounts",      "/proc/self/cpuset", "/proc/self/cgroup",
        "/proc/self/status", "/proc/version",     "/proc/sys/kernel/osrelease"};
    int file = rw_storage_create(".topology.tar");
    if (file < 0)
        return;
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++)
        rw_archive_file(files[i], NULL);
    add_cgroup();
    add_directory("/sys/devices/system/cpu", 4);
    add_directory("/sys/devices/system/node", 4);
    add_directory("/sys/devices/virtual/dmi/id", 0);
    add_directory("/sys/kernel/mm/hugepages", 1);
    (void)rw_archive_save(file);
}
