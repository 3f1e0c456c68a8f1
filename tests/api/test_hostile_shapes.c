/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes around 2^16, 2^31 and 2^32 elements, and products that wrap to small numbers, for every operator: validation,
 * graphAddNode and graphFinalize answer with success or with a documented error that says why, never with a signal.
 *
 * Operators that have uses in ops_cases.h start from those: a dimension is exchanged wherever the same number stands, or in
 * one place, or a parameter is; outputs follow. All operators also get tensors drawn from their row. No tensor has data.
 * Context binaries with such numbers and right checksums open, or are refused likewise. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../passes/handmade.h"
#include "../passes/ops_cases.h"
#include "../passes/ops_text.h"
#include "api_test.h"
#include "convert/convert.h"

enum { DRAWS = 120, FINALIZED = 4, GIB = 1 << 30 };

static const uint32_t edges[] = {
    0,        1,          255,        32768,      65535,      65536,      65537, 1u << 24,
    1u << 30, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 641,   6700417, /* their product is 2^32 + 1 */
};

static char doing[512];
static unsigned asked, taken, finalized;
static bool seen[OP_COUNT];

/* ---- a call as the API has it ----------------------------------------------------------------------------------------- */

static Qnn_Tensor_t tensor_from(const struct tensor_desc *d, Qnn_TensorType_t type, const char *name)
{
    if (!d)
        return tensor_absent();

    const Qnn_DataType_t number = (Qnn_DataType_t)convert_dtype_number(d->type);
    Qnn_Tensor_t t = tensor_make(QNN_TENSOR_VERSION_1, name, type, number, d->rank, d->dims);
    return dtype_is_fixed(d->type) ? tensor_quant(t, 0.5f, 0) : t;
}

struct config {
    Qnn_Param_t params[TEXT_PARAMS];
    Qnn_Tensor_t in[TEXT_TENSORS], out[TEXT_TENSORS];
    Qnn_OpConfig_t op;
};

static uint32_t params_from(const struct op_call *c, Qnn_Param_t *to)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < op_param_count(c->op) && n < TEXT_PARAMS; i++) {
        const struct op_value *v = &c->params[i];
        if (!v->data)
            continue;

        Qnn_Param_t *p = &to[n++];
        *p = (Qnn_Param_t){ .paramType = QNN_PARAMTYPE_SCALAR, .name = c->op->params[i].name };
        if (v->rank == 0 || c->op->params[i].rank == 0) {
            p->scalarParam.dataType = (Qnn_DataType_t)convert_dtype_number(v->type);
            memcpy(&p->scalarParam.uint64Value, v->data, dtype_bits(v->type) / 8);
            continue;
        }
        const struct tensor_desc d = { .type = v->type, .rank = v->rank, .dims = { v->dims[0], v->dims[1] } };
        p->paramType = QNN_PARAMTYPE_TENSOR;
        p->tensorParam = tensor_data(tensor_from(&d, QNN_TENSOR_TYPE_STATIC, keep_name("p%u", i)), v->data,
                                     (uint32_t)(desc_count(&d) * dtype_bits(v->type) / 8));
    }
    return n;
}

static void config_from(const struct op_call *c, struct config *ret)
{
    for (uint32_t i = 0; i < c->n_in; i++)
        ret->in[i] = tensor_from(c->in[i], QNN_TENSOR_TYPE_APP_WRITE, keep_name("x%u", i));
    for (uint32_t i = 0; i < c->n_out; i++)
        ret->out[i] = tensor_from(c->out[i], QNN_TENSOR_TYPE_APP_READ, keep_name("y%u", i));
    const uint32_t n = params_from(c, ret->params);
    ret->op =
        (Qnn_OpConfig_t){ .version = QNN_OPCONFIG_VERSION_1,
                          .v1 = { "n", "qti.aisw", c->op->name, n, ret->params, c->n_in, ret->in, c->n_out, ret->out } };
}

/* ---- what the library says -------------------------------------------------------------------------------------------- */

static void on_signal(int number)
{
    static const char head[] = "\na signal while asking: ";
    ssize_t n = write(STDERR_FILENO, head, sizeof head - 1);
    n += write(STDERR_FILENO, doing, strlen(doing));
    n += write(STDERR_FILENO, "\n", 1);
    (void)n;
    signal(number, SIG_DFL);
    raise(number);
}

