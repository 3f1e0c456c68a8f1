/* SPDX-License-Identifier: Apache-2.0 */
/* What options of HTP graphs change: htp_effects MOBILENET_V2.tflite prints docs/htp-effects.md. Networks are compiled as
 * libQnnHtp.so does it, once per option; nothing is executed, and no clock is read, so that the document is the same on
 * every computer. With --check behind the file nothing is printed, and it fails where an option does not do to every network
 * what it is for. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/htp/htp_backend.h"
#include "base/mem.h"
#include "convert/convert.h"
#include "cost_graph.h"

enum { SM8550 = 43, SA8255 = 52, SM8750 = 69, KB = 1 << 10, MB = 1 << 20 };
enum { DEFAULT_VTCM = 4, DEFAULT_THREADS = 4, NETS = 4, MOST = 127, MOST_NARROW = 7 };

static void check(enum status st, const char *what)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, status_text());
    exit(1);
}

/* ---- networks --------------------------------------------------------------------------------------------------------- */

struct net {
    const char *name;
    struct ir_graph *g;
};

static void *read_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    long size = -1;

    if (f && fseek(f, 0, SEEK_END) == 0)
        size = ftell(f);
    if (size < 0 || fseek(f, 0, SEEK_SET) != 0) {
        perror(path);
        exit(1);
    }
    void *data = malloc((size_t)size + 1);
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
        perror(path);
        exit(1);
    }
    fclose(f);
    *ret_size = (size_t)size;
    return data;
}

/* What lives until the end: graphs, and bytes that they borrow. */
static const void *kept[3 * NETS];
static size_t n_kept;

static void keep(const void *memory)
{
    kept[n_kept++] = memory;
}

static struct ir_graph *read_net(const char *path)
{
    struct convert_report report;
    struct convert_opts opts = { .batch = 1 };
    struct ir_graph *g = NULL;
    size_t size;
    void *data = read_file(path, &size); /* the graph borrows constants of it */

    convert_report_init(&report);
    check(convert_tflite(data, size, &opts, &report, &g), path);
    convert_report_finish(&report);
    keep(data);
    keep(g);
    return g;
}

/* Twelve numbers at random, added up: nearly a normal distribution, as weights of networks have it. */
static int8_t draw_weight(uint32_t *state, int64_t most)
{
    enum { TERMS = 12, STEPS = 4096, PER_DEVIATION = 5 };
    int64_t sum = 0;

    for (int i = 0; i < TERMS; i++) {
        *state = *state * 1664525u + 1013904223u;
        sum += *state >> 8 & (STEPS - 1);
    }
    sum = (sum - TERMS / 2 * (int64_t)STEPS) * most / PER_DEVIATION / STEPS;
    if (sum > most)
        return (int8_t)most;
    return (int8_t)(sum < -most ? -most : sum);
}

/* Networks of the cost model have zeros for weights; here each has others. */
static void give_weights(struct ir_graph *g, int64_t most)
{
    uint32_t state = 1;

    for (size_t i = 0; i < g->tensors.n; i++) {
        struct ir_tensor *t = &g->tensors.at[i];
        if (t->role != IR_CONST || t->desc.type != DT_SQ8)
            continue;
        uint64_t bytes = desc_bytes(&t->desc);
        int8_t *weights = arena_alloc(&g->arena, bytes);
        check(weights ? ST_OK : status_fail(ST_NO_MEMORY, "no memory for weights"), g->name);
        for (uint64_t k = 0; k < bytes; k++)
            weights[k] = draw_weight(&state, most);
        t->data = weights;
    }
}

static struct ir_graph *build_net(const char *model, int64_t most)
{
    struct cost_graph g = { .zeros = NULL };

    for (uint32_t i = 0; cost_nets[i].model; i++) {
        if (strcmp(cost_nets[i].model, model) != 0)
            continue;
        cost_graph_start(&g, model, COST_W8A8);
        cost_nets[i].build(&g);
        give_weights(g.g, most);
        keep(g.zeros);
        keep(g.g);
        return g.g;
    }
    check(status_fail(ST_NOT_FOUND, "no such network"), model);
    return NULL;
}

/* ---- options ---------------------------------------------------------------------------------------------------------- */

#define SET(name, statement)                           \
    static void set_##name(struct htp_prepare_args *a) \
    {                                                  \
        statement;                                     \
    }
SET(nothing, (void)a)
SET(o1, a->cfg.opt_level = 1)
SET(o3, a->cfg.opt_level = 3)
SET(vtcm2, a->vtcm_mb = 2)
SET(vtcm8, a->vtcm_mb = 8)
SET(threads, a->hvx_threads = 2)
SET(fold, a->cfg.fold_relu_off = 1)
SET(fusion, a->cfg.activation_fusion = 0)
SET(depth, a->cfg.short_depth_off = 1)
SET(packing, a->cfg.weights_packing = 1)
SET(dlbc, a->cfg.dlbc = 1)
SET(weights, a->cfg.dlbc_weights = 1)
SET(sparse, a->cfg.sparse_weights = 1)
SET(cores, a->cfg.cores = 2)
SET(slc, a->cfg.slc = HTP_SLC_ON)
SET(small, a->vtcm_mb = 1)
SET(small_dlbc, a->vtcm_mb = 1; a->cfg.dlbc = 1)
SET(small_slc, a->vtcm_mb = 1; a->cfg.slc = HTP_SLC_ON)

