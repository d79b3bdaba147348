/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests of all kinds drawn at random and completed in every way, between collectives, on communicators
 * that come and go: mixed DIRECTORY [raise | THREADS]. What is drawn from `common` is the same on all ranks,
 * from `own` it need not be. `raise`: halfway a session asks for MPI_THREAD_MULTIPLE; with THREADS each does
 * all of it, on its own communicators.
 */
#include <mpi.h>
#include <pthread.h>
#include <string.h>

#include "expect.h"

enum { ROUNDS = 60, MESSAGES = 10, LASTING = 6, MOST = 64, LONGEST = 70000, UNSENT_TAG = 9999 };

struct posted {
    MPI_Request request;
    int tag, source, bytes; /* of a receive, in its communicator; tag -1: of something else */
    int cancelled, persistent, done;
};

/* A message that is sent again and again. */
struct lasting {
    MPI_Request send, receive;
    int shift, bytes, active;
};

static int raises; /* with HAVE_MPI_Session_init */
static char out[LONGEST];

static __thread int rank, size; /* of the world */
static __thread MPI_Comm comms[3];
static __thread int reversed; /* the order of the third one */
static __thread unsigned common, own;
static __thread struct posted posted[MOST];
static __thread int count;
static __thread struct lasting lasting[LASTING];
static __thread char (*in)[LONGEST]; /* MOST of them */

static unsigned draw(unsigned *state, unsigned below) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % below;
}

