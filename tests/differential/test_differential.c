/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs give the same bits however they are run: on every instruction set, with any number of threads, on every
 * backend, at every optimization level, with any size of VTCM, in the client's process and in a session's, freshly compiled
 * and from a binary, whatever floating-point mode the caller has.
 *
 *     test_differential [-runs=N] [-seed=S] [-large=PERCENT] [-ways=N] [-show=1] [-spoil=1]
 *
 * An instruction set is chosen once per process, so each has a process of its own, a lane, that runs all graphs in ways of
 * its own drawing. Within a lane bytes are compared with those of libQnnCpu.so on one thread; between lanes, their digests.
 * What goes wrong is printed with its seed and the graph. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "diff_run.h"
#include "random_graph.h"
#include "test_scale.h"

enum { MAX_LANES = ISA_COUNT, RUNS = 200, LARGE_PERCENT = 15, WAYS = 5, ALIGN = 64, TEXT = 2000 };

struct options {
    uint64_t seed;
    unsigned runs, large, ways;
    unsigned show;  /* print the graphs, run nothing */
    unsigned spoil; /* a bit of each result of libQnnHtp.so is turned: every lane has to notice */
};

/* What a lane tells the parent, in shared memory. */
struct report {
    uint64_t digest, fp16_digest; /* of all outputs; 0: not computed */
};
struct lane {
    unsigned at, failed, refused, done, lpai; /* `at`: the run it is in, for crashes */
};

static struct lane *lanes;
static struct report *reports; /* [lane][run] */

/* ---- graphs and their memory ------------------------------------------------------------------------------------------ */

static bool is_large(const struct options *o, unsigned run)
{
    return (uint64_t)(run + 1) * o->large / 100 != (uint64_t)run * o->large / 100;
}

/* Every third of the small ones is made for chains. */
static enum status make_graph(const struct options *o, unsigned run, struct random_graph *ret)
{
    uint64_t seed = o->seed + run;
    return is_large(o, run) || seed % 3 ? random_graph_make_wide(ret, seed, is_large(o, run))
                                        : random_graph_make_lines(ret, seed, 2 + seed % 13);
}

static void print_graph(const struct options *o, unsigned run)
{
    struct random_graph r;
    struct str text;
    if (make_graph(o, run, &r) == ST_OK) {
        str_init(&text);
        ir_print(r.g, 64, &text);
        printf("%s\n", str_text(&text));
        str_finish(&text);
    }
    random_graph_free(&r);
    printf("again: test_differential -runs=1 -seed=%llu -large=%d\n", (unsigned long long)(o->seed + run),
           is_large(o, run) ? 100 : 0);
    fflush(stdout);
}

static void **make_data(struct random_graph *r)
{
    void **data = mem_array(void *, r->g->tensors.n);
    for (size_t i = 0; data && i < r->g->tensors.n; i++) {
        const struct ir_tensor *t = &r->g->tensors.at[i];
        if (t->role != IR_INPUT && t->role != IR_OUTPUT)
            continue;
        data[i] = mem_alloc_aligned(ALIGN, desc_bytes(&t->desc));
        if (data[i] && t->role == IR_INPUT)
            random_fill(r, &t->desc, data[i]);
    }
    return data;
}

static void free_data(const struct ir_graph *g, void **data)
{
    for (size_t i = 0; data && i < g->tensors.n; i++)
        mem_free(data[i]);
    mem_free(data);
}

/* A NaN has no sign and no payload (docs/numerics.md). */
static void plain_nans(const struct tensor_desc *d, void *data)
{
    uint64_t n = desc_count(d);
    for (uint64_t i = 0; i < n && d->type == DT_F32; i++)
        if ((((uint32_t *)data)[i] & 0x7fffffffu) > 0x7f800000u)
            ((uint32_t *)data)[i] = 0x7fc00000u;
    for (uint64_t i = 0; i < n && d->type == DT_F16; i++)
        if ((((uint16_t *)data)[i] & 0x7fffu) > 0x7c00u)
            ((uint16_t *)data)[i] = 0x7e00u;
}

static uint64_t digest(const struct ir_graph *g, void *const *data)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < g->tensors.n; i++) {
        const uint8_t *p = data[i];
        for (uint64_t k = 0; g->tensors.at[i].role == IR_OUTPUT && k < desc_bytes(&g->tensors.at[i].desc); k++)
            h = (h ^ p[k]) * 0x100000001b3u;
    }
    return h ? h : 1;
}

/* ---- one graph in one lane -------------------------------------------------------------------------------------------- */

struct bench {
    const struct options *o;
    unsigned lane, run;
    struct compose libs[DIFF_LIBS];
    struct random_graph r;
    void **data, **want; /* per tensor; want: what comes first */
    char error[TEXT];
};

