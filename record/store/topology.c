/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node's topology as the kernel tells it, for hwloc to read later: the recorder itself needs no hwloc.
 * The files are collected in memory and written at once, below the file size limit.
 */
#include "store/topology.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/storage.h"

#define BLOCK 512u
#define MOST_FILE_BYTES (4u << 20)     /* cpuinfo of a node with 512 PUs has about 0.8 MB */
#define MOST_BYTES ((size_t)256 << 20) /* some 200,000 files; nodes have up to 60 a PU */

static char *archive;
static size_t used, reserved;

static int reserve(size_t more) {
    if (used + more <= reserved)
        return 0;
    size_t wanted = 2 * reserved + more + (1u << 20);
    if (wanted > 2 * MOST_BYTES)
        return -1;
    void *memory = archive ? mremap(archive, reserved, wanted, MREMAP_MAYMOVE)
                           : mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    archive = memory;
    reserved = wanted;
    return 0;
}

/* POSIX.1-1988 ustar: a header of 512 bytes before each file, which is padded to 512 bytes. */
static void put_header(char *at, const char *name, size_t bytes) { /* below MOST_FILE_BYTES + 64 KiB */
    memset(at, 0, BLOCK);
    memcpy(at, name, strnlen(name, 100));
    memcpy(at + 100, "0000644", 8);
    memcpy(at + 108, "0000000", 8);
    memcpy(at + 116, "0000000", 8);
    snprintf(at + 124, 12, "%011o", (unsigned)bytes);
    memcpy(at + 136, "00000000000", 12);
    memset(at + 148, ' ', 8);
    at[156] = '0';
    memcpy(at + 257, "ustar", 6);
    memcpy(at + 263, "00", 2); // NOLINT(bugprone-not-null-terminated-result): as tar has it
    unsigned sum = 0;
    for (unsigned i = 0; i < BLOCK; i++)
        sum += (unsigned char)at[i];
    snprintf(at + 148, 8, "%06o", sum);
}

/* sysfs files say 4096 bytes whatever they hold, so they are read to their end. */
static void add_file(const char *path) {
    if (used > MOST_BYTES || strlen(path + 1) >= 100)
        return;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0)
        return;
    size_t bytes = 0;
    while (bytes < MOST_FILE_BYTES && reserve(2 * BLOCK + bytes + 65536) == 0) {
        ssize_t count = read(file, archive + used + BLOCK + bytes, 65536);
        if (count <= 0)
            break;
        bytes += (size_t)count;
    }
    close(file);
    if (reserve(2 * BLOCK + bytes) != 0)
        return;
    size_t padded = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    memset(archive + used + BLOCK + bytes, 0, padded - bytes);
    put_header(archive + used, path + 1, bytes);
    used += BLOCK + padded;
}

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
            add_file(below);
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
    add_file(path);
    snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/cpuset.mems.effective", end, version_2 + 3);
    add_file(path);
}

static int write_archive(int file) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || (limit.rlim_cur != RLIM_INFINITY && used > limit.rlim_cur))
        return -1;
    for (size_t written = 0; written < used;) {
        ssize_t count = write(file, archive + written, used - written);
        if (count <= 0)
            return -1;
        written += (size_t)count;
    }
    return 0;
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
        add_file(files[i]);
    add_cgroup();
    add_directory("/sys/devices/system/cpu", 4);
    add_directory("/sys/devices/system/node", 4);
    add_directory("/sys/devices/virtual/dmi/id", 0);
    add_directory("/sys/kernel/mm/hugepages", 1);
    if (reserve(2 * BLOCK) == 0) {
        memset(archive + used, 0, 2 * BLOCK); /* two empty blocks end an archive */
        used += 2 * BLOCK;
        /* An archive that does not fit is left empty: better none than a wrong one. */
        if (write_archive(file) != 0)
            (void)!ftruncate(file, 0);
    }
    close(file);
    if (archive)
        munmap(archive, reserved);
    archive = NULL;
    used = reserved = 0;
}
