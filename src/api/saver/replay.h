/* SPDX-License-Identifier: Apache-2.0 */
/* A recording of QNN calls, made by libQnnSaver.so of openqnn. To repeat them on a backend:
 *     cc -I <folder of QnnInterface.h> saver_output.c -o replay -ldl -lpthread
 *     ./replay libQnnCpu.so [folder for outputs]
 * The data file is looked for beside the program. Each call's result is printed; outputs of executions are written to
 * execute_<call>_<index>.raw, context binaries to context_<call>.bin, sections of them to section_<call>.bin. The exit
 * status is 1 when a call failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "QnnInterface.h"

struct shared_memory {
    int fd;
    char *at;
    size_t size;
};

static QNN_INTERFACE_VER_TYPE q;
static char data_folder[4096] = ".", backend_folder[4096];
static const char *output_folder = ".";
static unsigned failed;
static Qnn_ContextBinarySize_t binary_size, section_size;
static QnnContext_Buffer_t section_update;
static const void *piece;
static Qnn_ContextBinarySize_t piece_offset;
extern Qnn_LogHandle_t logs[];
extern Qnn_BackendHandle_t backends[];
extern Qnn_DeviceHandle_t devices[];
extern Qnn_ContextHandle_t contexts[];
extern Qnn_GraphHandle_t graphs[];
extern Qnn_MemHandle_t mems[];
extern Qnn_ProfileHandle_t profiles[];
extern Qnn_SignalHandle_t signals[];
extern uint32_t tensor_ids[];
extern struct shared_memory shared_memories[];

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

/* Bytes of a data file, which stays mapped. */
static void *data(const char *file, size_t offset, size_t size)
{
    static const char *name;
    static char *at;
    static size_t all;
    if (!name || strcmp(name, file) != 0) {
        char path[8192];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", data_folder, file);
        int fd = open(path, O_RDONLY);
        if (fd < 0 || fstat(fd, &st) != 0)
            give_up(path, "cannot be opened");
        all = (size_t)st.st_size;
        at = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        if (at == MAP_FAILED)
            give_up(path, "cannot be mapped");
        close(fd);
        name = file;
    }
    if (offset > all || size > all - offset)
        give_up(file, "is too short");
    return at + offset;
}

/* Zeros, aligned as any backend wants it. */
static void *buffer(size_t size)
{
    void *p = NULL;
    if (posix_memalign(&p, 256, size ? size : 1) != 0)
        give_up("buffer", "out of memory");
    return memset(p, 0, size);
}

/* ---- memory that can be registered: that of libcdsprpc.so where there is one, else files in memory ---- */

static void *rpcmem(const char *name)
{
    static void *library;
    char path[8192];
    snprintf(path, sizeof path, "%s/libcdsprpc.so", backend_folder);
    if (!library && *backend_folder)
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcdsprpc.so", RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, name) : NULL;
}

static struct shared_memory *shared(unsigned number, size_t size)
{
    struct shared_memory *s = &shared_memories[number];
    void *(*allocate)(int, uint32_t, int);
    int (*to_fd)(void *);
    if (s->at)
        return s;
    *(void **)&allocate = rpcmem("rpcmem_alloc");
    *(void **)&to_fd = rpcmem("rpcmem_to_fd");
    s->size = size;
    if (allocate && to_fd && size <= INT_MAX) {
        s->at = allocate(25, 1, (int)size);
        s->fd = s->at ? to_fd(s->at) : -1;
    } else {
        s->fd = memfd_create("shared", 0);
        if (s->fd < 0 || ftruncate(s->fd, (off_t)size) != 0)
            give_up("shared memory", "cannot be made");
        s->at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    }
    if (!s->at || s->at == MAP_FAILED || s->fd < 0)
        give_up("shared memory", "cannot be allocated");
    return s;
}

static void drop_shared(unsigned number)
{
    struct shared_memory *s = &shared_memories[number];
    void (*release)(void *);
    *(void **)&release = rpcmem("rpcmem_free");
    if (s->at && release && s->size <= INT_MAX) {
        release(s->at);
    } else if (s->at) {
        munmap(s->at, s->size);
        close(s->fd);
    }
    s->at = NULL;
}

static void fill_shared(unsigned number, size_t size, size_t offset, const void *bytes, size_t n)
{
    memcpy(shared(number, size)->at + offset, bytes, n);
}

/* ---- what calls leave behind ---- */

