/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/abi.h"
#include "process/ticks.h"
#include "tune/node.h"

/* Time over which ticks are counted, at least: a rate to one part in ten thousand. */
#define LEAST_NS 2000000u

struct rw_tune_page *rw_page;
int rw_tune_multiple;

static char path[4096];
static const char *directory;
static uint64_t first_ticks, first_ns;

void rw_page_prepare(const char *in) {
    directory = in;
    first_ticks = rw_ticks();
    first_ns = rw_clock_ns(CLOCK_MONOTONIC);
}

static double ticks_per_s(void) {
    uint64_t ns = rw_clock_ns(CLOCK_MONOTONIC);
    while (ns - first_ns < LEAST_NS)
        ns = rw_clock_ns(CLOCK_MONOTONIC);
    return (double)(rw_ticks() - first_ticks) * 1e9 / (double)(ns - first_ns);
}

/* Field 22 of /proc/self/stat, behind the name, which may have any character in it. */
static uint64_t process_start(void) {
    char text[1024];
    const int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t bytes = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    if (bytes <= 0)
        return 0;
    text[bytes] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static void complain(int rank, const char *why) {
    if (rank == 0)
        dprintf(STDERR_FILENO,
                path[0] ? "rankwise: the tuner does not see the ranks: %s `%s`\n"
                        : "rankwise: the tuner does not see the ranks: %s\n",
                why, path);
}

/* Pages of processes that have ended without MPI_Finalize, and of what this process was before it executed
 * another program: nobody else removes them. */
static void remove_left_pages(int folder) {
    const int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *const listing = again < 0 ? NULL : fdopendir(again);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        int rank = 0, process = 0, end = 0;
        if (sscanf(entry->d_name, "%d.%d.page%n", &rank, &process, &end) == 2 && end > 0 &&
            !entry->d_name[end] && process > 0 &&
            (process == getpid() || (kill(process, 0) != 0 && errno == ESRCH)))
            unlinkat(folder, entry->d_name, 0);
    }
    if (listing)
        closedir(listing);
    else if (again >= 0)
        close(again);
}

/* The child of a fork has the page, and is not the rank. */
static void leave_page(void) {
    rw_page = NULL;
}

void rw_page_open(void) {
    MPI_Comm parent = MPI_COMM_NULL;
    int rank = 0, ranks = 0, level = MPI_THREAD_SINGLE;
    if (rw_page || !directory)
        return;
    if (RW_HAS(Comm_get_parent))
        RW_PMPI_CALL(Comm_get_parent, MPI_Comm *)(&parent);
    if (parent != MPI_COMM_NULL)
        return;
    RW_PMPI_CALL(Comm_rank, MPI_Comm, int *)(MPI_COMM_WORLD, &rank);
    RW_PMPI_CALL(Comm_size, MPI_Comm, int *)(MPI_COMM_WORLD, &ranks);
    const int length = snprintf(path, sizeof path, "%s/%d.%d.page", directory, rank, (int)getpid());
    if (length < 0 || (size_t)length >= sizeof path)
        return complain(rank, "the path is too long:");
    const int joined = rw_node_join(directory);
    if (joined == RW_NODE_NO_TUNER) {
        path[0] = 0;
        return complain(rank, "none could be started on this node");
    }
    if (joined != 0)
        return complain(rank, "there is no way to create");
    struct stat status;
    const int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &status) != 0 || status.st_uid != geteuid() ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        if (folder >= 0)
            close(folder);
        return complain(rank, "the directory is not there, or others may write in it:");
    }
    remove_left_pages(folder);
    const char *const name = path + strlen(directory) + 1;
    const int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    close(folder);
    if (file < 0)
        return complain(rank, "there is no way to create");
    /* A store into a page that the file system has no room for would end the program. */
    void *page = MAP_FAILED;
    if (posix_fallocate(file, 0, sizeof *rw_page) == 0)
        page = mmap(NULL, sizeof *rw_page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) {
        unlink(path);
        return complain(rank, "there is no room for");
    }
    struct rw_tune_page *const made = page;
    made->version = RW_TUNE_VERSION;
    made->page_bytes = sizeof *made;
    made->pid = getpid();
    made->rank = rank;
    made->ranks = ranks;
    made->process_start = process_start();
    made->ticks_per_s = ticks_per_s();
    if (RW_HAS(Query_thread))
        RW_PMPI_CALL(Query_thread, int *)(&level);
    rw_tune_multiple = level == MPI_THREAD_MULTIPLE;
    __atomic_store_n(&made->magic, RW_TUNE_MAGIC, __ATOMIC_RELEASE);
    pthread_atfork(NULL, NULL, leave_page);
    rw_page = made;
}

void rw_page_end(void) {
    if (!rw_page)
        return;
    __atomic_store_n(&rw_page->ended, 1u, __ATOMIC_RELEASE);
    unlink(path);
}