static void complain(struct bench *b, const char *what, const struct diff_way *w)
{
    char way[200];
    diff_text(w, way, sizeof way);
    lanes[b->lane].failed++;
    printf("seed %llu, %s, %s: %s\n", (unsigned long long)(b->o->seed + b->run), cpu_isa_name((enum isa)b->lane), way, what);
    print_graph(b->o, b->run);
}

static bool run_way(struct bench *b, const struct diff_way *w)
{
    enum diff_result got = diff_run(b->libs, w, b->r.g, b->data, b->error, sizeof b->error);
    if (got == DIFF_FAILED)
        complain(b, b->error, w);
    lanes[b->lane].refused += got == DIFF_REFUSED;
    lanes[b->lane].done += got == DIFF_DONE;
    for (size_t i = 0; got == DIFF_DONE && i < b->r.g->tensors.n; i++) {
        if (b->r.g->tensors.at[i].role != IR_OUTPUT)
            continue;
        plain_nans(&b->r.g->tensors.at[i].desc, b->data[i]);
        if (b->o->spoil && w->lib == DIFF_HTP)
            *(uint8_t *)b->data[i] ^= 1;
    }
    return got == DIFF_DONE;
}

static bool compare(struct bench *b, const struct diff_way *w)
{
    char text[300];
    for (size_t i = 0; i < b->r.g->tensors.n; i++) {
        const struct ir_tensor *t = &b->r.g->tensors.at[i];
        const uint8_t *p = b->data[i], *q = b->want[i];
        uint64_t bytes = desc_bytes(&t->desc), at = 0;
        if (t->role != IR_OUTPUT)
            continue;
        while (at < bytes && p[at] == q[at])
            at++;
        if (at == bytes)
            continue;
        snprintf(text, sizeof text, "output \"%s\" differs at byte %llu of %llu: %02x instead of %02x", t->name,
                 (unsigned long long)at, (unsigned long long)bytes, p[at], q[at]);
        complain(b, text, w);
        return false;
    }
    return true;
}

static void keep(struct bench *b)
{
    for (size_t i = 0; i < b->r.g->tensors.n; i++)
        if (b->r.g->tensors.at[i].role == IR_OUTPUT)
            memcpy(b->want[i], b->data[i], desc_bytes(&b->r.g->tensors.at[i].desc));
}

static bool lpai_takes(const struct ir_graph *g)
{
    struct ir_call v;
    for (size_t i = 0; i < g->nodes.n; i++) {
        ir_call(g, &g->nodes.at[i], &v);
        if (op_backend_takes(OP_BACKEND_LPAI, &v.call) != ST_OK)
            return false;
    }
    return true;
}

/* Ways differ from lane to lane: the results may not. */
static struct diff_way draw(struct random_graph *dice)
{
    static const unsigned threads[] = { 1, 2, 3, 8 };
    static const uint32_t vtcm[] = { 256 << 10, 320 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 0 };
    struct diff_way w = { .lib = random_below(dice, 4) ? DIFF_HTP : DIFF_CPU,
                          .threads = threads[random_below(dice, 4)],
                          .reload = random_below(dice, 2) };
    w.level = 1 + random_below(dice, 3);
    w.vtcm = vtcm[random_below(dice, random_below(dice, 2) ? 2 : 7)];
    w.process = random_below(dice, 3) == 0;
    w.fpu = random_below(dice, 2) ? random_below(dice, diff_fpu_modes) : 0;
    return w;
}

static void all_ways(struct bench *b, struct report *to)
{
    struct random_graph dice = { .seed = (b->o->seed + b->run) * 31 + b->lane };
    struct diff_way w = { .lib = DIFF_CPU, .threads = 1 };
    if (!run_way(b, &w))
        return;
    keep(b);
    to->digest = digest(b->r.g, b->data);
    for (unsigned i = 0; i < b->o->ways; i++) {
        w = draw(&dice);
        if (run_way(b, &w) && !compare(b, &w))
            return;
    }
    w = (struct diff_way){ .lib = DIFF_LPAI, .threads = 1, .reload = random_below(&dice, 2) };
    w.fpu = random_below(&dice, diff_fpu_modes);
    if (lpai_takes(b->r.g) && run_way(b, &w)) {
        lanes[b->lane].lpai++;
        if (!compare(b, &w))
            return;
    }
    /* Float32 graphs in float16 have results of their own, which are again the same in every way. */
    for (int i = 0; i < 2 && b->r.type == DT_F32; i++) {
        w = draw(&dice);
        w.lib = DIFF_HTP;
        w.fp16 = true;
        if (!run_way(b, &w))
            return;
        if (to->fp16_digest && !compare(b, &w))
            return;
        keep(b);
        to->fp16_digest = digest(b->r.g, b->data);
    }
}

