/* SPDX-License-Identifier: BSD-3-Clause */
/* Usage: weak_main PLUGIN: says what the plug-in sees, and what dlsym finds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
    int (*has_mpi)(void) = (int (*)(void))dlsym(plugin, "has_mpi");
    int (*has_new)(void) = (int (*)(void))dlsym(plugin, "has_new_function");
    printf("%d %d %d\n", has_mpi(), has_new(), dlsym(RTLD_DEFAULT, "MPI_Init") != NULL);
    return 7;
}