/* Graphs to build of an operator; those of libQnnGpu.so compile programs, which takes long. */
static unsigned graphs(unsigned n)
{
    return strcmp(lib_name(), "libQnnGpu.so") == 0 ? 0 : n;
}

/* cmocka has handlers of its own, which leave a call in the middle. */
static void watch(void)
{
    const int signals[] = { SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT };

    for (unsigned i = 0; i < COUNT(signals); i++)
        signal(signals[i], on_signal);
}

static void describe(const struct op_call *c)
{
    char text[DESC_TEXT_MAX];
    int at = snprintf(doing, sizeof doing, "%s", c->op->name);

    for (uint32_t i = 0; i < c->n_in + c->n_out && at < (int)sizeof doing - 100; i++) {
        const struct tensor_desc *d = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        const char *arrow = i == c->n_in ? "-> " : "";
        at += snprintf(doing + at, sizeof doing - (size_t)at, " %s%.90s", arrow, d ? desc_text(d, text) : "-");
    }
}

static bool answered(Qnn_ErrorHandle_t e)
{
    if (CODE(e) == QNN_SUCCESS)
        return true;

    const char *text = explain(e);
    if (!text || strlen(text) < 10)
        fail_msg("%s: error %u without a reason", doing, CODE(e));
    return false;
}

static void build(struct config *c, uint32_t n_in, uint32_t n_out)
{
    Qnn_GraphHandle_t g;
    bool ok = answered(q.graphCreate(env.context, "g", NULL, &g));

    for (uint32_t i = 0; ok && i < n_in; i++)
        ok = c->in[i].v1.type == QNN_TENSOR_TYPE_NULL || answered(q.tensorCreateGraphTensor(g, &c->in[i]));
    for (uint32_t i = 0; ok && i < n_out; i++)
        ok = c->out[i].v1.type == QNN_TENSOR_TYPE_NULL || answered(q.tensorCreateGraphTensor(g, &c->out[i]));
    for (uint32_t i = 0; ok && i < c->op.v1.numOfParams; i++)
        ok = c->params[i].paramType != QNN_PARAMTYPE_TENSOR ||
             answered(q.tensorCreateGraphTensor(g, &c->params[i].tensorParam));
    ok = ok && answered(q.graphAddNode(g, c->op)) && answered(q.graphFinalize(g, NULL, NULL));
    finalized += ok;
    OK(q.contextFree(env.context, NULL));
    OK(q.contextCreate(env.backend, NULL, NULL, &env.context));
}

/* Graphs of some operators that are taken are built, too, as many as *left says. */
static void ask(const struct op_call *c, unsigned *left)
{
    static struct config config;

    describe(c);
    config_from(c, &config);
    asked++;
    seen[c->op->id] = true;
    if (!answered(q.backendValidateOpConfig(env.backend, config.op)))
        return;

    taken++;
    if (*left) {
        --*left;
        build(&config, c->n_in, c->n_out);
    }
}

/* ---- uses of operators, with other numbers ---------------------------------------------------------------------------- */

/* Outputs follow from inputs where they can. */
static void ask_inferred(struct ops_text *t, unsigned *left)
{
    static struct tensor_desc want[MAX_PORTS];

    if (t->call.n_out <= MAX_PORTS && op_infer(&t->call, want) == ST_OK)
        for (uint32_t i = 0; i < t->call.n_out; i++)
            t->desc[1][i] = want[i];
    ask(&t->call, left);
}

static void exchange(struct ops_text *t, uint32_t from, uint32_t to)
{
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < TEXT_TENSORS; i++)
            for (uint32_t k = 0; k < t->desc[side][i].rank; k++)
                if (t->desc[side][i].dims[k] == from)
                    t->desc[side][i].dims[k] = to;
}

static void again(struct ops_text *t, size_t i)
{
    (void)text_call(t, ops_cases[i].op, ops_cases[i].in, ops_cases[i].params, ops_cases[i].out);
}