static void one_graph(struct bench *b)
{
    if (make_graph(b->o, b->run, &b->r) != ST_OK) {
        lanes[b->lane].failed++;
        printf("seed %llu: %s\n", (unsigned long long)(b->o->seed + b->run), status_text());
        return;
    }
    b->data = make_data(&b->r);
    b->want = make_data(&b->r);
    all_ways(b, &reports[(size_t)b->lane * b->o->runs + b->run]);
    free_data(b->r.g, b->data);
    free_data(b->r.g, b->want);
    random_graph_free(&b->r);
}

static int run_lane(const struct options *o, unsigned lane)
{
    struct bench b = { .o = o, .lane = lane };
    setenv("OPENQNN_ISA", cpu_isa_name((enum isa)lane), 1);
    if (!diff_open(b.libs, b.error, sizeof b.error))
        return printf("%s\n", b.error), 1;
    for (b.run = 0; b.run < o->runs && lanes[lane].failed < 3; b.run++) {
        lanes[lane].at = b.run;
        one_graph(&b);
    }
    diff_close(b.libs);
    return lanes[lane].failed != 0;
}

/* ---- all lanes -------------------------------------------------------------------------------------------------------- */

static unsigned compare_lanes(const struct options *o, unsigned n)
{
    unsigned wrong = 0;
    for (unsigned run = 0; run < o->runs; run++)
        for (unsigned lane = 1; lane < n; lane++) {
            const struct report *a = &reports[run], *b = &reports[(size_t)lane * o->runs + run];
            bool differs = a->digest && b->digest && a->digest != b->digest;
            if (!differs && !(a->fp16_digest && b->fp16_digest && a->fp16_digest != b->fp16_digest))
                continue;
            printf("seed %llu: %s and %s give different results%s\n", (unsigned long long)(o->seed + run),
                   cpu_isa_name(ISA_REF), cpu_isa_name((enum isa)lane), differs ? "" : " in float16");
            if (wrong++ < 3)
                print_graph(o, run);
        }
    return wrong;
}

static int run_all(const struct options *o)
{
    unsigned n = (unsigned)cpu_isa() + 1, failed = 0, done = 0, refused = 0, lpai = 0, noticed = 0;
    pid_t child[MAX_LANES];
    size_t bytes = MAX_LANES * sizeof *lanes + (size_t)n * o->runs * sizeof *reports;
    lanes = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (lanes == MAP_FAILED)
        return perror("mmap"), 1;
    reports = (struct report *)(lanes + MAX_LANES);
    fflush(stdout);
    for (unsigned i = 0; i < n; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            int rc = run_lane(o, i);
            fflush(stdout);
            _exit(rc);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        int status = -1;
        if (child[i] < 0 || waitpid(child[i], &status, 0) != child[i] || status != 0) {
            failed++;
            if (status == -1 || WIFSIGNALED(status)) {
                printf("seed %llu: the process of %s ended with signal %d\n", (unsigned long long)(o->seed + lanes[i].at),
                       cpu_isa_name((enum isa)i), status == -1 ? 0 : WTERMSIG(status));
                print_graph(o, lanes[i].at);
            }
        }
        noticed += lanes[i].failed != 0;
        done += lanes[i].done;
        refused += lanes[i].refused;
        lpai += lanes[i].lpai;
    }
    failed += compare_lanes(o, n);
    printf("%u graphs from seed %llu, %u instruction sets: %u runs, %u of them on libQnnLpai.so; %u did not fit into VTCM; "
           "%s\n",
           o->runs, (unsigned long long)o->seed, n, done, lpai, refused, failed ? "FAILED" : "all the same");
    return o->spoil ? noticed != n : failed != 0;
}

static const struct {
    const char *name;
    size_t at;
} keys[] = {
    { "runs", offsetof(struct options, runs) },   { "large", offsetof(struct options, large) },
    { "ways", offsetof(struct options, ways) },   { "show", offsetof(struct options, show) },
    { "spoil", offsetof(struct options, spoil) },
};

static bool take_option(struct options *o, const char *text)
{
    unsigned long long v = 0;
    char key[16] = "";
    if (sscanf(text, "-%15[a-z]=%llu", key, &v) != 2)
        return false;
    if (strcmp(key, "seed") == 0)
        return o->seed = v, true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strcmp(key, keys[i].name) == 0)
            return *(unsigned *)((char *)o + keys[i].at) = (unsigned)v, true;
    return false;
}

int main(int argc, char **argv)
{
    struct options o = { .seed = 1, .runs = test_scale(RUNS), .large = LARGE_PERCENT, .ways = WAYS };
    for (int i = 1; i < argc; i++)
        if (!take_option(&o, argv[i]))
            return fprintf(stderr,
                           "usage: test_differential [-runs=N] [-seed=S] [-large=PERCENT] [-ways=N] [-show=1] [-spoil=1]\n"),
                   2;
    for (unsigned run = 0; o.show && run < o.runs; run++)
        print_graph(&o, run);
    return o.show ? 0 : run_all(&o);
}
