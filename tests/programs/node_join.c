/* SPDX-License-Identifier: BSD-3-Clause */
/* node_join DIRECTORY: joins a node twice, as two ranks would, then says what of that a program could notice.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tune/node.h"

static volatile sig_atomic_t signals;

static void count(int number) {
    (void)number;
    signals++;
}

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    sigset_t blocked;
    signal(SIGCHLD, count);
    const int file = fcntl(0, F_DUPFD, 77);
    const double before = now_s();
    const int first = argc > 1 ? rw_node_join(argv[1]) : -1;
    const double took_s = now_s() - before;
    const int second = argc > 1 ? rw_node_join(argv[1]) : -1;
    const int child = (int)waitpid(-1, NULL, 0), no_child = child < 0 && errno == ECHILD;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    printf("%d %d no child %d signals %d blocked %d file %d\n", first, second, no_child, (int)signals,
           sigismember(&blocked, SIGTERM), fcntl(file, F_GETFD));
    fprintf(stderr, "%.6f\n", took_s);
    return 0;
}
