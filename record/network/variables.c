/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's own performance variables (MPI_T, chapter 15 of MPI 4.1): those that the library offers for the
 * process or for MPI_COMM_WORLD, read at the end. They are notes; what a variable has no value for is left
 * out.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/counters.h"
#include "network/variables.h"

#define MOST_VARIABLES 512
#define MOST_NAME 120

struct variable {
    MPI_T_pvar_handle handle;
    const char *class;
    int elements; /* it has as many values, which are summed */
    int is_sum;   /* it grows: what it was at the start is taken off */
    enum { INT32, INT64, REAL } type;
    double before;
    char name[MOST_NAME];
};
static struct variable *variables;
static int known;
static MPI_T_pvar_session session;

/*
 * RANKWISE_VARIABLES: patterns of names, separated by commas; none are read without it. To ask is not free of
 * risk: Debian's Open MPI 4.1 opens all components for it, 0.2 s, and mtl_psm2's variables crash it where
 * there is no device.
 */
static int is_wanted(const char *name) {
    const char *asked = getenv("RANKWISE_VARIABLES");
    char patterns[1024], *rest = NULL;
    snprintf(patterns, sizeof patterns, "%s", asked ? asked : "");
    for (char *each = strtok_r(patterns, ",", &rest); each; each = strtok_r(NULL, ",", &rest))
        if (fnmatch(each, name, 0) == 0)
            return 1;
    return 0;
}

static int class_of(int class, struct variable *variable) {
    static const struct {
        int class;
        const char *name;
        int is_sum;
    } classes[] = {{MPI_T_PVAR_CLASS_COUNTER, "counter", 1},
                   {MPI_T_PVAR_CLASS_AGGREGATE, "aggregate", 1},
                   {MPI_T_PVAR_CLASS_TIMER, "timer", 1},
                   {MPI_T_PVAR_CLASS_SIZE, "size", 0},
                   {MPI_T_PVAR_CLASS_LEVEL, "level", 0},
                   {MPI_T_PVAR_CLASS_HIGHWATERMARK, "high watermark", 0},
                   {MPI_T_PVAR_CLASS_LOWWATERMARK, "low watermark", 0}};
    for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].class == class) {
            variable->class = classes[i].name;
            variable->is_sum = classes[i].is_sum;
            return 0;
        }
    return -1;
}

/* By its name: predefined handles of Open MPI are addresses in the library. */
static int type_of(MPI_Datatype type, struct variable *variable) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0, bytes = 0;
    if (RW_PMPI_CALL(Type_get_name, MPI_Datatype, char *, int *)(type, name, &length) != MPI_SUCCESS ||
        RW_PMPI_CALL(Type_size, MPI_Datatype, int *)(type, &bytes) != MPI_SUCCESS)
        return -1;
    if (strcmp(name, "MPI_DOUBLE") == 0)
        variable->type = REAL;
    else if (strncmp(name, "MPI_UNSIGNED", 12) == 0 && (bytes == 4 || bytes == 8))
        variable->type = bytes == 4 ? INT32 : INT64;
    else
        return -1;
    return 0;
}

/* Sum of its values; @return 0, or -1 where it cannot be read. */
static int read_sum(const struct variable *variable, double *sum) {
    uint64_t *values = calloc((size_t)variable->elements, sizeof *values);
    if (!values)
        return -1;
    const int failed = RW_PMPI_CALL(T_pvar_read, MPI_T_pvar_session, MPI_T_pvar_handle,
                                    void *)(session, variable->handle, values) != MPI_SUCCESS;
    *sum = 0;
    for (int i = 0; i < variable->elements; i++)
        *sum += variable->type == REAL    ? ((const double *)(const void *)values)[i]
                : variable->type == INT64 ? (double)values[i]
                                          : (double)((const uint32_t *)(const void *)values)[i];
    free(values);
    return failed ? -1 : 0;
}

static void open_variable(int index) {
    struct variable *variable = &variables[known];
    char name[256] = "";
    int name_bytes = sizeof name, verbosity, class, bind, is_readonly, is_continuous, is_atomic, no_words = 0;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_Comm world = MPI_COMM_WORLD;
    if (RW_PMPI_CALL(T_pvar_get_info, int, char *, int *, int *, int *, MPI_Datatype *, MPI_T_enum *, char *,
                     int *, int *, int *, int *, int *)(index, name, &name_bytes, &verbosity, &class, &type,
                                                        &values, NULL, &no_words, &bind, &is_readonly,
                                                        &is_continuous, &is_atomic) != MPI_SUCCESS)
        return;
    /* One that has to be started would make the library do more than the program asked for. */
    if (!is_continuous || (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM) ||
        class_of(class, variable) != 0 || type_of(type, variable) != 0 ||
        strlen(name) >= sizeof variable->name || !is_wanted(name))
        return;
    memcpy(variable->name, name, strlen(name) + 1);
    if (RW_PMPI_CALL(T_pvar_handle_alloc, MPI_T_pvar_session, int, void *, MPI_T_pvar_handle *,
                     int *)(session, index, bind == MPI_T_BIND_NO_OBJECT ? NULL : &world, &variable->handle,
                            &variable->elements) != MPI_SUCCESS)
        return;
    variable->before = 0;
    if (variable->elements > 0 && (!variable->is_sum || read_sum(variable, &variable->before) == 0))
        known++;
}

void rw_variables_start(void) {
    const char *asked = getenv("RANKWISE_VARIABLES");
    int provided, number = 0;
    if (!asked || !asked[0] || variables || !RW_HAS(T_pvar_get_num) || !RW_HAS(T_init_thread) ||
        RW_PMPI_CALL(T_init_thread, int, int *)(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    if (RW_PMPI_CALL(T_pvar_get_num, int *)(&number) == MPI_SUCCESS && number > 0 &&
        RW_PMPI_CALL(T_pvar_session_create, MPI_T_pvar_session *)(&session) == MPI_SUCCESS)
        variables = calloc(MOST_VARIABLES, sizeof *variables);
    for (int index = 0; variables && index < number && known < MOST_VARIABLES; index++)
        open_variable(index);
    if (!variables)
        (void)RW_PMPI_CALL(T_finalize, void)();
}

void rw_variables_end(void) {
    if (!variables)
        return;
    for (int i = 0; i < known; i++) {
        struct variable *variable = &variables[i];
        double value;
        char text[MOST_NAME + 64];
        if (read_sum(variable, &value) == 0) {
            const int length = snprintf(text, sizeof text, "%s:%s\t", variable->class, variable->name);
            snprintf(text + length, sizeof text - (size_t)length, "%.17g", value - variable->before);
            char *const comma = strchr(text + length, ','); /* of the program's locale */
            if (comma)
                *comma = '.';
            rw_counters_note(RW_NOTE_VARIABLE, (uint32_t)variable->elements, text);
        }
        (void)RW_PMPI_CALL(T_pvar_handle_free, MPI_T_pvar_session, MPI_T_pvar_handle *)(session,
                                                                                        &variable->handle);
    }
    (void)RW_PMPI_CALL(T_pvar_session_free, MPI_T_pvar_session *)(&session);
    (void)RW_PMPI_CALL(T_finalize, void)();
    free(variables);
    variables = NULL;
    known = 0;
}
