/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../formats/crc32c.h"

#define BLOCK 512u
#define MOST_FILE_BYTES (4u << 20)     /* cpuinfo of a node with 512 PUs has about 0.8 MB */
#define MOST_PARTED_BYTES (64u << 20)  /* 4 million counts of interrupts */
#define MOST_BYTES ((size_t)256 << 20) /* some 200,000 files; nodes have up to 60 a PU */

static char *archive;
static size_t used, reserved;
static size_t parted; /* bytes of the file that is given in parts */
static int cut;

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
static void put_header(char *at, const char *name, size_t bytes) { /* below 1 GiB */
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

/* The content stands behind the header's place. */
static void end_file(const char *name, size_t bytes) {
    if (reserve(2 * BLOCK + bytes) != 0)
        return;
    size_t padded = (bytes + BLOCK - 1) / BLOCK * BLOCK;
    memset(archive + used + BLOCK + bytes, 0, padded - bytes);
    put_header(archive + used, name + 1, bytes);
    used += BLOCK + padded;
}

/* sysfs files say 4096 bytes whatever they hold, so they are read to their end. */
void rw_archive_file(const char *path, const char *name) {
    name = name ? name : path;
    if (used > MOST_BYTES || strlen(name + 1) >= 100)
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
    end_file(name, bytes);
}

int rw_archive_begin(void) {
    parted = 0;
    cut = used > MOST_BYTES || reserve(2 * BLOCK) != 0;
    return cut ? -1 : 0;
}

void rw_archive_put(const char *text, size_t bytes) {
    if (cut || parted + bytes > MOST_PARTED_BYTES || reserve(2 * BLOCK + parted + bytes) != 0) {
        cut = 1;
        return;
    }
    memcpy(archive + used + BLOCK + parted, text, bytes);
    parted += bytes;
}

void rw_archive_end(const char *name) {
    /* One that is cut is there without content, so that readers can tell it from one that is not. */
    end_file(name, cut ? 0 : parted);
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

/* Of all that stands before the entry that says it, which is the last one. */
static void add_checksum(void) {
    char text[16];
    const int length = snprintf(text, sizeof text, "%08x\n", (unsigned)rw_crc32c(0, archive, used));
    if (rw_archive_begin() != 0)
        return;
    rw_archive_put(text, (size_t)length);
    rw_archive_end("/rankwise/crc32c");
}

int rw_archive_save(int file) {
    int whole = 0;
    if (reserve(2 * BLOCK) == 0)
        add_checksum();
    if (reserve(2 * BLOCK) == 0) {
        memset(archive + used, 0, 2 * BLOCK); /* two empty blocks end an archive */
        used += 2 * BLOCK;
        /* An archive that does not fit is left empty: better none than a wrong one. */
        whole = write_archive(file) == 0;
        if (!whole)
            (void)!ftruncate(file, 0);
    }
    close(file);
    if (archive)
        munmap(archive, reserved);
    archive = NULL;
    used = reserved = 0;
    return whole ? 0 : -1;
}
