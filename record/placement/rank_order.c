/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/rank_order.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t rw_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash ? hash : 1;
}

static char *whole_file(const char *path) {
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    size_t length = 0, size = fstat(file, &status) == 0 && status.st_size > 0 ? (size_t)status.st_size : 0;
    char *text = malloc(size + 1);
    ssize_t got = 1;
    while (text && length < size && got > 0)
        if ((got = read(file, text + length, size - length)) > 0)
            length += (size_t)got;
    close(file);
    if (text)
        text[length] = '\0';
    return text;
}

const char *rw_read_placement(const char *path, struct rw_placement *placement) {
    memset(placement, 0, sizeof *placement);
    char *text = placement->text = whole_file(path), *rest = NULL;
    if (!text)
        return "its file cannot be read on every host";
    char *line = strtok_r(text, "\n", &rest);
    if (!line || sscanf(line, "rankwise-reorder/1 %d %d", &placement->ranks, &placement->nodes) != 2 ||
        placement->ranks < 1 || placement->nodes < 1)
        return "its file is none of this version";
    placement->host = calloc((size_t)placement->nodes, sizeof *placement->host);
    placement->node = calloc((size_t)placement->ranks, sizeof *placement->node);
    placement->pus = calloc((size_t)placement->ranks, sizeof *placement->pus);
    if (!placement->host || !placement->node || !placement->pus)
        return "there is no memory for it";
    for (int node = 0; node < placement->nodes; node++) {
        if (!(line = strtok_r(NULL, "\n", &rest)))
            return "its file is cut off";
        strncpy(placement->host[node], line, RW_HOST_BYTES - 1);
    }
    for (int rank = 0; rank < placement->ranks; rank++) {
        char *end = NULL;
        if (!(line = strtok_r(NULL, "\n", &rest)))
            return "its file is cut off";
        placement->node[rank] = (int)strtol(line, &end, 10);
        if (end == line || *end != ' ' || placement->node[rank] < 0 ||
            placement->node[rank] >= placement->nodes)
            return "its file is damaged";
        placement->pus[rank] = end + 1;
    }
    return NULL;
}

void rw_free_plan(struct rw_placement *placement) {
    free(placement->host);
    free(placement->node);
    free(placement->pus);
    free(placement->text);
    memset(placement, 0, sizeof *placement);
}

/* Hosts in the order of their first process. */
struct hosts {
    int count;
    int *of;    /* each process's host */
    int *first; /* process of each */
    int *ranks; /* processes of each */
};

static int find_hosts(const struct rw_process_place *process, int ranks, struct hosts *hosts) {
    size_t slots = 2;
    while (slots < 2 * (size_t)ranks)
        slots *= 2;
    int *table = malloc(slots * sizeof *table);
    hosts->count = 0;
    hosts->of = malloc((size_t)ranks * sizeof *hosts->of);
    hosts->first = malloc((size_t)ranks * sizeof *hosts->first);
    hosts->ranks = calloc((size_t)ranks, sizeof *hosts->ranks);
    if (!table || !hosts->of || !hosts->first || !hosts->ranks) {
        free(table);
        return -1;
    }
    memset(table, -1, slots * sizeof *table);
    for (int at = 0; at < ranks; at++) {
        size_t slot = rw_hash(process[at].host) & (slots - 1);
        while (table[slot] >= 0 && strcmp(process[hosts->first[table[slot]]].host, process[at].host) != 0)
            slot = (slot + 1) & (slots - 1);
        if (table[slot] < 0) {
            hosts->first[hosts->count] = at;
            table[slot] = hosts->count++;
        }
        hosts->of[at] = table[slot];
        hosts->ranks[table[slot]]++;
    }
    free(table);
    return 0;
}

/* Names are the same up to their domains, which not all who name a host write. */
static int same_host(const char *a, const char *b) {
    size_t length = strcspn(a, ".");
    return strcmp(a, b) == 0 || (length == strcspn(b, ".") && strncmp(a, b, length) == 0);
}

