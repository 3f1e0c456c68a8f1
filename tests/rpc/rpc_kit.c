/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc_kit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handmade.h"

const struct rpc_link *kit_link = &rpc_link_inproc;
uint32_t kit_arch = 73;
uint32_t kit_lanes = 1;

const struct rpc_link *kit_stub(uint32_t arch)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/libQnnHtpV%uStub.so", getenv("OPENQNN_LIB_DIR"), arch);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    rpc_stub_fn *get = lib ? (rpc_stub_fn *)dlsym(lib, RPC_STUB_SYMBOL) : NULL;
    if (!get) {
        printf("FAILED: %s\n", dlerror());
        exit(1);
    }
    return get(RPC_LINK_VERSION);
}

static struct handmade made;

/* The test has failed; it did not crash, which `make torture` tells apart. */
static _Noreturn void give_up(void)
{
    fprintf(stderr, "the kit of this test cannot work: %s\n", status_text());
    exit(1);
}

static int to_memfd(uint64_t *ret_bytes)
{
    struct binary_image im;
    if (binary_write(&made.target, &made.src, &im) != ST_OK)
        give_up();
    int fd = memfd_create("kit", MFD_CLOEXEC);
    if (write(fd, im.data, im.size) != (ssize_t)im.size)
        give_up();
    *ret_bytes = im.size;
    binary_image_free(&im);
    return fd;
}

int kit_binary(uint64_t *ret_bytes)
{
    static int fd = -1;
    static uint64_t bytes;
    if (fd < 0) {
        hm_make(&made, "kit", KIT_ROWS, KIT_COLUMNS);
        fd = to_memfd(&bytes);
    }
    *ret_bytes = bytes;
    return fd;
}

int kit_dynamic_binary(uint64_t *ret_bytes)
{
    hm_make_dynamic(&made, KIT_ROWS, KIT_COLUMNS);
    return to_memfd(ret_bytes);
}

int kit_window_binary(uint64_t window, uint64_t *ret_bytes)
{
    hm_make(&made, "window", KIT_ROWS, KIT_COLUMNS);
    made.tensors[HM_T].place = PLACE_VTCM;
    made.tensors[HM_T].offset = window - KIT_BYTES;
    made.src.info.scratch_bytes = 0;
    made.src.info.vtcm_bytes = made.src.info.vtcm_used = window;
    return to_memfd(ret_bytes);
}

struct rpc_session_opts kit_opts(void)
{
    return (struct rpc_session_opts){ .arch = kit_arch, .threads = 2, .lanes = kit_lanes, .build_id = kit_link->build_id };
}

void kit_io(struct kit_client *c)
{
    for (uint32_t i = 0; i < KIT_IO; i++)
        c->io[i] = (struct rpc_io){ .map = c->buffer, .offset = i * KIT_BYTES, .bytes = KIT_BYTES };
}

static enum status fill_session(struct kit_client *c)
{
    uint64_t bytes;
    int fd = kit_binary(&bytes);
    struct rpc_session_opts o = kit_opts();
    struct rpc_load l = { .bytes = bytes };
    TRY(kit_link->open(&o, &c->s));
    TRY(kit_link->map(c->s, fd, 0, bytes, false, &c->binary));
    TRY(kit_link->map(c->s, rpc_fd(c->memory), 0, KIT_IO * KIT_BYTES, true, &c->buffer));
    l.map = c->binary;
    TRY(kit_link->load(c->s, &l));
    c->program = l.program;
    kit_io(c);
    return ST_OK;
}

enum status kit_open(struct kit_client *c)
{
    void *p;
    memset(c, 0, sizeof(*c));
    if (rpc_alloc(KIT_IO * KIT_BYTES, &p) != ST_OK)
        give_up();
    c->memory = p;
    enum status st = fill_session(c);
    if (st != ST_OK)
        kit_close(c);
    return st;
}

void kit_close(struct kit_client *c)
{
    kit_link->close(c->s);
    rpc_free(c->memory);
    memset(c, 0, sizeof(*c));
}

static float input_at(uint32_t i, uint32_t seed)
{
    return (float)((int)((i * 37 + seed * 11) % 101) - 50) / 8.0f;
}

void kit_fill(struct kit_client *c, uint32_t seed)
{
    for (uint32_t i = 0; i < KIT_N; i++)
        c->memory[i] = input_at(i, seed);
    memset(c->memory + KIT_N, 0xee, 2 * KIT_BYTES);
}

enum status kit_run(struct kit_client *c, struct rpc_wait wait)
{
    struct rpc_run r = { .program = c->program, .io = c->io, .n_io = KIT_IO, .wait = wait };
    return kit_link->run(c->s, &r);
}

bool kit_right(const struct kit_client *c, uint32_t seed)
{
    const float *y = c->memory + KIT_N, *z = y + KIT_N;
    for (uint32_t i = 0; i < KIT_N; i++) {
        float t = input_at(i, seed) + ((float)(i % 7) - 3.0f);
        if (y[i] != (t > 0 ? t : 0) || z[i % KIT_COLUMNS * KIT_ROWS + i / KIT_COLUMNS] != t)
            return false;
    }
    return true;
}

unsigned kit_fds(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

unsigned kit_children(void)
{
    unsigned n = 0;
    int pid;
    FILE *f = fopen("/proc/thread-self/children", "r");
    while (f && fscanf(f, "%d", &pid) == 1)
        n++;
    if (f)
        fclose(f);
    return n;
}

unsigned kit_mappings(void)
{
    unsigned n = 0;
    char line[1024];
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof(line), f))
        n += strstr(line, "/memfd:") != NULL;
    if (f)
        fclose(f);
    return n;
}