static void other_dims(size_t i, uint32_t tensor, uint32_t dim, unsigned *left)
{
    static struct ops_text t;

    for (unsigned e = 0; e < COUNT(edges); e++) {
        again(&t, i);
        exchange(&t, t.desc[0][tensor].dims[dim], edges[e]);
        ask_inferred(&t, left);

        again(&t, i);
        t.desc[0][tensor].dims[dim] = edges[e];
        ask_inferred(&t, left);

        again(&t, i); /* two of them, whose product wraps */
        t.desc[0][tensor].dims[dim] = edges[e];
        t.desc[0][tensor].dims[0] = edges[(e * 7 + 3) % COUNT(edges)];
        ask_inferred(&t, left);
    }
}

static void other_params(size_t i, const struct ops_text *was, unsigned *left)
{
    static struct ops_text t;

    for (uint32_t p = 0; p < TEXT_PARAMS && was->given[p].count; p++)
        for (unsigned e = 0; e < COUNT(edges) && dtype_bits(was->given[p].type) == 32; e++) {
            again(&t, i);
            t.data[p].u32[e % was->given[p].count] = edges[e];
            ask_inferred(&t, left);
        }
}

static void test_uses(void **state)
{
    (void)state;
    static struct ops_text was;
    unsigned left[OP_COUNT];

    watch();
    for (unsigned i = 0; i < OP_COUNT; i++)
        left[i] = graphs(FINALIZED);
    for (size_t i = 0; i < COUNT(ops_cases); i++) {
        again(&was, i);
        if (ops_cases[i].refused || was.call.n_in > OP_INPUTS)
            continue;
        for (uint32_t k = 0; k < was.call.n_in; k++)
            for (uint32_t d = 0; was.list[0][k] && d < was.desc[0][k].rank; d++)
                other_dims(i, k, d, &left[was.call.op->id]);
        other_params(i, &was, &left[was.call.op->id]);
    }
}

/* ---- operators from their rows ---------------------------------------------------------------------------------------- */

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static enum dtype type_in(uint32_t types, uint64_t *seed)
{
    for (unsigned tries = 0; tries < 200; tries++) {
        const uint32_t t = 1 + draw(seed, DT_COUNT - 1);
        if (types >> t & 1)
            return (enum dtype)t;
    }
    return DT_F32;
}

static void draw_tensor(struct tensor_desc *d, uint32_t types, uint64_t *seed)
{
    static const uint32_t small[] = { 1, 2, 3, 4, 8, 16 };
    *d = (struct tensor_desc){ .type = type_in(types, seed), .rank = (uint8_t)(1 + draw(seed, 5)) };
    for (uint32_t i = 0; i < d->rank; i++)
        d->dims[i] = draw(seed, 3) ? small[draw(seed, COUNT(small))] : edges[draw(seed, COUNT(edges))];
    if (dtype_is_fixed(d->type))
        d->q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = 0.5f };
}

static void draw_param(struct ops_text *t, uint32_t i, uint64_t *seed)
{
    const struct op_param *p = &t->call.op->params[i];
    struct op_value *v = &t->bound[i];
    *v = (struct op_value){ .type = p->type ? p->type : DT_F32, .rank = p->rank, .count = 1, .data = &t->data[i] };

    for (uint32_t k = 0; k < p->rank; k++) {
        v->dims[k] = p->dims[k] > 0 ? (uint32_t)p->dims[k] : 1 + draw(seed, 4);
        v->count *= v->dims[k];
    }
    for (uint32_t k = 0; k < v->count && k < TEXT_VALUES; k++)
        text_value(t, i, k, draw(seed, 4) ? draw(seed, 3) : edges[draw(seed, COUNT(edges))]);
    const bool text = p->type == DT_STR; /* has no numbers */
    if (text || (!p->required && draw(seed, 2)))
        v->data = NULL;
}

