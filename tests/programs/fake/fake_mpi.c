/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_mpi.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int fake_threads = 1;

/* ---- handles, lowest free number first ---- */

enum { MANY = 4096 };
static char used[3][MANY]; /* requests, communicators, windows */
static char persistent[MANY];
static int inactive[MANY];
static int bytes_of_request[MANY], source_of_request[MANY];

static int take(int kind) {
    for (int i = 1; i < MANY; i++)
        if (!__atomic_exchange_n(&used[kind][i], 1, __ATOMIC_ACQ_REL))
            return i;
    abort();
}

static void give_back(int kind, int number) {
    __atomic_store_n(&used[kind][number], 0, __ATOMIC_RELEASE);
}

static MPI_Request new_request(int source, int bytes, int is_persistent) {
    int number = take(0);
    persistent[number] = (char)is_persistent;
    inactive[number] = is_persistent;
    source_of_request[number] = source;
    bytes_of_request[number] = bytes;
    return (MPI_Request)(0x2c000000 | number);
}

static int size_of(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL)
        abort(); /* no library has to bear being asked */
    return ((unsigned)type & 0xff000000u) == 0x4c000000u ? (type >> 8 & 0xff) : 12;
}

static int some_source(int source) {
    return source == MPI_ANY_SOURCE ? FAKE_SIZE - 1 : source;
}

static void fill(MPI_Status *status, int source, int bytes) {
    if (status == MPI_STATUS_IGNORE)
        return;
    memset(status, 0, sizeof *status);
    status->MPI_SOURCE = source;
    status->count_lo = source == MPI_PROC_NULL ? 0 : bytes;
}

/* ---- the world ---- */

static int type_size(MPI_Datatype type, int *bytes) {
    *bytes = size_of(type);
    return 0;
}
static int type_size_c(MPI_Datatype type, MPI_Count *bytes) {
    *bytes = size_of(type);
    return 0;
}
static int type_get_envelope(MPI_Datatype type, int *i, int *a, int *d, int *combiner) {
    *i = *a = *d = 0;
    *combiner = ((unsigned)type & 0xff000000u) == 0x4c000000u ? MPI_COMBINER_NAMED : MPI_COMBINER_VECTOR;
    return 0;
}
static int query_thread(int *provided) {
    *provided = fake_threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    return 0;
}
static int comm_rank(MPI_Comm comm, int *rank) {
    *rank = comm == MPI_COMM_SELF ? 0 : FAKE_RANK;
    return 0;
}
static int comm_group(MPI_Comm comm, MPI_Group *group) {
    *group = comm == MPI_COMM_SELF ? MPI_GROUP_NULL + 2 : MPI_GROUP_NULL + 1;
    return 0;
}
static int win_get_group(MPI_Win win, MPI_Group *group) {
    (void)win;
    return comm_group(MPI_COMM_WORLD, group);
}
static int comm_test_inter(MPI_Comm comm, int *flag) {
    (void)comm;
    *flag = 0;
    return 0;
}
static int group_size(MPI_Group group, int *size) {
    *size = group == MPI_GROUP_NULL + 2 ? 1 : FAKE_SIZE;
    return 0;
}
static int group_rank(MPI_Group group, int *rank) {
    (void)group;
    *rank = FAKE_RANK;
    return 0;
}
static int group_translate(MPI_Group group, int n, const int *ranks, MPI_Group to, int *translated) {
    (void)to;
    for (int i = 0; i < n; i++)
        translated[i] = group == MPI_GROUP_NULL + 2 ? FAKE_RANK : ranks[i];
    return 0;
}
static int comm_dup(MPI_Comm comm, MPI_Comm *made) {
    (void)comm;
    *made = (MPI_Comm)(0x84000000 | take(1));
    return 0;
}
static int comm_free(MPI_Comm *comm) {
    give_back(1, (int)((unsigned)*comm & 0xffff));
    *comm = MPI_COMM_NULL;
    return 0;
}
static int win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win) {
    (void)base, (void)size, (void)unit, (void)info, (void)comm;
    *win = (MPI_Win)(0xa0000000 | take(2));
    return 0;
}
static int win_free(MPI_Win *win) {
    give_back(2, (int)((unsigned)*win & 0xffff));
    *win = MPI_WIN_NULL;
    return 0;
}
static int topo_test(MPI_Comm comm, int *topology) {
    (void)comm;
    *topology = MPI_CART;
    return 0;
}
static int cartdim_get(MPI_Comm comm, int *n) {
    (void)comm;
    *n = 2;
    return 0;
}
static int cart_shift(MPI_Comm comm, int direction, int by, int *source, int *destination) {
    (void)comm, (void)by;
    *source = direction ? MPI_PROC_NULL : 0;
    *destination = 2;
    return 0;
}

