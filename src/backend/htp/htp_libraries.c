/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that belong to the backend, and the rule that there is one set of them in a process.
 *
 *   libQnnHtpPrepare.so, libQnnHtpV<arch>Stub.so   in the folder of libQnnHtp.so
 *   libQnnHtpV<arch>Skel.so                        along ADSP_LIBRARY_PATH, in that folder, then where an SDK tree has it
 *
 * libQnnHtp.so has the same parts itself, for clients that copied it alone. A file that is there must work and be of the
 * same build. Libraries are opened once and kept: sessions and compiled graphs hold code of theirs. */
#include "backend/htp/htp_backend.h"

#include "base/forks.h"
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Held while libraries are opened, and while their names are read: the dynamic linker has a lock of its own, which thread
 * sanitizers do not see. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
FORKS_HOLD(lock)

/* ---- one copy --------------------------------------------------------------------------------------------------------- */

struct copies {
    const void *own;
    char other[1024];
    unsigned long long adds;
    bool found;
};

/* A library is a copy of this one when it has the file name, whatever its folder; renamed ones do not count on
 * being found. */
static int look_at_object(struct dl_phdr_info *i, size_t size, void *arg)
{
    struct copies *c = arg;
    const char *slash = strrchr(i->dlpi_name, '/'), *name = slash ? slash + 1 : i->dlpi_name;
    bool own = false;
    (void)size;
    c->adds = i->dlpi_adds;
    if (strcmp(name, "libQnnHtp.so") != 0)
        return 0;
    for (int k = 0; k < i->dlpi_phnum; k++) {
        uintptr_t at = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr, p = (uintptr_t)c->own;
        own |= i->dlpi_phdr[k].p_type == PT_LOAD && p >= at && p < at + i->dlpi_phdr[k].p_memsz;
    }
    if (own)
        return 0;
    snprintf(c->other, sizeof c->other, "%s", i->dlpi_name);
    c->found = true;
    return 1;
}

static int count_adds(struct dl_phdr_info *i, size_t size, void *arg)
{
    (void)size;
    *(unsigned long long *)arg = i->dlpi_adds;
    return 1;
}

enum status htp_check_process(void)
{
    static _Atomic unsigned long long
        clean_at; /* objects opened when there was no other copy, so that most calls ask one question */
    unsigned long long adds = 0;
    dl_iterate_phdr(count_adds, &adds);
    if (adds && adds == clean_at)
        return ST_OK;
    struct copies c = { .own = &htp_build_id };
    pthread_mutex_lock(&lock);
    dl_iterate_phdr(look_at_object, &c);
    pthread_mutex_unlock(&lock);
    RETURN_IF(c.found, ST_LOADING,
              "two copies of the HTP backend are loaded, %s and %s; one set of libraries per process is supported",
              backend_own_path(), c.other);
    clean_at = c.adds;
    return ST_OK;
}

/* ---- opening ---------------------------------------------------------------------------------------------------------- */

static enum status same_build(const char *name, const char *build_id)
{
    RETURN_IF(strcmp(build_id, htp_build_id) != 0, ST_LOADING,
              "%s is of build %s, libQnnHtp.so of build %s; use libraries of one build", name, build_id, htp_build_id);
    return ST_OK;
}

static void *prepare_lib;
static const struct htp_prepare_link *prepare_link;

/* One per architecture that the process has used. */
static struct stub {
    void *lib; /* NULL: built in */
    const struct rpc_link *link;
    uint32_t arch;
} stubs[HTP_MAX_ARCHS];
static uint32_t n_stubs;

static enum status open_prepare(void)
{
    static const char name[] = "libQnnHtpPrepare.so";
    void *symbol;
    if (prepare_link)
        return ST_OK;
    TRY(backend_open_symbol(name, HTP_PREPARE_SYMBOL, &prepare_lib, &symbol));
    const struct htp_prepare_link *p = symbol ? symbol : &openqnn_htp_prepare;
    RETURN_IF(p->version != HTP_PREPARE_VERSION, ST_LOADING, "%s has interface version %u; libQnnHtp.so needs %d", name,
              p->version, HTP_PREPARE_VERSION);
    TRY(same_build(name, p->build_id));
    prepare_link = p;
    return ST_OK;
}

