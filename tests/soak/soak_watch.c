/* SPDX-License-Identifier: Apache-2.0 */
#include "soak.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_CHILDREN = 256, CHILD_SECONDS = 60 };

uint64_t soak_draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void soak_pause(unsigned milliseconds)
{
    poll(NULL, 0, (int)milliseconds);
}

/* ---- what the process has -------------------------------------------------------------------- */

static unsigned entries(const char *folder)
{
    DIR *d = opendir(folder);
    unsigned n = 0;

    if (!d)
        return 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

/* A child of ours: its state ('Z': dead and not waited for), 0 when it is none. */
static char state_of_child(pid_t pid, char name[64])
{
    char path[64];
    char line[512] = "";
    char state = 0;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    bool read = fgets(line, sizeof(line), f) != NULL;
    fclose(f);
    const char *end = strrchr(line, ')'); /* names may have spaces and parentheses */
    const char *begin = strchr(line, '(');
    if (!read || !end || !begin || sscanf(end + 1, " %c %d", &state, &parent) != 2 || parent != getpid())
        return 0;
    snprintf(name, 64, "%.*s", (int)(end - begin - 1), begin + 1);
    return state;
}

static unsigned children(pid_t pids[MAX_CHILDREN], bool sessions, unsigned *zombies)
{
    DIR *d = opendir("/proc");
    unsigned n = 0;

    *zombies = 0;
    if (!d)
        return 0;
    for (struct dirent *e = readdir(d); e && n < MAX_CHILDREN; e = readdir(d)) {
        pid_t pid = (pid_t)atoi(e->d_name);
        char name[64] = "";
        char state = pid > 0 ? state_of_child(pid, name) : 0;
        bool wanted = state && (!sessions || strncmp(name, "libQnn", 6) == 0);
        *zombies += state == 'Z';
        if (wanted && state != 'Z')
            pids[n++] = pid;
    }
    closedir(d);
    return n;
}

void soak_measure(struct soak_usage *ret)
{
    pid_t pids[MAX_CHILDREN];
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%*u %lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    ret->rss_kib = pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
    ret->descriptors = entries("/proc/self/fd") - 1; /* that of the folder */
    ret->threads = entries("/proc/self/task");
    ret->children = children(pids, false, &ret->zombies);
}

/* ---- disturbances ---------------------------------------------------------------------------- */

/* The process behind a pidfd is the one that was looked at, whatever becomes of the number. */
static int open_session(uint64_t *dice)
{
    pid_t pids[MAX_CHILDREN];
    unsigned zombies;
    unsigned n = children(pids, true, &zombies);
    char name[64];

    if (n == 0)
        return -1;
    pid_t pid = pids[soak_draw(dice) % n];
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0 && !state_of_child(pid, name)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool send_to(int fd, int signal)
{
    return syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) == 0;
}

void *soak_kill_sessions(void *arg)
{
    struct soak_disturbances *d = arg;
    uint64_t dice = d->seed;

    while (!atomic_load(&d->over)) {
        soak_pause(50 + (unsigned)(soak_draw(&dice) % 300));
        int fd = open_session(&dice);
        if (fd < 0)
            continue;
        if (soak_draw(&dice) % 3 == 0 && send_to(fd, SIGSTOP)) {
            d->stopped++;
            soak_pause(30);
            if (!d->stops)
                send_to(fd, SIGCONT);
        } else if (send_to(fd, SIGKILL)) {
            d->kills++;
        }
        close(fd);
    }
    return NULL;
}

static void limit(int resource, rlim_t value)
{
    struct rlimit l = { value, value };
    setrlimit(resource, &l);
}

/* In a child, where only this thread is left: contexts of its own, sometimes with little to make them of. */
static _Noreturn void live_as_child(struct soak_disturbances *d, uint64_t dice)
{
    bool right = true;

    limit(RLIMIT_CORE, 0);
    alarm(CHILD_SECONDS);
    if (dice & 1)
        limit(RLIMIT_NOFILE, 3 + (dice >> 8) % 40);
    if (dice & 2)
        limit(RLIMIT_AS, 1 << 20);
    for (unsigned i = 0; i < d->n_backends && right; i++)
        if (strcmp(d->backends[i].name, "gpu") != 0) /* drivers do not survive a fork */
            right = soak_cycle_under_limits(&d->backends[i]);
    _exit(right ? 0 : 1);
}

void *soak_fork_children(void *arg)
{
    struct soak_disturbances *d = arg;
    uint64_t dice = d->seed + 1;

    while (!atomic_load(&d->over)) {
        soak_pause(400 + (unsigned)(soak_draw(&dice) % 400));
        uint64_t fate = soak_draw(&dice);
        int status = 0;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            live_as_child(d, fate);
        if (pid < 0)
            continue;
        d->forks++;
        while (waitpid(pid, &status, 0) < 0)
            ;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            d->fork_failures++;
            printf("ERROR child: %s %d (limits: %s%s)\n", WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), fate & 1 ? "descriptors " : "",
                   fate & 2 ? "memory" : "");
        }
    }
    return NULL;
}
