/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/binding_line.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MOST_PUS = 1 << 16, WORD_BITS = 8 * sizeof(unsigned long), LONGEST_LINE = 1 << 15 };

size_t rw_write_pus(char *text, size_t room) {
    static unsigned long mask[MOST_PUS / WORD_BITS];
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    if (bytes <= 0)
        return 0;
    size_t length = 0;
    long pus = bytes * 8;
#define HAS(pu) (mask[(pu) / (long)WORD_BITS] >> ((pu) % (long)WORD_BITS) & 1)
    for (long first = 0; first < pus; first++) {
        if (!HAS(first))
            continue;
        long last = first;
        while (last + 1 < pus && HAS(last + 1))
            last++;
        const char *comma = length ? "," : "";
        int written = first == last ? snprintf(text + length, room - length, "%s%ld", comma, first)
                                    : snprintf(text + length, room - length, "%s%ld-%ld", comma, first, last);
        if (written < 0 || (size_t)written >= room - length)
            return 0;
        length += (size_t)written;
        first = last;
    }
#undef HAS
    return length;
}

void rw_tell_binding(const char *directory, const char *rank, int certainty) {
    static char line[LONGEST_LINE], path[4096 + 256];
    char host[256] = "";
    struct timespec now = {0, 0};
    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    int start = snprintf(line, sizeof line, "%s %ld %lld %d ", rank, (long)getpid(),
                         (long long)now.tv_sec * 1000000000 + now.tv_nsec, certainty);
    size_t pus = rw_write_pus(line + start, sizeof line - (size_t)start - 1);
    int named = snprintf(path, sizeof path, "%s/%s", directory, host);
    if (!pus || !*host || named <= 0 || (size_t)named >= sizeof path)
        return;
    size_t length = (size_t)start + pus;
    line[length++] = '\n';
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return;
    /* One write, so that lines of several ranks do not mix. */
    ssize_t written = write(file, line, length);
    (void)written;
    close(file);
}

void rw_bind_to(const char *pus) {
    cpu_set_t before, wanted, has;
    CPU_ZERO(&wanted);
    for (const char *text = pus; *text; text += *text == ',') {
        char *end = NULL;
        long first = strtol(text, &end, 10), last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long pu = first; pu <= last && pu < CPU_SETSIZE; pu++)
            CPU_SET((int)pu, &wanted);
        text = end;
    }
    if (sched_getaffinity(0, sizeof before, &before) != 0 || CPU_EQUAL(&before, &wanted))
        return;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        const pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
        if (task > 0 && sched_getaffinity(task, sizeof has, &has) == 0 && CPU_EQUAL(&has, &before))
            (void)sched_setaffinity(task, sizeof wanted, &wanted);
    }
    if (tasks)
        closedir(tasks);
    (void)sched_setaffinity(0, sizeof wanted, &wanted);
}
