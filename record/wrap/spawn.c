/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Comm_spawn. What it starts is recorded as well: Hydra gives it the variables that `rankwise record` has
 * given to the ranks, Open MPI starts it with those of its daemons only, so there env(1) starts it with ours.
 * (Values of an info, the other way, end at 255 bytes, and longer ones end the program.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "handles/communicators.h"
#include "trace/trace.h"
#include "wrap/wrap.h"

/* What is started instead of the program's commands: arrays of `count`, or NULL. */
struct commands {
    int count;
    char **commands;
    char ***arguments;
    char **found; /* as env(1) is given it; NULL where a command is as the program gave it */
};
static const struct commands unchanged = {0, NULL, NULL, NULL};

#if defined(OPEN_MPI)
extern char **environ;
static char env_command[] = "/usr/bin/env";

static int is_ours(const char *variable) {
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "RANKWISE_", 9) == 0;
}

static int has_info(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1]) {
    int given = 0;
    if (info != MPI_INFO_NULL)
        RW_PMPI_CALL(Info_get, MPI_Info, const char *, int, char *, int *)(info, key, MPI_MAX_INFO_VAL, value,
                                                                           &given);
    return given;
}

static int in_path(const char *command) {
    const char *path = getenv("PATH");
    char file[4096];
    while (path && *path) {
        const int length = (int)strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", length, path, command);
        if (access(file, X_OK) == 0)
            return 1;
        path += length + (path[length] == ':');
    }
    return 0;
}

/*
 * The command as env(1) would find what Open MPI finds: a file, or a name in PATH or else in the working
 * directory. NULL if it is neither, or an info says how to find it: then that Open MPI cannot start it stays
 * for it to say.
 */
static char *findable(const char *command, MPI_Info info) {
    char value[MPI_MAX_INFO_VAL + 1], file[4096];
    if (strchr(command, '=') || has_info(info, "path", value) || has_info(info, "ompi_preload_binary", value))
        return NULL;
    if (!strchr(command, '/') && in_path(command))
        return strdup(command);
    const char *directory = has_info(info, "wdir", value) ? value : ".";
    snprintf(file, sizeof file, "%s/%s", command[0] == '/' ? "" : directory, command);
    if (access(file, X_OK) != 0)
        return NULL;
    snprintf(file, sizeof file, "%s%s", strchr(command, '/') ? "" : "./", command);
    return strdup(file);
}

/* Arguments of env(1): our variables, the command, its own arguments. */
static char **arguments_of_env(char *command, char **arguments) {
    size_t words = 2, used = 0;
    for (char **variable = environ; *variable; variable++)
        words += (size_t)is_ours(*variable);
    for (char **word = arguments; word && *word; word++)
        words++;
    char **all = malloc(words * sizeof *all);
    if (!all)
        return NULL;
    for (char **variable = environ; *variable; variable++)
        if (is_ours(*variable))
            all[used++] = *variable;
    all[used++] = command;
    for (char **word = arguments; word && *word; word++)
        all[used++] = *word;
    all[used] = NULL;
    return all;
}

static void free_commands(struct commands *through) {
    for (int i = 0; through->found && through->arguments && i < through->count; i++)
        if (through->found[i])
            free(through->arguments[i]);
    for (int i = 0; through->found && i < through->count; i++)
        free(through->found[i]);
    free(through->commands);
    free(through->arguments);
    free(through->found);
}

/* Only what the root gives is looked at. */
static struct commands through_env(int count, const char *const *commands, char **const *arguments,
                                   const MPI_Info *infos, int root, MPI_Comm comm) {
    int rank = -1;
    RW_PMPI_CALL(Comm_rank, MPI_Comm, int *)(comm, &rank);
    if (rank != root || count <= 0 || access(env_command, X_OK) != 0)
        return unchanged;
    struct commands through = {count, calloc((size_t)count, sizeof(char *)),
                               calloc((size_t)count, sizeof(char **)), calloc((size_t)count, sizeof(char *))};
    int failed = !through.commands || !through.arguments || !through.found;
    for (int i = 0; !failed && i < count; i++) {
        through.commands[i] = (char *)commands[i];
        through.arguments[i] = arguments ? arguments[i] : NULL;
        char *found = findable(commands[i], infos ? infos[i] : MPI_INFO_NULL);
        char **words = found ? arguments_of_env(found, through.arguments[i]) : NULL;
        if (!words) {
            free(found);
            continue;
        }
        through.commands[i] = env_command;
        through.arguments[i] = words;
        through.found[i] = found;
    }
    if (failed) {
        free_commands(&through);
        return unchanged;
    }
    return through;
}
#else
static struct commands through_env(int count, const char *const *commands, char **const *arguments,
                                   const MPI_Info *infos, int root, MPI_Comm comm) {
    (void)count, (void)commands, (void)arguments, (void)infos, (void)root, (void)comm;
    return unchanged;
}
static void free_commands(struct commands *through) {
    (void)through;
}
#endif

#define GIVEN_Comm_spawn 1, &command, &argv, &info
#define GIVEN_Comm_spawn_multiple count, (const char *const *)array_of_commands, array_of_argv, array_of_info
#define USE_Comm_spawn command = through.commands[0], argv = through.arguments[0]
#define USE_Comm_spawn_multiple array_of_commands = through.commands, array_of_argv = through.arguments

#define SPAWN(entry, name)                                                                                   \
    RW_SIGNATURE(entry, name) {                                                                              \
        RW_BEGIN(entry, name);                                                                               \
        struct commands through = unchanged;                                                                 \
        if (rw_process.ready)                                                                                \
            through = through_env(GIVEN_##name, root, comm);                                                 \
        if (through.count)                                                                                   \
            USE_##name;                                                                                      \
        const int result = RW_CONTINUE(entry, name);                                                         \
        RW_CALLED(name);                                                                                     \
        free_commands(&through);                                                                             \
        if (result == MPI_SUCCESS)                                                                           \
            rw_register(thread, *intercomm);                                                                 \
        if (RW_UNLIKELY(thread->traced))                                                                     \
            rw_trace_made(thread, RW_CALL_##name, begin, end, 0, 0);                                         \
        RW_DONE;                                                                                             \
        return result;                                                                                       \
    }
SPAWN(mpi, Comm_spawn)
SPAWN(pmpi, Comm_spawn)
SPAWN(mpi, Comm_spawn_multiple)
SPAWN(pmpi, Comm_spawn_multiple)