static void write_file(const char *name, const void *bytes, size_t size)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", output_folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, size, f) != size || fclose(f) != 0)
        give_up(path, "cannot be written");
}

static void keep(const char *what, unsigned call, const void *bytes, Qnn_ContextBinarySize_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%u.bin", what, call);
    if (bytes && size)
        write_file(name, bytes, (size_t)size);
}

static void keep_outputs(unsigned call, Qnn_Tensor_t *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char name[64];
        if (t[i].v1.memType != QNN_TENSORMEMTYPE_RAW || !t[i].v1.clientBuf.data)
            continue;
        snprintf(name, sizeof name, "execute_%u_%u.raw", call, i);
        write_file(name, t[i].v1.clientBuf.data, t[i].v1.clientBuf.dataSize);
        free(t[i].v1.clientBuf.data);
    }
}

static void keep_shared(unsigned call, unsigned index, unsigned number, size_t offset, size_t n)
{
    char name[64];
    snprintf(name, sizeof name, "execute_%u_%u.raw", call, index);
    if (shared_memories[number].at)
        write_file(name, shared_memories[number].at + offset, n);
}

static void keep_binary(unsigned call, void *bytes, Qnn_ContextBinarySize_t size)
{
    if (size <= binary_size)
        keep("context", call, bytes, size);
    free(bytes);
}

static void keep_section(unsigned call, QnnContext_Buffer_t *b, Qnn_ContextBinarySize_t size)
{
    if (b->v1.memType != QNN_CONTEXTMEMTYPE_RAW)
        return;
    if (size <= b->v1.binaryBuf.dataSize)
        keep("section", call, b->v1.binaryBuf.data, size);
    free(b->v1.binaryBuf.data);
}

/* ---- results ---- */

/* Of a call that asks, any code is an answer. */
static void answer(unsigned call, const char *name, Qnn_ErrorHandle_t e)
{
    printf("%u %s %llu\n", call, name, (unsigned long long)e);
}

static void result(unsigned call, const char *name, Qnn_ErrorHandle_t e)
{
    failed += e != QNN_SUCCESS;
    answer(call, name, e);
}

/* ---- contexts that are made in the background ---- */

static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready_more = PTHREAD_COND_INITIALIZER;
static unsigned ready, ready_failed;

static void context_ready(Qnn_ContextHandle_t context, Qnn_GraphHandle_t graph, const char *name,
                          QnnContext_createFromBinaryAsyncNotifyType_t type, void *place, Qnn_ErrorHandle_t status)
{
    (void)graph, (void)name;
    if (type != QNN_CONTEXT_NOTIFY_TYPE_CONTEXT_INIT)
        return;
    pthread_mutex_lock(&ready_lock);
    *(Qnn_ContextHandle_t *)place = context;
    ready++;
    ready_failed += status != QNN_SUCCESS;
    pthread_cond_signal(&ready_more);
    pthread_mutex_unlock(&ready_lock);
}

/* The call's own result, then that of the contexts it made. */
static Qnn_ErrorHandle_t wait_for_contexts(Qnn_ErrorHandle_t e, unsigned n)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 600;
    pthread_mutex_lock(&ready_lock);
    while (e == QNN_SUCCESS && ready < n)
        if (pthread_cond_timedwait(&ready_more, &ready_lock, &end) != 0)
            give_up("contexts", "are not ready after ten minutes");
    e = e == QNN_SUCCESS && ready_failed ? QNN_CONTEXT_ERROR_CREATE_FROM_BINARY : e;
    ready = ready_failed = 0;
    pthread_mutex_unlock(&ready_lock);
    return e;
}

static void open_backend(const char *path)
{
    const QnnInterface_t **list = NULL;
    uint32_t n = 0;
    Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *);
    const char *slash = strrchr(path, '/');
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        give_up(path, dlerror());
    if (slash)
        snprintf(backend_folder, sizeof backend_folder, "%.*s", (int)(slash - path), path);
    *(void **)&get = dlsym(library, "QnnInterface_getProviders");
    if (!get || get(&list, &n) != QNN_SUCCESS || !n)
        give_up(path, "has no interface");
    q = list[0]->QNN_INTERFACE_VER_NAME;
    (void)data, (void)buffer, (void)drop_shared, (void)fill_shared, (void)keep_outputs, (void)keep_shared, (void)keep_binary;
    (void)keep_section, (void)result, (void)context_ready, (void)wait_for_contexts, (void)binary_size, (void)section_size;
    (void)section_update, (void)piece, (void)piece_offset;
}
