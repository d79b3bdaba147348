/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * confined WHAT PROGRAM [ARGUMENT]...: the program under a filter of system calls for which perf_event_open
 * gives an error (`EPERM`, `ENOSYS`), or kills (`kill`).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    const unsigned answer = strcmp(argv[1], "kill") == 0     ? SECCOMP_RET_KILL_PROCESS
                            : strcmp(argv[1], "ENOSYS") == 0 ? SECCOMP_RET_ERRNO | ENOSYS
                                                             : SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 3;
    execv(argv[2], argv + 2);
    return 4;
}
