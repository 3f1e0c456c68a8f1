/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to libraries, in child processes: drivers of OpenCL and copies of unknown origin may crash, hang or print. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/tool_library.h"
#include "doctor/doctor.h"

enum { PATIENCE_S = 60 };

/* What libraries print would stand between the findings. */
static void silence(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
}

static bool wait_for(pid_t child, char why[DOCTOR_WHY_MAX])
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0)
        continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(why, DOCTOR_WHY_MAX, "it gave no answer within %d seconds", PATIENCE_S);
    else if (WIFSIGNALED(status))
        snprintf(why, DOCTOR_WHY_MAX, "it crashed: %s", strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        snprintf(why, DOCTOR_WHY_MAX, "it ended the process with status %d", WEXITSTATUS(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool doctor_in_child(doctor_work_fn *work, const void *arg, void *ret, size_t size, char why[DOCTOR_WHY_MAX])
{
    void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    why[0] = 0;
    if (shared == MAP_FAILED) {
        snprintf(why, DOCTOR_WHY_MAX, "no shared memory of %zu bytes for its answer", size);
        return false;
    }

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGALRM, SIG_DFL);
        alarm(PATIENCE_S);
        silence();
        work(arg, shared);
        _exit(0);
    }

    bool ended = child > 0 && wait_for(child, why);
    if (child < 0)
        snprintf(why, DOCTOR_WHY_MAX, "no process could be started: %m; raise the limit of processes (ulimit -u)");
    memcpy(ret, shared, size);
    munmap(shared, size);
    return ended;
}

static void find_library(const void *name, void *ret)
{
    struct doctor_library *library = ret;
    struct link_map *map = NULL;
    void *handle = NULL;

    status_clear();
    if (library_open(name, &handle) != ST_OK)
        snprintf(library->why, sizeof(library->why), "%s", status_text());
    else if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !realpath(map->l_name, library->path))
        snprintf(library->why, sizeof(library->why), "\"%s\" was opened, but from where is not known", (const char *)name);
}

void doctor_find_library(const char *name, struct doctor_library *ret)
{
    char why[DOCTOR_WHY_MAX];

    if (doctor_in_child(find_library, name, ret, sizeof(*ret), why))
        return;
    ret->path[0] = 0;
    snprintf(ret->why, sizeof(ret->why), "%s was being opened when %s", (const char *)name, why);
}
