/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../formats/crc32c.h"
#include "calls_generated.h"
#include "process/process.h"

/* Descriptors from here on are rarely a program's own. */
#define HIGH_DESCRIPTOR 1000
#define LOCK_ATTEMPTS 10

static char stem[4096]; /* DIRECTORY/raw/HOST.NODE.RUN */
static struct rw_file_header *file_header;
static int node_file = -1, lock, gone;
static dev_t device;
static ino_t inode;

static int open_file(int flags) {
    char path[sizeof stem + 8];
    snprintf(path, sizeof path, "%s.rwn", stem);
    return open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
}

static int is_ours(int file) {
    struct stat status;
    return file >= 0 && fstat(file, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

/* Keep it where the program's own descriptors are not, and let others see that the file is written to. */
static void keep(int file) {
    node_file = fcntl(file, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
    if (node_file < 0)
        node_file = file;
    else
        close(file);
    /* Who asks whether it is held holds it for a moment. */
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};
    for (int left = LOCK_ATTEMPTS;
         flock(node_file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK && --left > 0;)
        nanosleep(&moment, NULL);
}

/*
 * The node's file, or -1. Programs close descriptors that they do not know and hand their number out again,
 * so it is looked at before each use. What stands at the path by then may be another run's: it is taken only
 * if it is the same file.
 */
static int same_file(void) {
    if (is_ours(node_file))
        return node_file;
    const int file = open_file(0);
    if (is_ours(file)) {
        keep(file);
        return node_file;
    }
    if (file >= 0)
        close(file);
    return -1;
}

/* RANKWISE_RUN, 32 hexadecimal digits; 0 and 0 without it. */
static void read_run(uint64_t run[2]) {
    const char *text = getenv("RANKWISE_RUN");
    run[0] = run[1] = 0;
    if (!text || strlen(text) != 32 || strspn(text, "0123456789abcdef") != 32)
        return;
    for (unsigned i = 0; i < 32; i++)
        run[i / 16] = run[i / 16] << 4 | (uint64_t)(text[i] <= '9' ? text[i] - '0' : text[i] - 'a' + 10);
}

/*
 * Have the file system allocate a range, so that no later store into its mapping can fail. A range beyond
 * RLIMIT_FSIZE is not even asked for: the kernel would answer with SIGXFSZ, which ends the program.
 */
static int allocate(int file, uint64_t offset, uint64_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return errno;
    if (limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur)
        return EFBIG;
    int error;
    do
        error = posix_fallocate(file, (off_t)offset, (off_t)bytes);
    while (error == EINTR);
    return error;
}

/* Chunks need not begin at a page boundary: pages may be larger than the file header. */
static void *map(int file, uint64_t offset, uint64_t bytes) {
    uint64_t before = offset % (uint64_t)sysconf(_SC_PAGESIZE);
    char *mapping =
        mmap(NULL, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)(offset - before));
    return mapping == MAP_FAILED ? NULL : mapping + before;
}

static void unmap(void *mapped, uint64_t bytes) {
    uint64_t before = (uintptr_t)mapped % (uint64_t)sysconf(_SC_PAGESIZE);
    munmap((char *)mapped - before, before + bytes);
}

/*
 * What tells nodes of one name apart (containers, images that were cloned) that write to one directory:
 * mapped by two kernels, a file would be damaged. Eight hexadecimal digits made of what the kernel drew when
 * it booted.
 */
static unsigned node_number(void) {
    char text[64];
    unsigned number = 0x811c9dc5u; /* FNV-1a, 32 bits */
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text);
    if (file >= 0)
        close(file);
    for (ssize_t i = 0; i < length; i++)
        number = (number ^ (unsigned char)text[i]) * 0x01000193u;
    return number;
}

/* Of what every rank stores alike, with the magic that is not there yet. */
static uint32_t header_crc(const struct rw_file_header *header) {
    struct rw_file_header constant;
    memcpy(&constant, header, sizeof constant);
    constant.magic = RW_FILE_MAGIC;
    constant.next_chunk = 0;
    return rw_crc32c(0, &constant, offsetof(struct rw_file_header, crc));
}

const char *rw_storage_open(const char *directory, const char *host) {
    int length = snprintf(stem, sizeof stem, "%s/raw", directory);
    if (directory[0] != '/')
        return "RANKWISE_DIR is not an absolute path";
    if (length < 0 || (size_t)length + strlen(host) + sizeof "/.12345678.12345678" > sizeof stem)
        return "the path in RANKWISE_DIR is too long";
    mkdir(stem, 0777);
    length += snprintf(stem + length, sizeof stem - (size_t)length, "/%s.%08x", host, node_number());
    uint64_t run[2];
    read_run(run);
    if (run[0] | run[1])
        snprintf(stem + length, sizeof stem - (size_t)length, ".%08x", (unsigned)(run[0] >> 32));
    struct stat status;
    int file = open_file(O_CREAT);
    if (file < 0 || fstat(file, &status) != 0)
        return "the node's file in RANKWISE_DIR/raw cannot be opened";
    struct rw_file_header *header = NULL;
    if (allocate(file, 0, RW_FILE_HEADER_BYTES) == 0)
        header = map(file, 0, RW_FILE_HEADER_BYTES);
    if (!header) {
        close(file);
        return "the file system of RANKWISE_DIR has no space, or cannot map files";
    }
    if (header->magic == RW_FILE_MAGIC && (header->run[0] != run[0] || header->run[1] != run[1])) {
        close(file);
        return "the node's file in RANKWISE_DIR/raw is another run's";
    }
    device = status.st_dev;
    inode = status.st_ino;
    keep(file);
    /* Every rank stores the same values, so none has to be first; `magic` last. */
    header->version = RW_FORMAT_VERSION;
    header->chunk_bytes = RW_CHUNK_BYTES;
    header->calls = RW_CALL_COUNT;
    header->calls_crc = RW_CALL_LIST_CRC;
    header->run[0] = run[0];
    header->run[1] = run[1];
    header->crc = header_crc(header);
    __atomic_store_n(&header->magic, RW_FILE_MAGIC, __ATOMIC_RELEASE);
    file_header = header;
    return NULL;
}

struct rw_chunk_header *rw_storage_take(uint32_t kind, uint32_t chunks, uint64_t sequence,
                                        uint32_t *first_chunk) {
    if (!file_header)
        return NULL;
    struct rw_chunk_header *run = NULL;
    rw_lock(&lock);
    const int file = same_file();
    gone = file < 0;
    if (gone) {
        rw_unlock(&lock);
        return NULL;
    }
    uint64_t first = __atomic_fetch_add(&file_header->next_chunk, chunks, __ATOMIC_ACQ_REL);
    uint64_t offset = RW_FILE_HEADER_BYTES + first * RW_CHUNK_BYTES,
             bytes = (uint64_t)chunks * RW_CHUNK_BYTES;
    if (first + chunks <= UINT32_MAX && allocate(file, offset, bytes) == 0)
        run = map(file, offset, bytes);
    rw_unlock(&lock);
    if (!run)
        return NULL;
    run->kind = kind;
    run->chunks = chunks;
    run->sequence = sequence;
    run->first_chunk = first;
    run->run[0] = file_header->run[0];
    run->run[1] = file_header->run[1];
    if (first_chunk)
        *first_chunk = (uint32_t)first;
    return run;
}

struct rw_chunk_header *rw_storage_map(uint32_t first_chunk) {
    const uint64_t offset = RW_FILE_HEADER_BYTES + (uint64_t)first_chunk * RW_CHUNK_BYTES;
    struct rw_chunk_header *run = NULL;
    rw_lock(&lock);
    const int file = same_file();
    struct rw_chunk_header *const first = file < 0 ? NULL : map(file, offset, RW_CHUNK_BYTES);
    if (first) {
        if (first->magic == RW_CHUNK_MAGIC)
            run = map(file, offset, (uint64_t)first->chunks * RW_CHUNK_BYTES);
        unmap(first, RW_CHUNK_BYTES);
    }
    rw_unlock(&lock);
    return run;
}

struct rw_file_header *rw_storage_head(void) {
    return file_header;
}

int rw_storage_gone(void) {
    return gone;
}

static int is_table(uint32_t kind) {
    return kind == RW_CHUNK_PEERS || kind == RW_CHUNK_COLLECTIVES || kind == RW_CHUNK_SITES;
}

void rw_storage_seal(struct rw_chunk_header *run, uint64_t bytes, int closed) {
    if (bytes > RW_SEAL_BYTES)
        return;
    const struct rw_sealed sealed = {
        .kind = run->kind,
        .chunks = run->chunks,
        .rank_chunk = run->rank_chunk,
        .checked = (uint32_t)bytes | (closed ? RW_SEAL_CLOSED : 0),
        .sequence = run->sequence,
        .slots = is_table(run->kind) ? run->used : 0,
        .first_chunk = run->first_chunk,
        .run = {run->run[0], run->run[1]},
    };
    const uint64_t crc = rw_crc32c(rw_crc32c(0, run + 1, bytes), &sealed, sizeof sealed);
    __atomic_store_n(&run->seal, crc << 32 | sealed.checked, __ATOMIC_RELEASE);
}

void rw_storage_publish(struct rw_chunk_header *run) {
    rw_storage_seal(run, 0, 0);
    __atomic_store_n(&run->magic, RW_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

void rw_storage_release(struct rw_chunk_header *run) {
    unmap(run, (uint64_t)run->chunks * RW_CHUNK_BYTES);
}

static int create(const char *path, int flag) {
    return open(path, O_WRONLY | O_CREAT | flag | O_NOFOLLOW | O_CLOEXEC, 0666);
}

int rw_storage_create(const char *suffix) {
    char path[sizeof stem + 64];
    snprintf(path, sizeof path, "%s%s", stem, suffix);
    return create(path, O_EXCL);
}

/* The directory may have been renamed, and what stands in its place be another run's. */
static int is_in_place(void) {
    const int file = open_file(0), ours = is_ours(file);
    if (file >= 0)
        close(file);
    return ours;
}

static void path_of_part(char *path, size_t bytes, const char *suffix) {
    snprintf(path, bytes, "%s%s.%ld", stem, suffix, (long)getpid());
}

int rw_storage_part(const char *suffix) {
    char path[sizeof stem + 64];
    path_of_part(path, sizeof path, suffix);
    return is_in_place() ? create(path, O_TRUNC) : -1;
}

void rw_storage_put_in_place(const char *suffix, int whole) {
    char part[sizeof stem + 64], path[sizeof stem + 64];
    path_of_part(part, sizeof part, suffix);
    snprintf(path, sizeof path, "%s%s", stem, suffix);
    if (!whole || !is_in_place() || rename(part, path) != 0)
        unlink(part);
}
