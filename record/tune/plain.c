/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers of the light mode that need no MPI's types: over a thousand, compiled once for all ABIs. */
#include <string.h>

#include "tune/wrapper.h"

#define PLAIN(name, call, base, large, parameters)                                                           \
    WRAPPERS(name, call, parameters, parameters, RW_WAITS_##name, (void)0)
RW_CALLS(PLAIN)

#define PLAIN_MPI(name, call, base, large, parameters) (rw_function) mpi_##name,
#define PLAIN_PMPI(name, call, base, large, parameters) (rw_function) pmpi_##name,
const rw_function rw_tune_plain[RW_ENTRIES][RW_CALL_COUNT] = {{RW_CALLS(PLAIN_MPI)}, {RW_CALLS(PLAIN_PMPI)}};

unsigned char rw_tune_polls[RW_CALL_COUNT];

static int is_poll(const char *name) {
    return strncmp(name, "Test", 4) == 0 || strncmp(name, "Iprobe", 6) == 0 ||
           strncmp(name, "Improbe", 7) == 0 || strncmp(name, "Request_get_status", 18) == 0 ||
           strncmp(name, "Parrived", 8) == 0 || strncmp(name, "Win_test", 8) == 0 ||
           strncmp(name, "Wtime", 5) == 0;
}

void rw_tune_note_polls(void) {
#define NAME(name, call, base, large, parameters) #name,
    static const char *const names[RW_CALL_COUNT] = {RW_CALLS(NAME)};
    for (unsigned call = 0; call < RW_CALL_COUNT; call++)
        rw_tune_polls[call] = (unsigned char)is_poll(names[call]);
}
