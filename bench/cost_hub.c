/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates of the HTP against latencies that were published for devices: cost_hub PERF.csv [--fit | --leave | --layers
 * NET | --limit PERCENT], or cost_hub --levels.
 *
 * Every network of cost_nets.c is estimated for every device and data type that the list has a row for; the estimate becomes
 * a time by the clock of the table in htp_cost.c, plus what a call takes on the device. --fit searches clock and memory
 * bandwidth of each device and the numbers that all share, on the networks marked for it, and prints the table to be written
 * there; the others stay a check. --leave estimates every family of networks by what was fitted on the others. --layers
 * prints what the estimate is made of. --limit fails when the median error of all rows is larger. --levels compares
 * optimization levels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/htp/htp_cost.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cost_fit.h"
#include "cost_graph.h"
#include "prepare/cost.h"

enum {
    MB = 20, /* shift */
    VTCM_SIZES = 2,
    EIGHT = 8, /* MB of fast memory; others have two */
    LEVEL = 2,
    MAX_NETS = 96,
    MAX_ROWS = 2048,
    SHARED = 6,
    FLOATS = 0,
    LAUNCH = 1,
    VECTOR = 2,
    VTCM = 3,
    VECTOR_LAUNCH = 4,
    DENSE = 5,
    LINE = 4096,
    SAME = 100,       /* percent */
    SLOW_FLOATS = 69, /* architecture */
    COLUMNS = 9,
    COLUMN_UNIT = 8
};

static const struct {
    const char *device; /* how the name begins in the list */
    uint32_t soc, arch, hvx, vtcm_mb;
    double peak_mb_s;   /* of its memory: no fit goes beyond */
    double call_ms;     /* what the smallest graphs of the list take, which have next to nothing to compute */
} devices[] = {
    { "SA8295P", 39, 68, 4, 8, 68200, 0.31 },
    { "QCS8450", 36, 69, 4, 8, 51200, 0.09 },
    { "QCS8550", 43, 73, 4, 8, 67200, 0.06 },
    { "Samsung Galaxy S24", 57, 75, 4, 8, 76800, 0.05 },
    { "Samsung Galaxy S25", 69, 79, 8, 8, 85300, 0.04 },
    { "Snapdragon 8 Elite Gen 5", 87, 81, 8, 8, 85300, 0.04 },
    { "Dragonwing IQ-9075", 77, 73, 4, 8, 102400, 0.12 },
    { "QCS8275", 82, 75, 4, 8, 51200, 0.30 },
    { "Snapdragon X Elite", 60, 73, 4, 8, 135000, 0.14 },
    { "Snapdragon X2 Elite", 88, 81, 8, 8, 152000, 0.13 },
    { "Snapdragon 7 Gen 4", 86, 73, 4, 2, 34100, 0.06 },
    { "Dragonwing Q-6690", 78, 0, 4, 2, 25600, 0.06 },
    { "Dragonwing RB3 Gen 2", 93, 68, 4, 2, 25600, 0.31 },
};
enum { DEVICES = sizeof devices / sizeof devices[0], PARAMS = SHARED + 2 * DEVICES };

static const char *const type_names[COST_TYPES] = { "float", "w8a8", "w8a16" };

struct row {
    uint32_t net, device, type;
    double measured, predicted; /* ms */
};

static struct row rows[MAX_ROWS];
static uint32_t n_rows;
static struct cost_graph graph;


/* ---- the list --------------------------------------------------------------------------------------------------------- */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static int find_type(const char *name)
{
    for (int i = 0; i < COST_TYPES; i++)
        if (strcmp(type_names[i], name) == 0)
            return i;
    return -1;
}

static int find_device(const char *name)
{
    for (int i = 0; i < DEVICES; i++)
        if (begins(name, devices[i].device))
            return i;
    return -1;
}

/* Rows of the list that are taken: those of the vendor's own runtimes whose precision is a type. Of some networks the list
 * has others only, and of those in a mixture of types each part has one. */
static const struct {
    const char *model, *component; /* NULL: any */
    const char *runtime;
    const char *precision; /* NULL: a type */
    enum cost_type type;
} others[] = {
    { "hrnet_w48_ocr", NULL, "onnx", NULL, COST_FLOAT },
    { "melotts_en", "Decoder_EN", "qnn_", "mixed_with_float", COST_W8A16 },
    { "melotts_en", "Flow_EN", "qnn_", "mixed_with_float", COST_W8A16 },
    { "melotts_en", NULL, "qnn_", "mixed_with_float", COST_FLOAT },
    { "rtmdet", NULL, "tflite", NULL, COST_FLOAT },
    { "track_anything", NULL, "tflite", NULL, COST_FLOAT },
};
enum { OTHERS = sizeof others / sizeof others[0] };

