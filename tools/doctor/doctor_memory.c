/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that client and session share, and the limits of this process that decide how much of it there may be. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/tool_library.h"
#include "doctor/doctor.h"
#include "rpcmem.h"

enum { PROBE_BYTES = 1 << 20, FEW_FILES = 1024, FEWEST_FILES = 64, SMALL_FILE = 1 << 30, HEAP = 25 };

static void look_at_memfd(struct doctor *d)
{
    struct doctor_finding *f;
    int fd = memfd_create("openqnn-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *at = MAP_FAILED;

    /* A limit on file sizes ends the process by a signal, so nothing grows where it would. */
    struct rlimit limit = { 0, 0 };
    getrlimit(RLIMIT_FSIZE, &limit);
    if (limit.rlim_cur < PROBE_BYTES)
        errno = EFBIG;
    else if (fd >= 0 && ftruncate(fd, PROBE_BYTES) == 0)
        at = mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (at != MAP_FAILED) {
        memset(at, 1, PROBE_BYTES);
        munmap(at, PROBE_BYTES);
        doctor_add(d, DOCTOR_OK, "shared memory", "memfd of %d bytes made, mapped and written", PROBE_BYTES);
    } else {
        f = doctor_add(d, DOCTOR_FAIL, "shared memory", "no memfd of %d bytes: %m", PROBE_BYTES);
        doctor_advise(
            f, "sessions and rpcmem need memfd_create; allow it in the container's filter, and see ulimit -f, -n, -v");
    }
    if (fd >= 0)
        close(fd);
}

/* Why it failed; "" when an allocation had bytes and a descriptor. */
static void try_rpcmem(const void *arg, void *ret)
{
    char *why = ret;
    void *library = NULL, *alloc = NULL, *to_fd = NULL, *give = NULL;
    const char *name = "libcdsprpc.so";

    (void)arg;
    status_clear();
    if (library_open(name, &library) != ST_OK || library_symbol(library, name, "rpcmem_alloc", &alloc) != ST_OK ||
        library_symbol(library, name, "rpcmem_to_fd", &to_fd) != ST_OK ||
        library_symbol(library, name, "rpcmem_free", &give) != ST_OK) {
        snprintf(why, DOCTOR_TEXT_MAX, "%s", status_text());
        return;
    }

    char *at = ((__typeof__(&rpcmem_alloc))alloc)(HEAP, 0, PROBE_BYTES);
    int fd = at ? ((__typeof__(&rpcmem_to_fd))to_fd)(at) : -1;
    if (!at || fd < 0)
        snprintf(why, DOCTOR_TEXT_MAX, "rpcmem_alloc of %d bytes gave %s", PROBE_BYTES, at ? "no descriptor" : "NULL");
    else
        memset(at, 1, PROBE_BYTES);
    if (at)
        ((__typeof__(&rpcmem_free))give)(at);
}

static void look_at_rpcmem(struct doctor *d)
{
    char reason[DOCTOR_TEXT_MAX] = "", why[DOCTOR_WHY_MAX];
    bool ended = doctor_in_child(try_rpcmem, NULL, reason, sizeof(reason), why);

    if (ended && !reason[0]) {
        doctor_add(d, DOCTOR_OK, "shared memory", "rpcmem_alloc of libcdsprpc.so gives memory with a descriptor");
        return;
    }
    struct doctor_finding *f = doctor_add(d, DOCTOR_FAIL, "shared memory", "rpcmem: %s", ended ? reason : why);
    doctor_advise(f, "clients with shared buffers need libcdsprpc.so: install openqnn again, or correct LD_LIBRARY_PATH");
}

static void limit_text(rlim_t n, char ret[32])
{
    if (n == RLIM_INFINITY)
        snprintf(ret, 32, "unlimited");
    else
        snprintf(ret, 32, "%llu", (unsigned long long)n);
}

static void look_at_files_limit(struct doctor *d)
{
    struct rlimit limit = { 0, 0 };
    char soft[32], hard[32];
    struct doctor_finding *f;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit_text(limit.rlim_cur, soft);
    limit_text(limit.rlim_max, hard);
    if (limit.rlim_cur < FEW_FILES) {
        f = doctor_add(d, limit.rlim_max < FEWEST_FILES ? DOCTOR_FAIL : DOCTOR_WARN, "limits",
                       "open files (RLIMIT_NOFILE): %s, at most %s; each shared buffer and session needs some", soft, hard);
        doctor_advise(f, "ulimit -n %d, or more for models with many shared buffers", FEW_FILES);
    } else {
        doctor_add(d, DOCTOR_OK, "limits", "open files (RLIMIT_NOFILE): %s, at most %s", soft, hard);
    }
}

static void look_at_size_limits(struct doctor *d)
{
    static const struct {
        int resource;
        const char *name, *option;
    } limits[] = { { RLIMIT_FSIZE, "size of a file, also of shared memory (RLIMIT_FSIZE)", "-f" },
                   { RLIMIT_AS, "address space (RLIMIT_AS)", "-v" } };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
        char soft[32];

        getrlimit((__rlimit_resource_t)limits[i].resource, &limit);
        limit_text(limit.rlim_cur, soft);
        if (limit.rlim_cur >= SMALL_FILE) {
            doctor_add(d, DOCTOR_OK, "limits", "%s: %s", limits[i].name, soft);
            continue;
        }
        struct doctor_finding *f =
            doctor_add(d, DOCTOR_WARN, "limits", "%s: %s bytes; larger graphs will not fit", limits[i].name, soft);
        doctor_advise(f, "ulimit %s unlimited, before the program is started", limits[i].option);
    }
}

/* Asked about often, because other runtimes need them. */
static void look_at_unused(struct doctor *d)
{
    struct rlimit limit = { 0, 0 };
    struct statvfs shm;
    char soft[32];

    getrlimit(RLIMIT_MEMLOCK, &limit);
    limit_text(limit.rlim_cur, soft);
    doctor_add(d, DOCTOR_OK, "limits", "locked memory (RLIMIT_MEMLOCK): %s; openqnn locks no memory", soft);
    if (statvfs("/dev/shm", &shm) == 0)
        doctor_add(d, DOCTOR_OK, "limits", "/dev/shm: %llu of %llu MiB free; openqnn uses memfd and needs none of it",
                   (unsigned long long)shm.f_bavail * shm.f_frsize >> 20,
                   (unsigned long long)shm.f_blocks * shm.f_frsize >> 20);
    else
        doctor_add(d, DOCTOR_OK, "limits", "no /dev/shm; openqnn uses memfd and does not need it");
}

void doctor_memory(struct doctor *d)
{
    look_at_memfd(d);
    look_at_rpcmem(d);
    look_at_files_limit(d);
    look_at_size_limits(d);
    look_at_unused(d);
}