/* ---- messages ---- */

static int recv_(void *b, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Status *status) {
    (void)b, (void)tag, (void)c;
    fill(status, some_source(source), source == MPI_PROC_NULL ? 0 : n * size_of(t));
    return 0;
}
static int sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt,
                    int source, int rtag, MPI_Comm c, MPI_Status *status) {
    (void)n, (void)t, (void)to, (void)tag;
    return recv_(b ? rb : rb, rn, rt, source, rtag, c, status);
}
static int isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *request) {
    (void)b, (void)n, (void)t, (void)to, (void)tag, (void)c;
    *request = new_request(0, 0, 0);
    return 0;
}
static int irecv(void *b, int n, MPI_Datatype t, int source, int tag, MPI_Comm c, MPI_Request *request) {
    (void)b, (void)tag, (void)c;
    *request = new_request(some_source(source), source == MPI_PROC_NULL ? 0 : n * size_of(t), 0);
    return 0;
}
static int send_init(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c,
                     MPI_Request *request) {
    (void)b, (void)n, (void)t, (void)to, (void)tag, (void)c;
    *request = new_request(0, 0, 1);
    return 0;
}
static int psend_init(const void *b, int p, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm c,
                      MPI_Info info, MPI_Request *request) {
    (void)p, (void)info;
    return send_init(b, (int)n, t, to, tag, c, request);
}
static int start(MPI_Request *request) {
    inactive[*request & 0xffff] = 0;
    return 0;
}
static int wait_(MPI_Request *request, MPI_Status *status) {
    int number = *request & 0xffff;
    if (*request == MPI_REQUEST_NULL || inactive[number]) {
        fill(status, MPI_ANY_SOURCE, 0);
        return 0;
    }
    fill(status, source_of_request[number], bytes_of_request[number]);
    if (persistent[number]) {
        inactive[number] = 1;
    } else {
        give_back(0, number);
        *request = MPI_REQUEST_NULL;
    }
    return 0;
}
static int test(MPI_Request *request, int *flag, MPI_Status *status) {
    *flag = rand() % 3 == 0;
    return *flag ? wait_(request, status) : 0;
}
static int waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
    for (int i = 0; i < n; i++)
        wait_(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
    return 0;
}
static int waitsome(int n, MPI_Request *requests, int *count, int *indices, MPI_Status *statuses) {
    *count = MPI_UNDEFINED;
    for (int i = 0, found = 0; i < n; i++) {
        if (requests[i] == MPI_REQUEST_NULL || inactive[requests[i] & 0xffff])
            continue;
        wait_(&requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[found]);
        indices[found++] = i;
        *count = found;
        if (found == 2)
            break;
    }
    return 0;
}
static int waitany(int n, MPI_Request *requests, int *index, MPI_Status *status) {
    *index = MPI_UNDEFINED;
    for (int i = 0; i < n && *index == MPI_UNDEFINED; i++)
        if (requests[i] != MPI_REQUEST_NULL && !inactive[requests[i] & 0xffff])
            *index = i;
    return *index == MPI_UNDEFINED ? 0 : wait_(&requests[*index], status);
}
static int request_free(MPI_Request *request) {
    give_back(0, *request & 0xffff);
    *request = MPI_REQUEST_NULL;
    return 0;
}

static intptr_t succeed(void) {
    return 0;
}

void fake_fill(rw_function next[RW_CALL_COUNT]) {
    for (int call = 0; call < RW_CALL_COUNT; call++)
        next[call] = (rw_function)succeed;
#define IS(name, function) next[RW_CALL_##name] = (rw_function)function
    IS(Type_size, type_size), IS(Type_size_c, type_size_c), IS(Type_get_envelope, type_get_envelope);
    IS(Query_thread, query_thread), IS(Comm_rank, comm_rank), IS(Comm_group, comm_group);
    IS(Win_get_group, win_get_group), IS(Comm_test_inter, comm_test_inter), IS(Group_size, group_size);
    IS(Group_rank, group_rank), IS(Group_translate_ranks, group_translate), IS(Comm_dup, comm_dup);
    IS(Comm_free, comm_free), IS(Win_create, win_create), IS(Win_free, win_free), IS(Topo_test, topo_test);
    IS(Cartdim_get, cartdim_get), IS(Cart_shift, cart_shift), IS(Recv, recv_), IS(Sendrecv, sendrecv);
    IS(Isend, isend), IS(Irecv, irecv), IS(Send_init, send_init), IS(Psend_init, psend_init),
        IS(Start, start);
    IS(Wait, wait_), IS(Test, test), IS(Waitall, waitall), IS(Waitsome, waitsome), IS(Waitany, waitany);
    IS(Request_free, request_free);
}