/* The type of a row; -1: it is not taken. */
static int row_type(const char *model, const char *component, const char *precision, const char *runtime)
{
    for (int i = 0; i < OTHERS; i++)
        if (strcmp(others[i].model, model) == 0 && (!others[i].component || strcmp(others[i].component, component) == 0)) {
            bool same = others[i].precision ? strcmp(others[i].precision, precision) == 0 : find_type(precision) >= 0;
            return !same || !begins(runtime, others[i].runtime) ? -1
                   : others[i].precision                        ? (int)others[i].type
                                                                : find_type(precision);
        }
    return begins(runtime, "qnn_") ? find_type(precision) : -1;
}

static int find_net(const char *model, const char *component)
{
    for (int i = 0; cost_nets[i].model; i++)
        if (strcmp(cost_nets[i].model, model) == 0 &&
            (!cost_nets[i].component || strcmp(cost_nets[i].component, component) == 0))
            return i;
    return -1;
}

static void read_row(char *line)
{
    char *at[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        at[i] = line ? strsep(&line, ",") : "";
    int net = find_net(at[0], at[1]), type = row_type(at[0], at[1], at[2], at[4]), device = find_device(at[3]);
    if (net < 0 || type < 0 || device < 0 || n_rows == MAX_ROWS || strcmp(at[COLUMN_UNIT], "NPU") != 0)
        return;
    rows[n_rows++] = (struct row){ (uint32_t)net, (uint32_t)device, (uint32_t)type, atof(at[5]), 0 };
}

static bool read_list(const char *path)
{
    char line[LINE];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f))
        read_row(line);
    fclose(f);
    return n_rows > 0;
}

/* ---- estimates -------------------------------------------------------------------------------------------------------- */

static void device_of(uint32_t device, const double *p, struct cost_device *ret)
{
    htp_cost_device(devices[device].soc, devices[device].arch, (uint64_t)devices[device].vtcm_mb << MB, devices[device].hvx,
                    ret);
    ret->launch[0] = (uint32_t)p[LAUNCH];
    ret->launch[1] = (uint32_t)p[VECTOR_LAUNCH];
    ret->vector_percent = (uint32_t)p[VECTOR];
    ret->vtcm_rate = (uint32_t)p[VTCM];
    ret->dense_float = (uint32_t)(p[DENSE] + 0.5);
    ret->float_percent = devices[device].arch == SLOW_FLOATS ? (uint32_t)p[FLOATS] : ret->float_percent;
    ret->clock_mhz = (uint32_t)p[SHARED + 2 * device];
    ret->dram_mb_s = (uint32_t)p[SHARED + 2 * device + 1];
}

static void initial(double *p)
{
    struct cost_device d;
    p[FLOATS] = SAME;
    for (uint32_t i = 0; i < DEVICES; i++) {
        htp_cost_device(devices[i].soc, devices[i].arch, (uint64_t)devices[i].vtcm_mb << MB, devices[i].hvx, &d);
        p[LAUNCH] = d.launch[0];
        p[VECTOR_LAUNCH] = d.launch[1];
        p[VECTOR] = d.vector_percent;
        p[VTCM] = d.vtcm_rate;
        p[DENSE] = d.dense_float;
        p[FLOATS] = devices[i].arch == SLOW_FLOATS ? d.float_percent : p[FLOATS];
        p[SHARED + 2 * i] = d.clock_mhz;
        p[SHARED + 2 * i + 1] = d.dram_mb_s;
    }
}

/* One network in one type, compiled as libQnnHtp.so would for 8 MB of VTCM. */
struct compiled {
    struct binary_image im;
    struct binary b;
    struct binary_node *nodes; /* for cycles of a device */
};
static struct compiled nets[VTCM_SIZES * MAX_NETS * COST_TYPES];

static struct compiled *compiled_for(uint32_t net, uint32_t type, uint32_t vtcm_mb)
{
    return &nets[((vtcm_mb < EIGHT) * MAX_NETS + net) * COST_TYPES + type];
}

