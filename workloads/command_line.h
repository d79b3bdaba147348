/* SPDX-License-Identifier: BSD-3-Clause */
/* What the MPI program of a workload is asked for on its command line. */
#ifndef RANKWISE_WORKLOADS_COMMAND_LINE_H
#define RANKWISE_WORKLOADS_COMMAND_LINE_H

#include <stdio.h>

#include "pattern.h"
#include "work.h"
#include "workload.h"

struct command_line {
    struct problem problem; /* iterations 0: as the problem has */
    struct work_amount amount;
    const char *amount_text;
    size_t working_set;
    enum pattern_extent check;
    int help;
};

/* @return 1, or 0 and a sentence in `why` */
int command_line_parse(const struct workload *, int argc, char **argv, struct command_line *, char *why,
                       size_t why_bytes);

void command_line_help(const struct workload *, FILE *to);

/* @brief Write ` NAME=VALUE` for each option of the workload. */
void command_line_options(const struct workload *, const struct problem *, FILE *to);

#endif