/* The host of each node that has ranks; -1 and a reason if there is none for one of them. */
static int match_nodes(const struct rw_placement *placement, const struct rw_process_place *process,
                       const struct hosts *hosts, int *host_of, char reason[256]) {
    int *wanted = calloc((size_t)placement->nodes, sizeof *wanted);
    char *taken = calloc((size_t)hosts->count, 1);
    int failed = !wanted || !taken;
    if (failed)
        snprintf(reason, 256, "there is no memory for it");
    for (int rank = 0; !failed && rank < placement->ranks; rank++)
        wanted[placement->node[rank]]++;
    for (int node = 0; node < placement->nodes; node++)
        host_of[node] = -1;
    /* Nodes with names first, then the others; of these that of rank 0 first. */
    for (int named = 1; named >= 0 && !failed; named--)
        for (int at = -1, next = 0; at < placement->nodes && !failed; at++) {
            const int node = at < 0 ? placement->node[0] : at;
            if (!wanted[node] || host_of[node] >= 0 || (strcmp(placement->host[node], "*") != 0) != named)
                continue;
            int host = at < 0 ? 0 : next;
            for (; host < hosts->count; host++)
                if (!taken[host] &&
                    (!named || same_host(placement->host[node], process[hosts->first[host]].host)) &&
                    (named || hosts->ranks[host] == wanted[node]))
                    break;
            if (host == hosts->count || hosts->ranks[host] != wanted[node]) {
                failed = 1;
                if (named && host < hosts->count)
                    snprintf(reason, 256, "`%s` is to have %d ranks, and the launcher started %d there",
                             placement->host[node], wanted[node], hosts->ranks[host]);
                else if (named)
                    snprintf(reason, 256, "the launcher started no ranks on `%s`", placement->host[node]);
                else
                    snprintf(reason, 256,
                             "a node is to have %d of the ranks, and no host that is left has so many",
                             wanted[node]);
            } else {
                host_of[node] = host;
                taken[host] = 1;
                while (next < hosts->count && taken[next])
                    next++;
            }
        }
    free(wanted);
    free(taken);
    return failed ? -1 : 0;
}

/* Ranks of one host's processes: `process` and `new_rank` are the numbers of both, `count` each, ascending.
 */
static int own_rank(const struct rw_placement *placement, const struct rw_process_place *process,
                    const int *member, const int *new_rank, int count, int own) {
    enum { FIRST, BOUND, SAME, ANY };
    int found = -1;
    char *sits = calloc((size_t)count, 1), *taken = calloc((size_t)count, 1);
    for (int round = FIRST; sits && taken && round <= ANY; round++)
        for (int at = 0; at < count; at++)
            for (int to = 0; to < count && !sits[at]; to++) {
                const int may = round == FIRST ? member[at] == 0 && new_rank[to] == 0
                                : round == BOUND
                                    ? process[member[at]].pus == rw_hash(placement->pus[new_rank[to]])
                                : round == SAME ? member[at] == new_rank[to]
                                                : 1;
                if (taken[to] || !may)
                    continue;
                sits[at] = taken[to] = 1;
                if (member[at] == own)
                    found = new_rank[to];
            }
    free(sits);
    free(taken);
    return found;
}

int rw_new_rank(const struct rw_placement *placement, const struct rw_process_place *process, int own,
                char reason[256]) {
    struct hosts hosts = {0};
    int rank = -1;
    int *host_of = malloc((size_t)placement->nodes * sizeof *host_of);
    int *member = malloc((size_t)placement->ranks * sizeof *member),
        *new_rank = malloc((size_t)placement->ranks * sizeof *new_rank);
    snprintf(reason, 256, "there is no memory for it");
    if (host_of && member && new_rank && find_hosts(process, placement->ranks, &hosts) == 0 &&
        match_nodes(placement, process, &hosts, host_of, reason) == 0) {
        int members = 0, new_ranks = 0;
        for (int at = 0; at < placement->ranks; at++) {
            if (hosts.of[at] == hosts.of[own])
                member[members++] = at;
            if (host_of[placement->node[at]] == hosts.of[own])
                new_rank[new_ranks++] = at;
        }
        if (members == new_ranks)
            rank = own_rank(placement, process, member, new_rank, members, own);
    }
    free(hosts.of);
    free(hosts.first);
    free(hosts.ranks);
    free(host_of);
    free(member);
    free(new_rank);
    return rank;
}
