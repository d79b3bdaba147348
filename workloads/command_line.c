/* SPDX-License-Identifier: BSD-3-Clause */
#include "command_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const common[] = {"class", "compute", "working-set", "iterations", "check"};

static int parse_count(const char *text, long long most, long long *value) {
    char *behind;
    errno = 0;
    *value = strtoll(text, &behind, 10);
    return errno == 0 && behind != text && *behind == '\0' && *value > 0 && *value <= most;
}

/* @return 1 if the option takes this value */
static int parse_common(struct command_line *line, const char *name, const char *value) {
    long long number;
    if (strcmp(name, "class") == 0 && strlen(value) == 1) {
        line->problem.problem_class = value[0];
    } else if (strcmp(name, "compute") == 0 && work_parse(value, &line->amount)) {
        line->amount_text = value;
    } else if (strcmp(name, "working-set") == 0 && parse_count(value, 1LL << 40, &number) && number >= 8) {
        line->working_set = (size_t)number;
    } else if (strcmp(name, "iterations") == 0 && parse_count(value, 1000000000, &number)) {
        line->problem.iterations = (int)number;
    } else if (strcmp(name, "check") == 0 && strcmp(value, "full") == 0) {
        line->check = PATTERN_FULL;
    } else if (strcmp(name, "check") == 0 && strcmp(value, "ends") == 0) {
        line->check = PATTERN_ENDS;
    } else {
        return 0;
    }
    return 1;
}

static int is_common(const struct workload *workload, const char *name) {
    for (size_t i = workload->classes[0] ? 0 : 1; i < sizeof common / sizeof *common; i++)
        if (strcmp(name, common[i]) == 0)
            return 1;
    return 0;
}

/* @return the number of the workload's own option of that name, or -1 */
static int own_option(const struct workload *workload, const char *name) {
    for (int i = 0; i < workload->option_count; i++)
        if (strcmp(name, workload->options[i].name) == 0)
            return i;
    return -1;
}

int command_line_parse(const struct workload *workload, int argc, char **argv, struct command_line *line,
                       char *why, size_t why_bytes) {
    *line = (struct command_line){
        .problem = workload_problem(workload, workload->classes[0] ? workload->classes[0] : '-'),
        .amount = {0.01, -1},
        .amount_text = "0.01x",
        .working_set = 32768};
    for (int i = 1; i < argc; i += 2) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            line->help = 1;
            return 1;
        }
        const char *name = strncmp(argv[i], "--", 2) == 0 ? argv[i] + 2 : "";
        int own = own_option(workload, name);
        if (own < 0 && !is_common(workload, name)) {
            snprintf(why, why_bytes, "%s has no option `%s`", workload->name, argv[i]);
            return 0;
        }
        if (i + 1 == argc) {
            snprintf(why, why_bytes, "`%s` needs a value", argv[i]);
            return 0;
        }
        if (own < 0
                ? !parse_common(line, name, argv[i + 1])
                : !workload_option_value(&workload->options[own], argv[i + 1], &line->problem.option[own])) {
            snprintf(why, why_bytes, "`%s` is not a value of `%s`", argv[i + 1], argv[i]);
            return 0;
        }
    }
    return 1;
}

static void print_value(const struct workload_option *option, int64_t value, FILE *to) {
    if (option->choices)
        fputs(option->choices[value], to);
    else
        fprintf(to, "%" PRId64, value);
}

static void print_own_help(const struct workload_option *option, FILE *to) {
    char usage[80];
    int written = snprintf(usage, sizeof usage, "--%s ", option->name);
    if (option->choices == NULL)
        snprintf(usage + written, sizeof usage - (size_t)written, "N");
    for (int i = 0; option->choices && option->choices[i]; i++)
        written += snprintf(usage + written, sizeof usage - (size_t)written, "%s%s", i ? "|" : "",
                            option->choices[i]);
    fprintf(to, "  %-23s %s (default ", usage, option->help);
    print_value(option, option->usual, to);
    fputs(")\n", to);
}

void command_line_help(const struct workload *workload, FILE *to) {
    fprintf(
        to,
        "%s: %s\n\n"
        "The communication of the original: peers, sizes, tags, order and iterations.\n"
        "%s.\n"
        "The computation is not the original's arithmetic: in each place where it computes, a share of the\n"
        "published number of floating-point operations is done on an array, and received data are "
        "checked.\n\n"
        "usage: mpiexec -n RANKS %s [OPTIONS]\n\n",
        workload->name, workload->title, workload->pattern, workload->name);
    if (workload->classes[0])
        fprintf(to, "  --class %c               problem class, one of %s (default %c)\n",
                workload->classes[0], workload->classes, workload->classes[0]);
    for (int i = 0; i < workload->option_count; i++)
        print_own_help(&workload->options[i], to);
    fprintf(
        to,
        "  --compute AMOUNT        0.01x: this share of the operations (default); 2s, 300ms: as many as "
        "take\n"
        "                          this long in the timed section on an idle core (calibrated on each rank)\n"
        "  --working-set BYTES     array the operations stream over (default 32768)\n"
        "  --check full|ends       what is written and checked of each message (default full)\n"
        "  --iterations N          instead of the problem's own number\n"
        "  --help                  this text\n\n"
        "Prints one line; exit status 0 if all data were right, 1 if not or if the ranks do not fit,\n"
        "2 for a wrong option.\n");
}

void command_line_options(const struct workload *workload, const struct problem *problem, FILE *to) {
    for (int i = 0; i < workload->option_count; i++) {
        fprintf(to, " %s=", workload->options[i].name);
        print_value(&workload->options[i], problem->option[i], to);
    }
}