static void wrong(const char *what) {
    printf("rank %d: wrong %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static int in_comm(int which, int world_rank) {
    return which == 2 && reversed ? size - 1 - world_rank : world_rank;
}

static MPI_Request *post(int tag, int source, int bytes) {
    posted[count] =
        (struct posted){.request = MPI_REQUEST_NULL, .tag = tag, .source = source, .bytes = bytes};
    return &posted[count++].request;
}

static int draw_bytes(void) {
    const unsigned kind = draw(&common, 8);
    return kind == 0 ? 0 : kind == 1 ? LONGEST : (int)draw(&common, 3000);
}

/* Its peer: the rank that is `shift` further, by world ranks; who sends to this one is as far the other way.
 */
static void messages(int which, int shift) {
    const MPI_Comm comm = comms[which];
    const int to = (rank + shift) % size, from = (rank - shift + size) % size;
    const int dest = in_comm(which, to), source = in_comm(which, from);
    const int number = 1 + (int)draw(&common, MESSAGES);
    int bytes[MESSAGES], ways[MESSAGES];
    for (int i = 0; i < number; i++) {
        bytes[i] = draw_bytes();
        ways[i] = (int)draw(&common, 5);
        MPI_Request *request = post(-1, 0, 0);
        if (draw(&common, 4) == 0) {
            MPI_Issend(out, bytes[i], MPI_CHAR, dest, i, comm, request);
            sent("MPI_Issend", to, 1, bytes[i]);
        } else {
            MPI_Isend(out, bytes[i], MPI_CHAR, dest, i, comm, request);
            sent("MPI_Isend", to, 1, bytes[i]);
        }
        if (draw(&own, 6) == 0) {
            MPI_Request_free(request);
            count--;
        }
    }
    for (int i = 0; i < number; i++) {
        char *const buffer = in[count];
        if (ways[i] == 0) {
            MPI_Message message;
            MPI_Mprobe(MPI_ANY_SOURCE, i, comm, &message, MPI_STATUS_IGNORE);
            MPI_Imrecv(buffer, LONGEST, MPI_CHAR, &message, post(i, source, bytes[i]));
            received("MPI_Imrecv", from, 1, bytes[i]);
        } else {
            MPI_Irecv(buffer, LONGEST, MPI_CHAR, ways[i] == 1 ? MPI_ANY_SOURCE : source, i, comm,
                      post(i, source, bytes[i]));
            received("MPI_Irecv", from, 1, bytes[i]);
        }
    }
}

/* What no message belongs to: to and from nobody, null requests, receives that are cancelled. */
static void nothings(void) {
    for (int i = (int)draw(&own, 6); i > 0; i--) {
        char *const buffer = in[count];
        switch (draw(&own, 4)) {
        case 0:
            MPI_Isend(out, 9, MPI_CHAR, MPI_PROC_NULL, 0, comms[0], post(-1, 0, 0));
            break;
        case 1:
            MPI_Irecv(buffer, 9, MPI_CHAR, MPI_PROC_NULL, 0, comms[1], post(-1, 0, 0));
            break;
        case 2:
            post(-1, 0, 0);
            break;
        default:
            MPI_Irecv(buffer, 9, MPI_CHAR, MPI_ANY_SOURCE, UNSENT_TAG, comms[0], post(-1, 0, 0));
            MPI_Cancel(&posted[count - 1].request);
            posted[count - 1].cancelled = 1;
        }
    }
}

static void make_lasting(struct lasting *one, int number) {
    one->shift = (int)draw(&common, (unsigned)size);
    one->bytes = draw_bytes();
    one->active = 0;
    MPI_Send_init(out, one->bytes, MPI_CHAR, (rank + one->shift) % size, 100 + number, comms[0], &one->send);
    MPI_Recv_init(in[MOST - 1 - number], LONGEST, MPI_CHAR,
                  number % 2 ? MPI_ANY_SOURCE : (rank - one->shift + size) % size, 100 + number, comms[0],
                  &one->receive);
}

/* Some start, some are waited for inactive, some are freed, active sends among them, and made anew. */
static void lasting_ones(void) {
    for (int i = 0; i < LASTING; i++) {
        struct lasting *const one = &lasting[i];
        const int to = (rank + one->shift) % size, from = (rank - one->shift + size) % size;
        one->active = draw(&common, 3) > 0;
        const int anew = draw(&common, 6) == 0;
        if (one->active) {
            MPI_Request both[2] = {one->receive, one->send};
            if (draw(&own, 2))
                MPI_Startall(2, both);
            else {
                MPI_Start(&one->send);
                MPI_Start(&one->receive);
            }
            sent("MPI_Send_init", to, 1, one->bytes);
            received("MPI_Recv_init", from, 1, one->bytes);
        } else if (draw(&own, 3) == 0) {
            MPI_Start(&one->receive);
            MPI_Cancel(&one->receive);
            MPI_Wait(&one->receive, MPI_STATUS_IGNORE);
        }
        if (anew && one->active)
            MPI_Wait(&one->receive, MPI_STATUS_IGNORE);
        if (anew) {
            MPI_Request_free(&one->send);
            MPI_Request_free(&one->receive);
            make_lasting(one, i);
            continue;
        }
        *post(-1, 0, 0) = one->send;
        posted[count - 1].persistent = 1;
        *post(one->active ? 100 + i : -1, from, one->bytes) = one->receive;
        posted[count - 1].persistent = 1;
    }
}

static void collectives(void) {
    static __thread int ones[500], sums[500];
    for (int i = (int)draw(&common, 6); i > 0; i--) {
        const MPI_Comm comm = comms[draw(&common, 3)];
        const int elements = draw(&common, 3) ? 3 : (int)draw(&common, 500);
        const int root = (int)draw(&common, (unsigned)size);
        char *const buffer = in[count];
        switch (draw(&common, 6)) {
        case 0:
            MPI_Barrier(comm);
            collective("MPI_Barrier", 0, 1);
            break;
        case 1:
            MPI_Bcast(ones, elements, MPI_INT, root, comm);
            collective("MPI_Bcast", 4 * elements, 1);
            break;
        case 2:
            MPI_Reduce(ones, sums, elements, MPI_INT, MPI_SUM, root, comm);
            collective("MPI_Reduce", 4 * elements, 1);
            break;
        case 3:
            MPI_Iallreduce(MPI_IN_PLACE, buffer, elements, MPI_INT, MPI_MAX, comm, post(-1, 0, 0));
            collective("MPI_Iallreduce", 4 * elements, 1);
            break;
        case 4:
            MPI_Ibarrier(comm, post(-1, 0, 0));
            collective("MPI_Ibarrier", 0, 1);
            break;
        default:
            MPI_Allreduce(ones, sums, elements, MPI_INT, MPI_SUM, comm);
            collective("MPI_Allreduce", 4 * elements, 1);
        }
    }
}

/* One that is complete: whether its status is right, if it was asked for. */
static void completed(int index, MPI_Request after, const MPI_Status *status) {
    struct posted *const one = &posted[index];
    int bytes, flag;
    if (!one->persistent && after != MPI_REQUEST_NULL)
        wrong("handle");
    if (status && one->tag >= 0) {
        MPI_Get_count(status, MPI_CHAR, &bytes);
        if (status->MPI_SOURCE != one->source || status->MPI_TAG != one->tag || bytes != one->bytes)
            wrong("status");
    }
    if (status && one->cancelled) {
        MPI_Test_cancelled(status, &flag);
        if (!flag)
            wrong("cancellation");
    }
    one->done = 1;
}

static void shuffle(void) {
    for (int i = count - 1; i > 0; i--) {
        const int j = (int)draw(&own, (unsigned)i + 1);
        const struct posted other = posted[i];
        posted[i] = posted[j];
        posted[j] = other;
    }
}

/* A few ways in turns, each of which may complete some; then all the rest. */
static void complete(void) {
    MPI_Request requests[MOST];
    MPI_Status statuses[MOST];
    int indices[MOST], flag, done, index;
    shuffle();
    for (int i = 0; i < count; i++)
        requests[i] = posted[i].request;
    for (int turn = 0; turn < 12; turn++) {
        MPI_Status *const given = draw(&own, 2) ? statuses : NULL;
        MPI_Status *const one = given ? given : MPI_STATUS_IGNORE, *const many =
                                                                       given ? given : MPI_STATUSES_IGNORE;
        const int at = (int)draw(&own, (unsigned)count);
        done = 0;
        switch (draw(&own, 7)) {
        case 0:
            MPI_Waitany(count, requests, &index, one);
            done = index != MPI_UNDEFINED;
            indices[0] = index;
            break;
        case 1:
            MPI_Testany(count, requests, &index, &flag, one);
            done = flag && index != MPI_UNDEFINED;
            indices[0] = index;
            break;
        case 2:
            MPI_Waitsome(count, requests, &done, indices, many);
            break;
        case 3:
            MPI_Testsome(count, requests, &done, indices, many);
            break;
        case 4:
            MPI_Testall(count, requests, &flag, many);
            if (flag)
                return;
            break;
        case 5:
            indices[0] = at;
            done = requests[at] != MPI_REQUEST_NULL && !posted[at].persistent;
            if (done)
                MPI_Wait(&requests[at], one);
            break;
        default: /* not persistent ones: up to 5.0.2 at least, MPICH has no status left for who waits later */
            indices[0] = at;
            if (requests[at] == MPI_REQUEST_NULL || posted[at].persistent)
                break;
            MPI_Request_get_status(requests[at], &flag, MPI_STATUS_IGNORE);
            MPI_Test(&requests[at], &done, one);
        }
        for (int i = 0; done != MPI_UNDEFINED && i < done; i++)
            completed(indices[i], requests[indices[i]], given ? &given[i] : NULL);
    }
    if (draw(&own, 2)) {
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        return;
    }
    MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++)
        if (!posted[i].done)
            completed(i, requests[i], &statuses[i]);
}