static const struct binary_graph *compile(uint32_t net, uint32_t type, uint32_t level, uint32_t vtcm_mb)
{
    struct compiled *c = compiled_for(net, type, vtcm_mb);
    struct cost_device d;
    htp_cost_device(devices[2].soc, devices[2].arch, (uint64_t)vtcm_mb << MB, 0, &d);
    struct prepare_target t = { .passes = prepare_default_passes,
                                .tensor_align = 256,
                                .chains = prepare_default_chains,
                                .max_tiles = 64,
                                .vtcm_bytes = (uint64_t)vtcm_mb << MB,
                                .order_steps = level == 1 ? 0 : 200000,
                                .beside_bytes = PREPARE_BESIDE,
                                .plan_nodes = 200000,
                                .device = &d };
    struct prepare_opts o = { .opt_level = level };
    if (c->nodes)
        return &c->b.graphs[0];
    cost_graph_start(&graph, cost_nets[net].model, (enum cost_type)type);
    cost_nets[net].build(&graph);
    if (prepare(&t, &o, graph.g, &c->im) != ST_OK || binary_open(c->im.data, c->im.size, &c->b) != ST_OK) {
        fprintf(stderr, "%s: %s\n", cost_nets[net].model, status_text());
        exit(1);
    }
    ir_graph_free(graph.g);
    c->nodes = mem_array(struct binary_node, c->b.graphs[0].n_nodes);
    memcpy(c->nodes, c->b.graphs[0].nodes, c->b.graphs[0].n_nodes * sizeof(*c->nodes));
    return &c->b.graphs[0];
}

static void forget(uint32_t net, uint32_t type)
{
    struct compiled *c = compiled_for(net, type, EIGHT);
    binary_close(&c->b);
    binary_image_free(&c->im);
    mem_free(c->nodes);
    *c = (struct compiled){ .nodes = NULL };
}

/* Estimated cycles of every network at the three levels, and how long it took to prepare. */
static void print_levels(void)
{
    double sum[4] = { 0 };
    uint32_t n = 0;
    printf("%-30s %-6s %10s %10s %10s %7s   prepared in s\n", "network", "type", "O1 Mcycles", "O2", "O3", "O3/O2");
    for (uint32_t net = 0; cost_nets[net].model; net++)
        for (uint32_t type = 0; type < COST_TYPES; type++) {
            double cycles[4], seconds[4];
            for (uint32_t level = 1; level <= 3; level++) {
                uint64_t start = clock_ns();
                cycles[level] = (double)compile(net, type, level, EIGHT)->info.cycles;
                seconds[level] = (double)(clock_ns() - start) * 1e-9;
                sum[level] += log(cycles[level]);
                forget(net, type);
            }
            n++;
            printf("%-30s %-6s %10.3f %10.3f %10.3f %7.3f   %.2f %.2f %.2f\n", cost_nets[net].model, type_names[type],
                   cycles[1] / 1e6, cycles[2] / 1e6, cycles[3] / 1e6, cycles[3] / cycles[2], seconds[1], seconds[2],
                   seconds[3]);
        }
    printf("geometric mean of %u: O2 / O1 %.4f, O3 / O2 %.4f\n", n, exp((sum[2] - sum[1]) / n), exp((sum[3] - sum[2]) / n));
}

/* Rows of all networks or of those fitted on, of all devices (-1) or of one. */
static void predict(const double *p, bool all, int device)
{
    for (uint32_t i = 0; i < n_rows; i++) {
        struct row *r = &rows[i];
        struct cost_device d;
        struct cost_result c = { 0 };
        if ((!all && cost_nets[r->net].use != COST_FITTED) || (device >= 0 && r->device != (uint32_t)device))
            continue;
        uint32_t vtcm_mb = devices[r->device].vtcm_mb;
        const struct binary_graph *g = compile(r->net, r->type, LEVEL, vtcm_mb);
        device_of(r->device, p, &d);
        if (cost_events(&d, g, compiled_for(r->net, r->type, vtcm_mb)->nodes, &c) == ST_OK)
            r->predicted = (double)c.cycles / d.clock_mhz / 1000 + devices[r->device].call_ms;
    }
}

static int by_net(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    uint32_t kx = (x->net * COST_TYPES + x->type) * DEVICES + x->device,
             ky = (y->net * COST_TYPES + y->type) * DEVICES + y->device;
    return (kx > ky) - (kx < ky);
}

/* ---- fitting ---------------------------------------------------------------------------------------------------------- */

/* Slopes of all rows: how the logarithm of an estimate changes with that of a number. Clocks, and memories, of all devices
 * change at once, since a row depends on those of its own only. */