/* What becomes of cycles in every network. */
enum change { ANY, FEWER, MORE };

/* Each is compared with the row `nothing` or `small` of its SoC. */
static const struct option {
    const char *name;
    uint32_t soc;
    void (*set)(struct htp_prepare_args *a);
    bool base;
    enum change change;
} options[] = {
    { "SM8550: default", SM8550, set_nothing, true, ANY },
    { "FINALIZE_OPTIMIZATION_FLAG 1", SM8550, set_o1, false, ANY },
    { "FINALIZE_OPTIMIZATION_FLAG 3", SM8550, set_o3, false, FEWER },
    { "VTCM_SIZE_IN_MB 2", SM8550, set_vtcm2, false, ANY },
    { "VTCM_SIZE_IN_MB 8", SM8550, set_vtcm8, false, ANY },
    { "NUM_HVX_THREADS 2", SM8550, set_threads, false, MORE },
    { "FOLD_RELU_ACTIVATION_INTO_CONV_OFF", SM8550, set_fold, false, ANY },
    { "ADVANCED_ACTIVATION_FUSION off", SM8550, set_fusion, false, ANY },
    { "SHORT_DEPTH_CONV_ON_HMX_OFF", SM8550, set_depth, false, ANY },
    { "WEIGHTS_PACKING", SM8550, set_packing, false, ANY },
    { "ENABLE_DLBC_WEIGHTS", SM8550, set_weights, false, FEWER },
    { "ENABLE_DLBC", SM8550, set_dlbc, false, ANY },
    { "SM8550: 1 MB of VTCM", SM8550, set_small, true, ANY },
    { "ENABLE_DLBC, 1 MB", SM8550, set_small_dlbc, false, ANY },
    { "SA8255: default", SA8255, set_nothing, true, ANY },
    { "NUM_CORES 2", SA8255, set_cores, false, FEWER },
    { "ENABLE_SPARSE_WEIGHTS_COMPRESSION", SA8255, set_sparse, false, ANY },
    { "SM8750: default", SM8750, set_nothing, true, ANY },
    { "ENABLE_SLC_ALLOCATOR", SM8750, set_slc, false, ANY },
    { "SM8750: 1 MB of VTCM", SM8750, set_small, true, ANY },
    { "ENABLE_SLC_ALLOCATOR, 1 MB", SM8750, set_small_slc, false, ANY },
};
enum { OPTIONS = sizeof options / sizeof options[0] };

/* ---- one row ---------------------------------------------------------------------------------------------------------- */

struct effect {
    uint64_t cycles, spill_buffer, moved, file, busy[UNIT_COUNT];
    uint32_t nodes, threads;
};

static void count_busy(const struct binary_graph *g, struct effect *ret)
{
    struct binary_span_reader r;
    struct binary_span s;

    for (binary_span_first(g, &r); binary_span_next(&r, &s);)
        ret->busy[s.unit] += s.cycles * (s.unit == UNIT_VECTOR && s.all ? g->timeline.threads : 1);
    ret->threads = g->timeline.threads;
}

static void measure(const struct binary_image *im, struct effect *ret)
{
    struct binary_image packed;
    struct binary_moves m;
    struct binary b;

    check(binary_open(im->data, im->size, &b), "the binary");
    check(binary_pack(im->data, im->size, &packed), "the packed binary");
    const struct binary_graph *g = &b.graphs[0];
    binary_graph_moves(g, &m);
    *ret = (struct effect){ .cycles = g->info.cycles,
                            .spill_buffer = g->info.spill_fill_bytes,
                            .moved = binary_moves_in(&m) + binary_moves_out(&m),
                            .file = packed.data ? packed.size : im->size,
                            .nodes = g->n_nodes };
    count_busy(g, ret);
    binary_image_free(&packed);
    binary_close(&b);
}

static uint32_t arch_of(uint32_t soc)
{
    return soc == SM8750 ? 79 : 73;
}

static void compile(const struct net *n, const struct option *o, struct effect *ret)
{
    struct htp_prepare_args a = { .target = { .backend_id = HTP_BACKEND_ID, .soc_model = o->soc, .arch = arch_of(o->soc) },
                                  .cfg = { .opt_level = 2, .activation_fusion = 1, .cores = 1, .fp16 = 1 },
                                  .vtcm_mb = DEFAULT_VTCM,
                                  .hvx_threads = DEFAULT_THREADS };
    struct binary_image im;
    struct ir_graph *copy;

    o->set(&a);
    a.vtcm_bytes = (uint64_t)a.vtcm_mb << 20;
    check(ir_clone(n->g, &copy), n->name);
    check(openqnn_htp_prepare.prepare(&a, copy, &im), o->name);
    measure(&im, ret);
    binary_image_free(&im);
    ir_graph_free(copy);
}

