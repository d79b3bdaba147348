/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links nothing. Opens argv[1], that calls MPI, unless it is empty, then each plugin named after it, uses it
 * 100 times and closes it, here and in a child; those named with a `+` before with RTLD_DEEPBIND. Prints what
 * each answers.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *function_of(const char *path, int how, const char *name, void **plugin) {
    *plugin = dlopen(path, RTLD_LAZY | RTLD_LOCAL | how);
    void *function = *plugin ? dlsym(*plugin, name) : NULL;
    if (!function) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return function;
}

static void use(const char *path) {
    void *plugin;
    const int deep = path[0] == '+';
    void *function = function_of(path + deep, deep ? RTLD_DEEPBIND : 0, "use", &plugin);
    printf("%s\n", ((const char *(*)(int))(size_t)function)(100));
    fflush(stdout);
    dlclose(plugin);
}

int main(int argc, char **argv) {
    void *mpi;
    if (argc < 2 || dlsym(RTLD_DEFAULT, "ucp_tag_send_nbx"))
        return 2; /* there is none, and the recorder's must not be found */
    if (argv[1][0])
        ((void (*)(void))(size_t)function_of(argv[1], 0, "begin", &mpi))();
    for (int i = 2; i < argc; i++)
        use(argv[i]);
    for (int i = 2; i < argc; i++) {
        int how = 0;
        const pid_t child = fork();
        if (child == 0) {
            use(argv[i]);
            _exit(0);
        }
        waitpid(child, &how, 0);
        if (how)
            return 3;
    }
    if (argv[1][0])
        ((void (*)(void))(size_t)function_of(argv[1], 0, "end", &mpi))();
    return 0;
}
