/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKWISE_LAB_NEXT_H
#define RANKWISE_LAB_NEXT_H

#include <stdint.h>

/**
 * @brief The function of this name that would be called without this library.
 *
 * @param known  Keeps it from call to call.
 * @param name   An MPI function. Where there is none, the process ends as the loader would have ended it.
 */
void *rw_next(void **known, const char *name);

#define EXPORT __attribute__((visibility("default")))

#define PARAMETERS_0 void
#define PARAMETERS_2 intptr_t a1, intptr_t a2
#define PARAMETERS_3 PARAMETERS_2, intptr_t a3
#define PARAMETERS_4 PARAMETERS_3, intptr_t a4
#define PARAMETERS_5 PARAMETERS_4, intptr_t a5
#define PARAMETERS_6 PARAMETERS_5, intptr_t a6
#define ARGUMENTS_0
#define ARGUMENTS_2 a1, a2
#define ARGUMENTS_3 ARGUMENTS_2, a3
#define ARGUMENTS_4 ARGUMENTS_3, a4
#define ARGUMENTS_5 ARGUMENTS_4, a5
#define ARGUMENTS_6 ARGUMENTS_5, a6

/*
 * MPI_X@RANKWISE_1, as in record/shim/shim.c: calls are bound to it, a recorder that comes before finds it,
 * and a program that asks with dlsym which MPI is there does not.
 *
 * Nothing of mpi.h is needed: all parameters are integers and pointers, so each is passed on as wide as a
 * register. Communicators and requests are an int with MPICH and a pointer with Open MPI; of an int the
 * callee looks at the lower half only, as it does in its caller's registers.
 */
#define ENTRY(prefix, name, parameters, before, after)                                                       \
    EXPORT intptr_t rw_##prefix##name(PARAMETERS_##parameters) {                                             \
        static void *known;                                                                                  \
        intptr_t (*function)(PARAMETERS_##parameters) =                                                      \
            (intptr_t (*)(PARAMETERS_##parameters))(uintptr_t)rw_next(&known, #prefix #name);                \
        before;                                                                                              \
        const intptr_t result = function(ARGUMENTS_##parameters);                                            \
        after;                                                                                               \
        return result;                                                                                       \
    }                                                                                                        \
    __asm__(".symver rw_" #prefix #name ", " #prefix #name "@RANKWISE_1");

#endif