/* ---- the document ----------------------------------------------------------------------------------------------------- */

static void print_change(uint64_t value, uint64_t base)
{
    if (value == base)
        printf(" | =");
    else
        printf(" | %+.1f %%", 100.0 * ((double)value / (double)base - 1));
}

static void print_row(const struct option *o, const struct effect *e, const struct effect *base)
{
    const double all = (double)e->cycles / 100;

    printf("| %s%s%s | %" PRIu64, o->base ? "**" : "", o->name, o->base ? "**" : "", e->cycles);
    if (o->base)
        printf(" |");
    else
        print_change(e->cycles, base->cycles);
    printf(" | %u | %" PRIu64 " | %.2f", e->nodes, e->spill_buffer / KB, (double)e->moved / MB);
    if (o->base)
        printf(" |");
    else
        print_change(e->moved, base->moved);
    printf(" | %.2f | %.0f %% | %.0f %% | %.0f %% |\n", (double)e->file / MB, (double)e->busy[UNIT_MATRIX] / all,
           (double)e->busy[UNIT_VECTOR] / e->threads / all, (double)(e->busy[UNIT_FETCH] + e->busy[UNIT_STORE]) / all);
}

static void print_net(const struct net *n)
{
    struct effect base = { 0 };

    printf("\n## %s\n\n", n->name);
    printf("| option | cycles | | nodes | spill-fill KB | DMA MB | | file MB | HMX | HVX | DMA |\n");
    printf("|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < OPTIONS; i++) {
        struct effect e;
        compile(n, &options[i], &e);
        if (options[i].base)
            base = e;
        print_row(&options[i], &e, &base);
    }
}

static void print_head(void)
{
    printf(
        "<!-- SPDX-License-Identifier: Apache-2.0 -->\n<!-- Generated by bench/htp_effects.c; do not edit. -->\n"
        "# What options of HTP graphs change\n\n"
        "Each row is a network compiled as libQnnHtp.so does it, with 4 MB of VTCM, 4 vector threads and level 2\n"
        "where nothing else is said; percentages are against the bold row above. Nothing was executed:\n"
        "cycles, bytes and the time that units work are estimates ([cost.md](cost.md)); the file is what\n"
        "QnnContext_getBinary gives. HMX, HVX (all threads) and DMA (both directions): their part of all\n"
        "cycles, as the timeline shows it; of two cores together, so up to 200 %%.\n\n"
        "MobileNetV2 is a published network with its weights (`vision/` of the models, 8 bits). ResNet50 and\n"
        "DistilBERT are those of `bench/cost_nets.c` with 8-bit weights of a normal distribution, since no file\n"
        "with their weights is at hand: what compression saves there is an example. Of networks without\n"
        "branches there is one order, so levels 1 and 2 find the same plan where everything fits into VTCM.\n\n"
        "    build/bench/htp_effects ../shared/models/vision/mobilenet_v2_1.0_224_int8_ptq.tflite > docs/htp-effects.md\n");
}

static bool changed(const struct option *o, uint64_t cycles, uint64_t base)
{
    if (o->change == ANY)
        return true;
    return o->change == FEWER ? cycles < base : cycles > base;
}

/* Returns how many options fail. */
static int check_net(const struct net *n)
{
    struct effect base = { 0 };
    int failed = 0;

    for (uint32_t i = 0; i < OPTIONS; i++) {
        const struct option *o = &options[i];
        struct effect e;
        if (!o->base && o->change == ANY)
            continue;
        compile(n, o, &e);
        if (o->base)
            base = e;
        if (o->base || changed(o, e.cycles, base.cycles))
            continue;
        fprintf(stderr, "%s, %s: %" PRIu64 " cycles, without %" PRIu64 "\n", n->name, o->name, e.cycles, base.cycles);
        failed++;
    }
    return failed;
}

int main(int argc, char **argv)
{
    bool checks = argc == 3 && strcmp(argv[2], "--check") == 0;
    int failed = 0;

    if (argc != 2 && !checks) {
        fprintf(stderr, "usage: %s MOBILENET_V2.tflite [--check]\n", argv[0]);
        return 2;
    }
    const struct net nets[NETS] = { { "MobileNetV2", read_net(argv[1]) },
                                    { "ResNet50", build_net("resnet50", MOST) },
                                    { "DistilBERT, 384 tokens", build_net("distil_bert_base_uncased_hf", MOST) },
                                    { "ResNet50, weights from -7 to 7", build_net("resnet50", MOST_NARROW) } };

    if (!checks)
        print_head();
    for (uint32_t i = 0; i < NETS; i++) {
        if (checks)
            failed += check_net(&nets[i]);
        else
            print_net(&nets[i]);
    }
    return failed != 0;
}
