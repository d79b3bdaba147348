/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/node.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536u
#define MOST_FILES 65536u /* closed one by one where the kernel has no close_range (before 5.9) */

extern char **environ;

struct command {
    char *const *arguments;
    char **environment;
    posix_spawnattr_t attributes;
};

/* In a process that shares our memory, but no files: pipes of the rank must not stay open behind it. */
static int spawn(void *given) {
    const struct command *const command = given;
    setsid();
    const int null = open("/dev/null", O_RDWR);
    if (chdir("/") != 0 || null < 0)
        _exit(1);
    for (int file = 0; file < 3; file++)
        dup2(null, file);
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3u, ~0u, 0u) != 0)
#endif
        for (unsigned file = 3; file < MOST_FILES; file++)
            close((int)file);
    pid_t ignored;
    _exit(posix_spawn(&ignored, command->arguments[0], NULL, &command->attributes, command->arguments,
                      command->environment));
}

/*
 * The process between is there so that the tuner is no child of the rank. It ends without a signal, so that
 * neither a handler of the program's nor its `wait` sees it; the rank stands still until then, for the
 * time of a fork. Returns whether there is a tuner.
 */
static int start(struct command *command) {
    void *const stack =
        mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return 0;
    const pid_t between = clone(spawn, (char *)stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, command);
    int status = -1;
    if (between > 0)
        waitpid(between, &status, __WCLONE);
    munmap(stack, STACK_BYTES);
    return status == 0;
}

static int is_of_the_rank(const char *variable) {
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "RANKWISE_", 9) == 0;
}

static int start_tuner(const char *python, const char *asked) {
    char *const arguments[] = {(char *)(uintptr_t)python, "-m", "rankwise", "tune", "--node",
                               (char *)(uintptr_t)asked,  NULL};
    struct command command = {.arguments = arguments};
    sigset_t set;
    size_t variables = 0, kept = 0;
    while (environ[variables])
        variables++;
    command.environment = calloc(variables + 1, sizeof *command.environment);
    if (!command.environment || posix_spawnattr_init(&command.attributes) != 0) {
        free(command.environment);
        return 0;
    }
    for (size_t at = 0; at < variables; at++)
        if (!is_of_the_rank(environ[at]))
            command.environment[kept++] = environ[at];
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&command.attributes, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&command.attributes, &set);
    posix_spawnattr_setflags(&command.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    const int started = start(&command);
    posix_spawnattr_destroy(&command.attributes);
    free(command.environment);
    return started;
}

static int is_ours_alone(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           !(status.st_mode & 077);
}

static int join(const char *parent, const char *directory, const char *python, const char *asked) {
    if ((mkdir(parent, 0700) != 0 && errno != EEXIST) || !is_ours_alone(parent))
        return RW_NODE_NO_DIRECTORY;
    if (mkdir(directory, 0700) != 0)
        return errno == EEXIST ? 0 : RW_NODE_NO_DIRECTORY;
    if (start_tuner(python, asked))
        return 0;
    rmdir(directory);
    rmdir(parent);
    return RW_NODE_NO_TUNER;
}

int rw_node_join(const char *directory) {
    const char *const python = getenv("RANKWISE_TUNE_PYTHON"), *const asked = getenv("RANKWISE_TUNE_NODE");
    const char *const slash = strrchr(directory, '/');
    char parent[4096];
    if (!python || !asked || !slash || (size_t)(slash - directory) >= sizeof parent)
        return 0;
    snprintf(parent, sizeof parent, "%.*s", (int)(slash - directory), directory);
    /* A job that is aborted just now has its tuner, too, which removes the directories; and `spawn` must not
     * run handlers of the program. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int result = join(parent, directory, python, asked);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}
