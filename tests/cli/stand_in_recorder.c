/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the recorder where no MPI is wanted: a process run as `./rank` leaves one file, as a rank
 * would. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void leave_a_file(void) {
    char path[4096], line[4096] = "";
    const char *directory = getenv("RANKWISE_DIR");
    int self = open("/proc/self/cmdline", O_RDONLY);
    ssize_t length = read(self, line, sizeof line);
    close(self);
    if (!directory || length < 6 || !memmem(line, (size_t)length, "./rank", 7))
        return;
    snprintf(path, sizeof path, "%s/raw/host.rwn", directory);
    int file = open(path, O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (file < 0 || write(file, "rank", 4) != 4)
        abort();
    close(file);
}
