/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Known answers: beside each call a program says what must be recorded of it. Rank r of the world writes its
 * lines into the file r of the directory $EXPECT (tests/record/expected.py reads them); without $EXPECT
 * nothing happens.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>

static FILE *expect_file;

static void expect_open(int world_rank) {
    char path[4096];
    const char *directory = getenv("EXPECT");
    if (!directory)
        return;
    snprintf(path, sizeof path, "%s/%d", directory, world_rank);
    expect_file = fopen(path, "w");
}

/* Messages to a world rank, all of one call, and their bytes together. */
__attribute__((unused)) static void sent(const char *call, int peer, long messages, long long bytes) {
    if (expect_file)
        fprintf(expect_file, "sent %s %d %ld %lld\n", call, peer, messages, bytes);
}

__attribute__((unused)) static void received(const char *call, int peer, long messages, long long bytes) {
    if (expect_file)
        fprintf(expect_file, "received %s %d %ld %lld\n", call, peer, messages, bytes);
}

/* Calls of a collective with this many bytes in its entry (formats/recording.h, rw_collective_entry). */
__attribute__((unused)) static void collective(const char *call, long long bytes, long count) {
    if (expect_file)
        fprintf(expect_file, "collective %s 0 %ld %lld\n", call, count, bytes);
}

/* Calls of a function that is only counted and timed. */
__attribute__((unused)) static void called(const char *call, long count) {
    if (expect_file)
        fprintf(expect_file, "called %s 0 %ld 0\n", call, count);
}

static void expect_close(void) {
    if (expect_file)
        fclose(expect_file);
}

#endif