static double slopes[MAX_ROWS * PARAMS], missing[MAX_ROWS], weights[MAX_ROWS];

static void slope_of(const double *p, const double *base, double step, int first, int by)
{
    predict(p, true, -1);
    for (uint32_t i = 0; i < n_rows; i++) {
        int param = first + by * (int)rows[i].device;
        slopes[i * PARAMS + (uint32_t)param] = log(rows[i].predicted / base[i]) / log(step);
    }
}

static void list_slopes(double *p)
{
    static double base[MAX_ROWS];
    const double step = 1.15;
    memset(slopes, 0, sizeof slopes);
    predict(p, true, -1);
    for (uint32_t i = 0; i < n_rows; i++) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < n_rows; k++)
            same += rows[k].net == rows[i].net && rows[k].type == rows[i].type;
        base[i] = rows[i].predicted;
        missing[i] = log(rows[i].measured / base[i]);
        weights[i] = cost_nets[rows[i].net].use == COST_FITTED ? 1.0 / same : 0; /* a network in a type counts once */
    }
    for (int i = 0; i < SHARED; i++) {
        double old = p[i];
        p[i] = i == DENSE ? old + 1 : old * step; /* a small whole number */
        slope_of(p, base, p[i] / old, i, 0);
        p[i] = old;
    }
    for (int k = 0; k < 2; k++) {
        double old[PARAMS];
        memcpy(old, p, sizeof old);
        for (int i = SHARED + k; i < PARAMS; i += 2)
            p[i] *= step;
        slope_of(p, base, step, SHARED + k, 2);
        memcpy(p, old, sizeof old);
    }
    predict(p, true, -1);
}

static double within(int param, double v)
{
    bool dram = param >= SHARED && (param - SHARED) % 2;
    return dram && v > devices[(param - SHARED) / 2].peak_mb_s ? devices[(param - SHARED) / 2].peak_mb_s : v;
}

static void fit(double *p)
{
    double x[PARAMS];
    for (int round = 0; round < 3; round++) {
        list_slopes(p);
        cost_fit(slopes, missing, weights, n_rows, PARAMS, x);
        for (int i = 0; i < PARAMS; i++)
            p[i] = within(i, p[i] * exp(fmin(fmax(x[i], -0.5), 0.5))); /* slopes are good for small steps */
    }
    printf("launch %.0f and %.0f cycles, vector %.0f, VTCM %.0f bytes per cycle, dense floats %.1f, v69's floats %.0f %%\n",
           p[LAUNCH], p[VECTOR_LAUNCH], p[VECTOR], p[VTCM], p[DENSE], p[FLOATS]);
    for (int i = 0; i < DEVICES; i++)
        printf("soc %u v%u: %.0f MHz, %.0f MB/s\n", devices[i].soc, devices[i].arch, p[SHARED + 2 * i],
               p[SHARED + 2 * i + 1]);
}

/* Every family of networks is estimated with numbers that were fitted on all others, by slopes. */
static void leave_families(double *p)
{
    static double others[MAX_ROWS], estimate[MAX_ROWS];
    double x[PARAMS];
    list_slopes(p);
    for (uint32_t i = 0; i < n_rows; i++)
        estimate[i] = rows[i].predicted;
    for (uint32_t first = 0; first < n_rows; first++) {
        const char *family = cost_nets[rows[first].net].family;
        bool done = false;
        for (uint32_t i = 0; i < first; i++)
            done |= strcmp(cost_nets[rows[i].net].family, family) == 0;
        for (uint32_t i = 0; i < n_rows && !done; i++)
            others[i] = strcmp(cost_nets[rows[i].net].family, family) == 0 ? 0 : weights[i];
        if (!done)
            cost_fit(slopes, missing, others, n_rows, PARAMS, x);
        for (uint32_t i = first; i < n_rows && !done; i++)
            for (int k = 0; k < PARAMS && strcmp(cost_nets[rows[i].net].family, family) == 0; k++)
                estimate[i] *= exp(slopes[i * PARAMS + (uint32_t)k] * x[k]);
    }
    for (uint32_t i = 0; i < n_rows; i++)
        rows[i].predicted = estimate[i];
}

/* ---- reports ---------------------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median, and what 9 of 10 stay below, of |predicted / measured - 1| over rows of a device, a type, or a use of
 * networks; -1: of all. */
