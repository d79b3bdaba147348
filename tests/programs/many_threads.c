/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * many_threads COUNT SPIN BORN: a process of so many threads beside the first. Of these, SPIN compute and the
 * others sleep. BORN more begin and join threads that live for some microseconds, all the time. SIGUSR1: it
 * executes itself. SIGUSR2: the thread that gets it begins one that sleeps. SIGURG: that thread ends.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char **command;

/* Seldom awake: a thousand of them must not be work. */
static void *sleep_on(void *unused) {
    for (;;)
        usleep(200000);
    return unused;
}

static void *spin(void *unused) {
    for (volatile unsigned long turns = 0;; turns++)
        ;
    return unused;
}

static void *live_shortly(void *unused) {
    usleep(50);
    return unused;
}

static void *bear(void *unused) {
    for (;;) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&threads[i], NULL, live_shortly, NULL) != 0)
                abort();
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        usleep(200);
    }
    return unused;
}

static void begin(int count, void *(*what)(void *)) {
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, what, NULL) != 0)
            abort();
    }
}

static void execute_again(int unused) {
    (void)unused;
    execv("/proc/self/exe", command);
}

static void begin_one(int unused) {
    (void)unused;
    begin(1, sleep_on);
}

static void end_this(int unused) {
    (void)unused;
    pthread_exit(NULL);
}

int main(int count, char **words) {
    if (count < 4)
        return 2;
    command = words;
    struct sigaction action = {.sa_handler = execute_again, .sa_flags = SA_NODEFER};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = begin_one;
    sigaction(SIGUSR2, &action, NULL);
    action.sa_handler = end_this;
    sigaction(SIGURG, &action, NULL);
    begin(atoi(words[1]) - atoi(words[2]), sleep_on);
    begin(atoi(words[2]), spin);
    begin(atoi(words[3]), bear);
    puts("ready");
    fflush(stdout);
    for (;;)
        usleep(1000);
}