static int free_other(MPI_Comm comm, int key, void *other, void *extra) {
    (void)comm;
    (void)key;
    (void)extra;
    return MPI_Comm_free(other);
}

/* Inside another call, as libraries free what they keep beside a communicator of the program's. */
static void free_inside(MPI_Comm *comm) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_other, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, comm);
    MPI_Comm_delete_attr(MPI_COMM_SELF, key);
    MPI_Comm_free_keyval(&key);
}

static void renew(int which) {
    if (comms[which] == MPI_COMM_NULL)
        ;
    else if (draw(&common, 2))
        MPI_Comm_free(&comms[which]);
    else
        free_inside(&comms[which]);
    if (which == 1)
        MPI_Comm_dup(comms[0], &comms[1]);
    else {
        reversed = !reversed;
        MPI_Comm_split(comms[0], 0, reversed ? -rank : rank, &comms[2]);
    }
}

#ifdef HAVE_MPI_Session_init
static MPI_Session session;

static void raise_level(void) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
}
#endif

static void *run(void *base) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comms[0] = *(MPI_Comm *)base;
    comms[1] = comms[2] = MPI_COMM_NULL;
    in = calloc(MOST, sizeof *in);
    common = 7;
    own = 1000 + (unsigned)rank;
    for (int i = 0; i < LASTING; i++)
        make_lasting(&lasting[i], i);
    for (int round = 0; round < ROUNDS; round++) {
        for (int which = 1; which < 3; which++)
            if (comms[which] == MPI_COMM_NULL || draw(&common, 4) == 0)
                renew(which);
        count = 0;
        messages((int)draw(&common, 3), (int)draw(&common, (unsigned)size));
        lasting_ones();
        nothings();
#ifdef HAVE_MPI_Session_init
        if (raises && round == ROUNDS / 2)
            raise_level();
#endif
        collectives();
        complete();
        /* The same tags are used again. */
        MPI_Barrier(comms[0]);
        collective("MPI_Barrier", 0, 1);
    }
    for (int i = 0; i < LASTING; i++) {
        MPI_Request_free(&lasting[i].send);
        MPI_Request_free(&lasting[i].receive);
    }
    renew(1);
    renew(2);
#ifdef HAVE_MPI_Session_init
    if (raises)
        MPI_Session_finalize(&session);
#endif
    free(in);
    return NULL;
}

int main(int argc, char **argv) {
    enum { MOST_THREADS = 8 };
    pthread_t threads[MOST_THREADS];
    MPI_Comm bases[MOST_THREADS];
    const int wanted = argc > 2 ? atoi(argv[2]) : 0;
    int provided, world_rank;
    raises = argc > 2 && !strcmp(argv[2], "raise");
    MPI_Init_thread(&argc, &argv, wanted ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    expect_open(world_rank);
    for (int i = 0; i < wanted; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &bases[i]);
    for (int i = 0; i < wanted; i++)
        pthread_create(&threads[i], NULL, run, &bases[i]);
    for (int i = 0; i < wanted; i++)
        pthread_join(threads[i], NULL);
    if (!wanted) {
        bases[0] = MPI_COMM_WORLD;
        run(bases);
    }
    expect_close();
    MPI_Finalize();
    return 0;
}