static void test_rows(void **state)
{
    (void)state;
    static struct ops_text t;
    uint64_t seed = 20;

    watch();
    for (unsigned id = OP_NONE + 1; id < OP_PUBLIC_END; id++)
        for (unsigned n = 0, left = graphs(1); n < DRAWS; n++) {
            const struct op_def *op = op_get((enum op_id)id);
            memset(&t, 0, sizeof t);
            t.call = (struct op_call){ .op = op, .node = "n", .in = t.list[0], .out = t.list[1], .params = t.bound };
            t.call.n_in = op_port_count(op->in) < OP_INPUTS ? op_port_count(op->in) : OP_INPUTS;
            t.call.n_out = op_port_count(op->out);
            for (uint32_t i = 0; i < t.call.n_in + t.call.n_out; i++) {
                const bool out = i >= t.call.n_in;
                const uint32_t k = out ? i - t.call.n_in : i;
                draw_tensor(&t.desc[out][k], out ? op->out[k].types : op->in[k].types, &seed);
                t.list[out][k] = &t.desc[out][k];
            }
            for (uint32_t i = 0; i < op_param_count(op); i++) {
                t.given[i].type = op->params[i].type ? op->params[i].type : DT_F32;
                draw_param(&t, i, &seed);
            }
            ask_inferred(&t, &left);
        }
    for (unsigned id = OP_NONE + 1; id < OP_PUBLIC_END; id++)
        assert_true(seen[id]);
}

/* ---- files ------------------------------------------------------------------------------------------------------------ */

static uint8_t file[1 << 16] __attribute__((aligned(64))), changed[1 << 16] __attribute__((aligned(64)));

static void load_changed(uint64_t n, unsigned *opened)
{
    Qnn_ContextHandle_t c = NULL;

    hm_repair(changed, n);
    if (answered(q.contextCreateFromBinary(env.backend, NULL, NULL, changed, n, &c, NULL))) {
        OK(q.contextFree(c, NULL));
        ++*opened;
    }
}

/* Small numbers, which dimensions are among, become large ones: each alone, with the next word, and all equal ones of a
 * stretch as long as a tensor's record or two. */
static void test_files(void **state)
{
    (void)state;
    enum { SMALL = 16, STRETCH = 128 };
    struct net conv, affine;
    uint64_t n = 0;
    unsigned tried = 0, opened = 0;

    if (strcmp(lib_name(), "libQnnCpu.so") != 0 && !lib_is_htp()) {
        print_message("skipped: %s has no float graphs, or needs a device\n", lib_name());
        skip();
    }
    watch();
    OK(net_conv(env.context, "conv", &conv));
    OK(net_affine(env.context, "affine", 2, 0.5f, &affine));
    OK(q.graphFinalize(conv.graph, NULL, NULL));
    OK(q.graphFinalize(affine.graph, NULL, NULL));
    OK(q.contextGetBinary(env.context, file, sizeof file, &n));
    for (uint64_t at = 64; at + STRETCH < n; at += 4)
        for (unsigned e = 0; e < 3 * COUNT(edges); e++) {
            uint32_t was, word, to = edges[e % COUNT(edges)];
            memcpy(&was, file + at, 4);
            if (was == 0 || was > SMALL || (e * 5 + at / 4) % 3) /* a third of them */
                continue;

            memcpy(changed, file, n);
            memcpy(changed + at, &to, 4);
            for (uint64_t k = 4; e >= COUNT(edges) && k < STRETCH; k += 4) {
                memcpy(&word, changed + at + k, 4);
                const bool next = e < 2 * COUNT(edges) && k == 4;
                if (next || (e >= 2 * COUNT(edges) && word == was))
                    memcpy(changed + at + k, next ? &edges[(e * 7 + 1) % COUNT(edges)] : &to, 4);
            }
            snprintf(doing, sizeof doing, "a file of %u bytes, number %u at %u becomes %u, way %u", (unsigned)n, was,
                     (unsigned)at, to, e / (unsigned)COUNT(edges));
            load_changed(n, &opened);
            tried++;
        }
    print_message("%u files, %u of them opened\n", tried, opened);
    assert_true(tried > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_uses, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_rows, env_setup, env_teardown),
        cmocka_unit_test_setup_teardown(test_files, env_setup, env_teardown),
    };
    const struct rlimit limit = { 16ull * GIB, 16ull * GIB }; /* what is too much is refused at once */

    lib_open();
#ifndef __SANITIZE_ADDRESS__
    setrlimit(RLIMIT_AS, &limit);
#else
    (void)limit;
#endif
    hush(true);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    hush(false);
    lib_close();
    printf("%u questions, %u taken, %u graphs finalized\n", asked, taken, finalized);
    return failed;
}
