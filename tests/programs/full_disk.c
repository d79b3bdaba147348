/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded: a file system that has no space beyond FULL_DISK_BYTES in any file. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

int posix_fallocate(int file, off_t offset, off_t bytes) {
    if (offset + bytes > atol(getenv("FULL_DISK_BYTES")))
        return ENOSPC;
    return fallocate(file, 0, offset, bytes) == 0 ? 0 : errno;
}
