/* SPDX-License-Identifier: BSD-3-Clause */
#include "counters/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* From here on, and where the limit is lower in its last numbers. */
#define HIGH_DESCRIPTOR 1000u
#define LAST_DESCRIPTORS 128u

void rw_root_path(char *path, size_t bytes, const char *name) {
    static const struct {
        const char *root, *variable;
    } roots[] = {{"/proc/", "RANKWISE_PROC"}, {"/sys/", "RANKWISE_SYS"}};
    for (unsigned i = 0; i < sizeof roots / sizeof *roots; i++) {
        const size_t length = strlen(roots[i].root);
        const char *other = getenv(roots[i].variable);
        if (other && other[0] && strncmp(name, roots[i].root, length) == 0) {
            snprintf(path, bytes, "%s/%s", other, name + length);
            return;
        }
    }
    snprintf(path, bytes, "%s", name);
}

int rw_out_of_the_way(int file) {
    struct rlimit limit;
    rlim_t from = HIGH_DESCRIPTOR;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < from + LAST_DESCRIPTORS)
        from = limit.rlim_cur > 2 * LAST_DESCRIPTORS ? limit.rlim_cur - LAST_DESCRIPTORS : limit.rlim_cur / 2;
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, (int)from);
    close(file);
    return moved;
}

int rw_keep(struct rw_kept *kept, const char *name) {
    char path[1024];
    struct stat status;
    kept->file = -1;
    rw_root_path(path, sizeof path, name);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return errno;
    file = rw_out_of_the_way(file);
    if (file < 0)
        return EMFILE;
    if (fstat(file, &status) != 0) {
        close(file);
        return errno;
    }
    *kept = (struct rw_kept){.file = file, .device = status.st_dev, .inode = status.st_ino};
    return 0;
}

static int is_ours(const struct rw_kept *kept) {
    struct stat status;
    return kept->file >= 0 && fstat(kept->file, &status) == 0 && status.st_dev == kept->device &&
           status.st_ino == kept->inode;
}

void rw_drop(struct rw_kept *kept) {
    if (is_ours(kept))
        close(kept->file);
    kept->file = -1;
}

int rw_read_again(struct rw_reader *reader, const struct rw_kept *kept) {
    reader->kept = kept;
    reader->offset = 0;
    reader->at = reader->end = 0;
    return is_ours(kept) ? 0 : -1;
}

int rw_read_on(struct rw_reader *reader) {
    ssize_t count;
    do
        count = pread(reader->kept->file, reader->text, sizeof reader->text, reader->offset);
    while (count < 0 && errno == EINTR);
    reader->at = reader->end = 0;
    if (count <= 0)
        return 0;
    reader->offset += count;
    reader->end = (size_t)count;
    return 1;
}

size_t rw_word(struct rw_reader *reader, char *word, size_t bytes) {
    size_t length = 0;
    for (int next = rw_skip_blanks(reader);
         next >= 0 && next != ' ' && next != '\t' && next != '\n' && next != ':'; next = rw_peek(reader)) {
        if (length + 1 < bytes)
            word[length] = (char)next;
        length++;
        reader->at++;
    }
    word[length < bytes ? length : bytes - 1] = 0;
    return length;
}

int rw_look_up(struct rw_reader *reader, const char *file, const char *name, uint64_t *value) {
    struct rw_kept kept;
    char word[64];
    int found = 0;
    if (rw_keep(&kept, file) != 0)
        return 0;
    for (int more = rw_read_again(reader, &kept) == 0; more && !found; more = rw_skip_line(reader)) {
        rw_word(reader, word, sizeof word);
        if (strcmp(word, name) == 0) {
            while (rw_peek(reader) == ' ' || rw_peek(reader) == ':')
                reader->at++;
            found = rw_number(reader, value);
        }
    }
    rw_drop(&kept);
    return found;
}