enum status htp_find_prepare(const struct htp_prepare_link **ret)
{
    pthread_mutex_lock(&lock);
    enum status st = open_prepare();
    *ret = prepare_link;
    pthread_mutex_unlock(&lock);
    return st;
}

static enum status load_stub(uint32_t arch, struct stub *ret)
{
    char name[64];
    void *symbol;

    snprintf(name, sizeof name, "libQnnHtpV%uStub.so", arch);
    TRY(backend_open_symbol(name, RPC_STUB_SYMBOL, &ret->lib, &symbol));
    ret->arch = arch;
    ret->link = symbol ? ((rpc_stub_fn *)symbol)(RPC_LINK_VERSION) : &rpc_link_built_in;
    RETURN_IF(!ret->link, ST_LOADING, "%s does not speak interface version %d of this libQnnHtp.so", name, RPC_LINK_VERSION);
    return same_build(name, ret->link->build_id);
}

static enum status open_stub(uint32_t arch, const struct rpc_link **ret)
{
    struct stub fresh = { 0 };

    for (uint32_t i = 0; i < n_stubs; i++)
        if (stubs[i].arch == arch) {
            *ret = stubs[i].link;
            return ST_OK;
        }
    RETURN_IF(n_stubs >= HTP_MAX_ARCHS, ST_LOADING,
              "the process uses sessions of %u architectures already; no more are known", n_stubs);

    enum status st = load_stub(arch, &fresh);
    if (st != ST_OK) {
        if (fresh.lib)
            dlclose(fresh.lib);
        return st;
    }
    stubs[n_stubs++] = fresh;
    *ret = fresh.link;
    return ST_OK;
}

/* Programs on computers with a runtime driver look for these lines; here the driver is this library. */
static void say_driver(uint32_t arch)
{
    static _Atomic bool said;
    if (atomic_exchange(&said, true))
        return;
    backend_log(
        BACKEND_WARN,
        "Traditional path not available. Switching to user driver path: there is no libQnnHtpV%uStub.so beside %s or "
        "where the dynamic linker looks",
        arch, backend_own_path());
    backend_log(BACKEND_WARN, "HTP user driver is loaded. Switched to user driver path: it is built into this library");
}

enum status htp_find_link(uint32_t arch, const struct rpc_link **ret)
{
    const char *mode = getenv("OPENQNN_SESSION");
    if (mode && strcmp(mode, "inproc") == 0) {
        *ret = &rpc_link_inproc;
        return ST_OK;
    }
    pthread_mutex_lock(&lock);
    enum status st = open_stub(arch, ret);
    pthread_mutex_unlock(&lock);
    if (st == ST_OK && *ret == &rpc_link_built_in)
        say_driver(arch);
    return st;
}

/* Clients open and close libQnnHtp.so many times in one process, some without freeing what they made. This also runs at the
 * end of a program whose other threads may still be in a call. */
__attribute__((destructor)) static void close_libraries(void)
{
    bool unused = rpc_link_inproc.abandon();

    for (uint32_t i = 0; i < n_stubs; i++)
        unused &= stubs[i].link->abandon();
    if (!unused) {
        rpc_abandon();
        return; /* threads may still call what they had */
    }
    if (prepare_lib)
        dlclose(prepare_lib);
    for (uint32_t i = 0; i < n_stubs; i++)
        if (stubs[i].lib)
            dlclose(stubs[i].lib);
}

/* ---- the skel --------------------------------------------------------------------------------------------------------- */

enum status htp_find_skel(uint32_t arch, char path[RPC_PATH_MAX])
{
    char note[RPC_NOTE_MAX] = "";
    enum status st = rpc_find_program(arch, backend_own_path(), path, note);
    if (st == ST_OK && *note)
        backend_log(BACKEND_WARN, "%s", note);
    return st;
}