static double print_median(const char *title, int device, int type, int use)
{
    double e[MAX_ROWS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        if ((device >= 0 && r->device != (uint32_t)device) || (type >= 0 && r->type != (uint32_t)type) ||
            (use >= 0 && cost_nets[r->net].use != (enum cost_use)use))
            continue;
        e[n++] = fabs(r->predicted / r->measured - 1);
    }
    qsort(e, n, sizeof *e, by_size);
    double median = !n ? 0 : 100 * (n % 2 ? e[n / 2] : (e[n / 2 - 1] + e[n / 2]) / 2);
    printf("median error %-28s %5.1f%%, 9 of 10 below %5.1f%%  (%u rows)\n", title, median,
           n ? 100 * e[(n - 1) * 9 / 10] : 0, n);
    return median;
}

static double print_rows(void)
{
    static const char *const uses[COST_USES] = { "fitted", "seen", "blind" };
    printf("%-30s %-6s %-26s %10s %10s %7s\n", "network", "type", "device", "measured", "predicted", "ratio");
    for (uint32_t i = 0; i < n_rows; i++) {
        const struct row *r = &rows[i];
        printf("%-30s %-6s %-26s %7.3f ms %7.3f ms %7.2f  %s\n", cost_nets[r->net].model, type_names[r->type],
               devices[r->device].device, r->measured, r->predicted, r->predicted / r->measured,
               uses[cost_nets[r->net].use]);
    }
    print_median("of networks fitted on", -1, -1, COST_FITTED);
    print_median("of networks seen", -1, -1, COST_SEEN);
    print_median("of networks not seen", -1, -1, COST_BLIND);
    for (int i = 0; i < COST_TYPES; i++)
        print_median(type_names[i], -1, i, -1);
    for (int i = 0; i < DEVICES; i++)
        print_median(devices[i].device, i, -1, -1);
    return print_median("of all", -1, -1, -1);
}

static void print_layers(const char *name, const double *p)
{
    for (int net = 0; cost_nets[net].model; net++)
        for (uint32_t type = 0; type < COST_TYPES && strcmp(cost_nets[net].model, name) == 0; type++) {
            struct cost_device d;
            struct cost_result c = { 0 };
            struct cost_work w;
            const struct binary_graph *g = compile((uint32_t)net, type, LEVEL, EIGHT);
            struct binary_node *nodes = compiled_for((uint32_t)net, type, EIGHT)->nodes;
            struct cost_tensor *tensors = mem_array(struct cost_tensor, g->n_tensors);
            device_of(3, p, &d);
            if (!tensors || cost_events(&d, g, nodes, &c) != ST_OK)
                return;
            cost_list_tensors(g, tensors);
            for (uint32_t k = 0; k < g->n_nodes; k++) {
                struct binary_moves m;
                cost_work(&d, g, k, tensors, &w);
                binary_node_moves(g, k, &m);
                printf("%4u %-24s chain %4d matrix %9llu vector %9llu move %9llu in %9llu out %9llu adds %9llu\n", k,
                       nodes[k].name, g->chain_of ? (int)g->chain_of[k] : -1, (unsigned long long)w.matrix,
                       (unsigned long long)w.vector, (unsigned long long)w.move, (unsigned long long)binary_moves_in(&m),
                       (unsigned long long)binary_moves_out(&m), (unsigned long long)nodes[k].cycles);
            }
            mem_free(tensors);
            printf("%s %s %s: cycles %llu\n", name, cost_nets[net].component ? cost_nets[net].component : "whole",
                   type_names[type], (unsigned long long)c.cycles);
        }
}

int main(int argc, char **argv)
{
    double p[PARAMS];
    initial(p);
    if (argc > 1 && strcmp(argv[1], "--levels") == 0) {
        print_levels();
        return 0;
    }
    if (argc > 3 && strcmp(argv[2], "--layers") == 0) {
        print_layers(argv[3], p);
        return 0;
    }
    if (argc < 2 || !read_list(argv[1])) {
        printf("SKIP: no list of latencies%s%s; give the path of perf.csv\n", argc < 2 ? "" : " in ",
               argc < 2 ? "" : argv[1]);
        return 77;
    }
    qsort(rows, n_rows, sizeof *rows, by_net);
    if (argc > 2 && strcmp(argv[2], "--fit") == 0)
        fit(p);
    predict(p, true, -1);
    if (argc > 2 && strcmp(argv[2], "--leave") == 0)
        leave_families(p);
    double median = print_rows(), limit = argc > 3 && strcmp(argv[2], "--limit") == 0 ? atof(argv[3]) : 100;
    return median > limit;
}
