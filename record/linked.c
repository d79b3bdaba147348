/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes the shim's place in programs that MPI is linked into: compiled and linked with the program, it
 * defines MPI_X for every function that the library at hand has (linked_calls.h, made where it is compiled)
 * and goes on with PMPI_X. What calls PMPI_X itself, as some Fortran bindings do, is not seen.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "linked_calls.h"
#include "process/attach.h"

extern rw_attach_function rankwise_record_attach;
extern const uint32_t rw_compiled_flavour;

/* By this text `rankwise record` knows such programs, stripped ones too (rankwise.launchers.elf). */
static const char linked_in[] = "linked into the program by rankwise";

static struct rw_library library;
static char version_text[16384]; /* MPI_MAX_LIBRARY_VERSION_STRING and more */

#define DECLARE(name) extern intptr_t PMPI_##name(void);
RW_LINKED_CALLS(DECLARE)

#define PMPI_FUNCTION(name) [RW_CALL_##name] = (rw_function)PMPI_##name,
static rw_function slots[RW_ENTRIES][RW_CALL_COUNT] = {{RW_LINKED_CALLS(PMPI_FUNCTION)},
                                                       {RW_LINKED_CALLS(PMPI_FUNCTION)}};

#define PARAMETERS(count) RW_NEUTRAL_PARAMETERS_##count
#define TYPES(count) RW_NEUTRAL_TYPES_##count
#define ARGUMENTS(count) RW_NEUTRAL_ARGUMENTS_##count
#define DEFINE_WITH(name, count)                                                                             \
    intptr_t MPI_##name(PARAMETERS(count)) {                                                                 \
        return ((intptr_t (*)(TYPES(count)))__atomic_load_n(&slots[RW_MPI][RW_CALL_##name],                  \
                                                            __ATOMIC_RELAXED))(ARGUMENTS(count));            \
    }
#define EXPAND(name, count) DEFINE_WITH(name, count)
#define DEFINE(name) EXPAND(name, RW_PARAMETER_COUNT_##name)
RW_LINKED_CALLS(DEFINE)

__attribute__((constructor)) static void attach(void) {
    int length = 0;
    library.directory = getenv("RANKWISE_DIR");
    if (!library.directory || !library.directory[0])
        return;
    ((int (*)(char *, int *))slots[RW_PMPI][RW_CALL_Get_library_version])(version_text, &length);
    library.version = version_text;
    library.path = linked_in;
    library.flavour = rw_compiled_flavour;
    for (int entry = 0; entry < RW_ENTRIES; entry++)
        for (int call = 0; call < RW_CALL_COUNT; call++)
            library.next[entry][call] = slots[RW_PMPI][call];
    const char *trouble = rankwise_record_attach(RW_ATTACH_VERSION, &library, slots);
    if (trouble)
        dprintf(STDERR_FILENO, "rankwise: the program's MPI is not recorded: %s\n", trouble);
}
