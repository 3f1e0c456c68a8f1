/* SPDX-License-Identifier: Apache-2.0 */
/* See product_case.h. */
#include "product_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rand_next(struct rand *r)
{
    r->s ^= r->s << 13;
    r->s ^= r->s >> 7;
    r->s ^= r->s << 17;
    return r->s * 0x9e3779b97f4a7c15u;
}

uint32_t rand_range(struct rand *r, uint32_t lo, uint32_t hi)
{
    return lo + (uint32_t)((rand_next(r) >> 32) * ((uint64_t)hi - lo + 1) >> 32);
}

double rand_unit(struct rand *r)
{
    return (double)(rand_next(r) >> 11) * 0x1p-53;
}

/* Exactly as many bytes as asked for, so that the address sanitizer sees the first one too many. */
static void *aligned(uint64_t bytes)
{
    void *p;
    return posix_memalign(&p, 64, bytes ? bytes : 1) ? NULL : p;
}

/* ---- description to call ---------------------------------------------------------------------------------------- */

static bool is_matrix(enum op_id op)
{
    return op == OP_MatMul || op == OP_FullyConnected;
}

static void set_dims(struct tensor_desc *d, enum dtype t, uint32_t rank, const uint32_t *dims)
{
    *d = (struct tensor_desc){ .type = t, .rank = (uint8_t)rank };
    memcpy(d->dims, dims, rank * sizeof *dims);
}

static uint32_t forward(uint32_t in, uint32_t before, uint32_t after, uint32_t kernel, uint32_t stride, uint32_t dilation)
{
    uint64_t span = (uint64_t)(kernel - 1) * dilation + 1, padded = (uint64_t)in + before + after;
    return span > padded ? 0 : (uint32_t)((padded - span) / stride + 1);
}

static bool is_transposed(enum op_id op)
{
    return op == OP_TransposeConv2d || op == OP_TransposeConv3d;
}

static uint32_t backward(uint32_t in, const uint32_t pad[2], uint32_t kernel, uint32_t stride, uint32_t dilation,
                         uint32_t opad)
{
    int64_t n = (int64_t)stride * (in - 1) + (int64_t)(kernel - 1) * dilation + 1 + opad - pad[0] - pad[1];
    return n < 0 ? 0 : (uint32_t)n;
}

static bool has_depth(enum op_id op)
{
    return op == OP_Conv3d || op == OP_TransposeConv3d;
}

/* Depth, height and width; without a depth the first is left out. */
static void spatial_shapes(struct product_case *c)
{
    const struct product_spec *s = &c->spec;
    bool back = is_transposed(s->op), depthwise = s->op == OP_DepthWiseConv2d;
    uint32_t skip = has_depth(s->op) ? 0 : 1, rank = 5 - skip;
    uint32_t x[5] = { s->batch, s->z.in, s->h, s->wd, s->ci }, out[5] = { s->batch, 1, 1, 1, s->co };
    uint32_t w[5] = { s->z.kernel, s->kh, s->kw,
                      back        ? s->ci
                      : depthwise ? 1
                                  : s->ci / s->group,
                      back ? s->co / s->group : s->co };
    const uint32_t stride[3] = { s->z.stride, s->stride[0], s->stride[1] }, opad[3] = { s->z.opad, s->opad[0], s->opad[1] };
    const uint32_t dilation[3] = { s->z.dilation, s->dilation[0], s->dilation[1] },
                   *pads[3] = { s->z.pad, s->pad, s->pad + 2 };
    for (uint32_t i = skip; i < 3; i++)
        out[1 + i] = back ? backward(x[1 + i], pads[i], w[i], stride[i], dilation[i], opad[i])
                          : forward(x[1 + i], pads[i][0], pads[i][1], w[i], stride[i], dilation[i]);
    for (uint32_t i = 0; i < 4 && skip; i++) {
        x[i] = i ? x[i + 1] : s->batch;
        out[i] = i ? out[i + 1] : s->batch;
        w[i] = w[i + 1];
    }
    set_dims(&c->desc[0], s->x, rank, x);
    set_dims(&c->desc[1], s->w, rank, w);
    set_dims(&c->desc[3], s->out, rank, out);
}

/* Batches, and matrices of each batch, may be broadcast apart from each other. */
static void matmul_shapes(struct product_case *c)
{
    const struct product_spec *s = &c->spec;
    const uint32_t rank = s->heads ? 4 : 3, at = rank - 2;
    uint32_t x[4] = { s->batch, s->heads }, w[4] = { s->w_batch, s->w_heads }, out[4] = { s->batch, s->heads };
    x[at + s->transpose_x] = out[at] = s->h;
    x[at + !s->transpose_x] = w[at + s->transpose_w] = s->ci;
    w[at + !s->transpose_w] = out[at + 1] = s->co;
    set_dims(&c->desc[0], s->x, rank, x);
    set_dims(&c->desc[1], s->w, rank, w);
    set_dims(&c->desc[3], s->out, rank, out);
}

static void shapes(struct product_case *c)
{
    const struct product_spec *s = &c->spec;
    struct tensor_desc *d = c->desc;
    if (s->op == OP_FullyConnected) {
        set_dims(&d[0], s->x, 2, (uint32_t[]){ s->h, s->ci });
        set_dims(&d[1], s->w, 2, (uint32_t[]){ s->co, s->ci });
        set_dims(&d[3], s->out, 2, (uint32_t[]){ s->h, s->co });
    } else if (s->op == OP_MatMul) {
        matmul_shapes(c);
    } else {
        spatial_shapes(c);
    }
    set_dims(&d[2], s->b, 1, &s->co);
}

static float some_scale(struct rand *r)
{
    return (float)(0.003 * pow(10, rand_unit(r) * 3 - 1.5));
}

/* Scales, offsets and block scales of the weights; arrays are larger than some encodings need. */
static void weight_encoding(struct product_case *c, uint32_t axis, struct rand *r)
{
    const struct product_spec *s = &c->spec;
    struct tensor_desc *w = &c->desc[1];
    uint32_t in = axis == w->rank - 1u ? axis - 1 : w->rank - 1u, block = s->block ? s->block : 1;
    bool blocks = s->w_kind == Q_BLOCK || s->w_kind == Q_FLOAT_BLOCK;
    w->q = (struct quant){ .kind = Q_TENSOR,
                           .definition = 1,
                           .bits = (uint8_t)s->bits,
                           .mapping = (uint8_t)s->mapping,
                           .scale = 0.003f,
                           .offset = -s->w_zero };
    if (!s->per_axis && s->w_kind == Q_NONE)
        return;
    w->q.kind = s->w_kind == Q_NONE ? Q_AXIS : (uint8_t)s->w_kind;
    w->q.axis = (int32_t)axis;
    w->q.n = blocks ? (uint32_t)(desc_count(w) / block) : w->dims[axis];
    c->scales = malloc(w->q.n * sizeof(float));
    c->float_offsets = malloc(w->q.n * sizeof(float));
    c->offsets = malloc(w->q.n * sizeof(int32_t));
    for (uint32_t i = 0; i < w->q.n; i++) {
        c->scales[i] = some_scale(r);
        c->float_offsets[i] = (float)(rand_unit(r) * 2 - 1) * c->scales[i];
        c->offsets[i] =
            -(int32_t)(dtype_min(w->type) + rand_range(r, 0, (uint32_t)(dtype_max(w->type) - dtype_min(w->type))));
    }
    w->q.scales = c->scales;
    for (uint32_t i = 0; i < w->rank; i++)
        w->q.block[i] = i == in ? block : 1;
    if (s->w_kind == Q_BLOCK && rand_next(r) & 1)
        w->q.offsets = c->offsets;
    if (s->w_kind == Q_FLOAT_BLOCK)
        w->q.float_offsets = c->float_offsets;
    if (s->w_kind != Q_EXPANSION)
        return;
    w->q.blocks_per_axis = w->dims[in] / block;
    w->q.block_scale_bits = w->q.block_scale_storage = 8;
    c->block_scales = malloc((size_t)w->q.n * w->q.blocks_per_axis);
    uint32_t most = rand_next(r) & 1 ? 16 : 100;
    for (uint32_t i = 0; i < w->q.n * w->q.blocks_per_axis; i++)
        c->block_scales[i] = (uint8_t)rand_range(r, 1, most);
    w->q.block_scales = c->block_scales;
}

/* Scales that make outputs fill their range, and per-axis ones that differ by up to a thousand. */
static void encodings(struct product_case *c, struct rand *r)
{
    const struct product_spec *s = &c->spec;
    struct tensor_desc *d = c->desc;
    if (!dtype_is_fixed(s->w))
        return;
    uint32_t axis = s->op == OP_FullyConnected ? 0 : d[1].rank - (s->op == OP_MatMul && s->transpose_w ? 2u : 1u);
    weight_encoding(c, axis, r);
    if (!dtype_is_fixed(s->x))
        return;
    double k = (double)desc_count(&d[1]) / d[1].dims[axis];
    double typical =
        sqrt(k) * (double)(dtype_max(s->x) - dtype_min(s->x)) / 4 * (double)(dtype_max(s->w) - dtype_min(s->w)) / 4;
    d[0].q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = 0.01f, .offset = -s->x_zero };
    d[3].q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .offset = -s->out_zero };
    d[3].q.scale = (float)(0.01 * 0.003 * typical * 4 / (double)(dtype_max(s->out) - dtype_min(s->out)) *
                           pow(10, rand_unit(r) * 2 - 1));
    if (s->b == DT_SQ32)
        d[2].q = (struct quant){ .kind = Q_TENSOR, .definition = 1, .scale = rand_next(r) & 1 ? 0.01f * 0.003f : 0.0004f };
    else if (s->b != DT_F32)
        d[2].q = (struct quant){
            .kind = Q_TENSOR, .definition = 1, .scale = (float)(0.01 * 0.003 * typical / 128), .offset = -3
        };
}

static void param(struct product_case *c, const char *name, enum dtype t, uint32_t rank, uint32_t count, const void *data)
{
    int at = op_param_index(c->call.op, name);
    if (at < 0)
        return;
    c->values[at] = (struct op_value){ .type = t, .rank = (uint8_t)rank, .dims = { count }, .count = count, .data = data };
    if (rank == 2) {
        c->values[at].dims[0] = count / 2;
        c->values[at].dims[1] = 2;
    }
}

static void params(struct product_case *c)
{
    const struct product_spec *s = &c->spec;
    c->flags[0] = s->transpose_x;
    c->flags[1] = s->transpose_w;
    uint32_t n = has_depth(s->op) ? 3 : 2, *stride = c->numbers, *dilation = stride + 3, *opad = dilation + 3,
             *pad = opad + 3;
    memcpy(c->numbers,
           (uint32_t[]){ s->z.stride, s->stride[0], s->stride[1], s->z.dilation, s->dilation[0], s->dilation[1], s->z.opad,
                         s->opad[0], s->opad[1], s->z.pad[0], s->z.pad[1], s->pad[0], s->pad[1], s->pad[2], s->pad[3] },
           15 * sizeof(uint32_t));
    param(c, "stride", DT_U32, 1, n, stride + 3 - n);
    param(c, "dilation", DT_U32, 1, n, dilation + 3 - n);
    param(c, "pad_amount", DT_U32, 2, 2 * n, pad + 2 * (3 - n));
    param(c, "group", DT_U32, 0, 1, &s->group);
    param(c, "output_padding", DT_U32, 1, n, opad + 3 - n);
    param(c, "transpose_in0", DT_B8, 0, 1, &c->flags[0]);
    param(c, "transpose_in1", DT_B8, 0, 1, &c->flags[1]);
}

static uint16_t random_half(struct rand *r)
{
    return (uint16_t)((rand_next(r) & 0x83ff) | (rand_range(r, 8, 17) << 10));
}

/* Fixed point: any bits, often the extremes. Floats: ordinary numbers, a few zeros and huge ones. */
static void contents(void *p, const struct tensor_desc *d, bool tame, struct rand *r)
{
    uint64_t n = desc_count(d), bytes = desc_bytes(d);
    if (d->type == DT_F32) {
        for (uint64_t i = 0; i < n; i++)
            ((float *)p)[i] = (float)((rand_unit(r) * 2 - 1) * (tame || rand_range(r, 0, 999) ? 1 : 1e20));
    } else if (d->type == DT_F16) {
        for (uint64_t i = 0; i < n; i++)
            ((uint16_t *)p)[i] = random_half(r);
    } else if (d->type == DT_SQ32) {
        /* Some biases are beyond what sums reach, or what floats count exactly. */
        const uint32_t shift = !tame && rand_range(r, 0, 4) == 0 ? rand_range(r, 0, 9) : 14;
        for (uint64_t i = 0; i < n; i++)
            ((int32_t *)p)[i] = (int32_t)rand_next(r) >> shift;
    } else {
        int fill = !tame && rand_range(r, 0, 9) == 0 ? (int)rand_range(r, 0, 255) : -1;
        for (uint64_t i = 0; i < bytes; i++)
            ((uint8_t *)p)[i] = fill >= 0 ? (uint8_t)fill : (uint8_t)(rand_next(r) >> 40);
    }
}

static const char *constants(struct product_case *c)
{
    struct kernel_aux want;
    if (kernel_aux(&c->call, &want) != ST_OK)
        return status_text();
    for (uint32_t i = 0; i < want.n; i++) {
        c->aux[i] = aligned(want.bytes[i]);
        if (kernel_aux_fill(&c->call, i, c->aux[i]) != ST_OK)
            return status_text();
    }
    c->call.n_aux = want.n;
    c->call.aux = (const void *const *)c->aux;
    for (uint32_t i = 0; want.n && i < 3; i++)
        if (want.replaces >> i & 1)
            c->in_data[i] = NULL;
    return NULL;
}

const char *product_case_init(struct product_case *c, const struct product_spec *spec, struct rand *r)
{
    *c = (struct product_case){ .spec = *spec };
    bool bias = spec->b != DT_NONE;
    uint32_t n_in = bias ? 3 : 2;
    shapes(c);
    if (desc_count(&c->desc[3]) == 0)
        return "empty output";
    encodings(c, r);
    c->call = (struct op_call){ .op = op_get(spec->op), .node = "test", .n_in = n_in, .n_out = 1, .in = c->in, .out = c->out,
                                .params = c->values, .in_data = c->in_data, .post = { spec->post_lo, spec->post_hi } };
    params(c);
    for (uint32_t i = 0; i < n_in; i++) {
        c->in[i] = &c->desc[i];
        c->data[i] = aligned(desc_bytes(&c->desc[i]));
        contents(c->data[i], &c->desc[i], spec->tame, r);
        if (i > 0 && spec->constant)
            c->in_data[i] = c->data[i];
    }
    c->out[0] = &c->desc[3];
    c->out_bytes = desc_bytes(&c->desc[3]);
    c->guarded = aligned(c->out_bytes + 2 * PRODUCT_GUARD);
    c->data[n_in] = c->guarded + PRODUCT_GUARD;
    const char *why = op_check(&c->call) == ST_OK ? constants(c) : status_text();
    if (why)
        product_case_finish(c);
    return why;
}

void product_case_finish(struct product_case *c)
{
    for (uint32_t i = 0; i < c->call.n_in; i++)
        free(c->data[i]);
    for (uint32_t i = 0; i < KERNEL_MAX_AUX; i++)
        free(c->aux[i]);
    free(c->guarded);
    free(c->scales);
    free(c->float_offsets);
    free(c->offsets);
    free(c->block_scales);
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

const char *product_bind(struct product_case *c, enum isa isa, struct product_run *run)
{
    *run = (struct product_run){ .args = aligned(kernel_args_size(c->spec.op)) };
    if (kernel_bind(&c->call, isa, run->args, &run->bound) != ST_OK) {
        free(run->args);
        return status_text();
    }
    run->work = aligned(run->bound.work_bytes);
    return NULL;
}

void product_run_tiles(struct product_case *c, const struct product_run *run, const uint32_t *cuts, uint32_t n)
{
    for (uint32_t i = 0; i <= n; i++) {
        struct range t = { i ? cuts[i - 1] : 0, i < n ? cuts[i] : run->bound.extent };
        if (t.begin < t.end)
            run->bound.run(&(struct kernel_call){ .args = run->args, .data = c->data, .work = run->work }, t);
    }
}

void product_run_finish(struct product_run *run)
{
    free(run->args);
    free(run->work);
}

/* ---- random descriptions ---------------------------------------------------------------------------------------- */

static uint32_t some_channels(struct rand *r)
{
    static const uint32_t usual[] = { 1, 2, 3, 4, 8, 15, 16, 17, 32, 33, 48, 63, 64, 65, 80, 127, 128, 130 };
    return rand_range(r, 0, 2) ? usual[rand_range(r, 0, sizeof usual / sizeof *usual - 1)] : rand_range(r, 1, 200);
}

static void random_types(struct product_spec *s, struct rand *r)
{
    static const enum dtype acts[] = { DT_UQ8, DT_SQ8, DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16, DT_F32, DT_F32, DT_F16 };
    static const enum dtype w8[] = { DT_SQ8, DT_SQ8, DT_UQ8, DT_SQ4, DT_UQ4 },
                            w16[] = { DT_SQ8, DT_SQ16, DT_UQ8, DT_UQ16, DT_SQ4 };
    static const enum dtype outs[] = { DT_UQ8, DT_SQ8, DT_UQ16, DT_SQ16 },
                            bias[] = { DT_NONE, DT_SQ32, DT_SQ32, DT_UQ8, DT_SQ8, DT_F32 };
    s->x = s->w = s->out = acts[rand_range(r, 0, 8)];
    s->b = rand_next(r) & 1 ? s->x : DT_NONE;
    if (!dtype_is_fixed(s->x)) {
        if (rand_range(r, 0, 4) == 0)
            s->w = w8[rand_range(r, 0, 4)];
        return;
    }
    s->w = dtype_bits(s->x) == 8 ? w8[rand_range(r, 0, 4)] : w16[rand_range(r, 0, 4)];
    s->out = outs[rand_range(r, 0, 3)];
    s->b = bias[rand_range(r, 0, 5)];
    s->x_zero = (int32_t)(dtype_min(s->x) + rand_range(r, 0, (uint32_t)(dtype_max(s->x) - dtype_min(s->x))));
    s->out_zero = (int32_t)(dtype_min(s->out) + rand_range(r, 0, (uint32_t)(dtype_max(s->out) - dtype_min(s->out))));
    s->per_axis = dtype_is_signed(s->w) && (rand_next(r) & 1);
    s->bits = dtype_bits(s->w) == 8 && rand_range(r, 0, 7) == 0 ? rand_range(r, 1, 2) * 2 : 0;
    if (!s->per_axis && rand_range(r, 0, 2))
        s->w_zero = (int32_t)(dtype_min(s->w) + rand_range(r, 0, (uint32_t)(dtype_max(s->w) - dtype_min(s->w))));
}

/* Mappings and scales that are not simply per tensor or per axis, for every fourth case. */
static void random_encoding(struct product_spec *s, struct rand *r)
{
    static const enum quant_kind kinds[] = { Q_NONE, Q_EXPANSION, Q_BLOCK, Q_FLOAT_BLOCK };
    if (!dtype_is_fixed(s->w) || dtype_bits(s->w) == 16 || rand_range(r, 0, 3))
        return;
    uint32_t in = s->op == OP_DepthWiseConv2d ? 1 : is_transposed(s->op) || is_matrix(s->op) ? s->ci : s->ci / s->group;
    s->w_kind = kinds[rand_range(r, 0, 3)];
    s->mapping = rand_range(r, 0, 2);
    s->block = rand_range(r, 1, in);
    while (in % s->block || (s->block % 2 && in % 2 == 0 && rand_next(r) & 1))
        s->block = rand_range(r, 1, in);
    if (s->w_kind != Q_NONE)
        s->w_zero = 0;
    if (s->b == DT_SQ32 && s->mapping)
        s->b = DT_F32;
}

static void random_depth(struct product_spec *s, struct rand *r)
{
    s->z.in = rand_range(r, 1, 5);
    s->z.kernel = rand_range(r, 1, 3);
    s->z.stride = rand_range(r, 1, 3);
    s->z.dilation = rand_range(r, 1, 2);
    s->z.pad[0] = rand_range(r, 0, 2);
    s->z.pad[1] = rand_range(r, 0, 2);
    s->z.opad = rand_range(r, 0, s->z.stride - 1);
    s->h = rand_range(r, 1, 8);
    s->wd = rand_range(r, 1, 8);
    s->ci = s->group * rand_range(r, 1, 40);
    s->co = s->group * rand_range(r, 1, 40);
    s->kh = rand_range(r, 1, 3);
    s->kw = rand_range(r, 1, 3);
    if (s->op == OP_Conv3d && rand_range(r, 0, 3) == 0)
        s->co = (s->group = s->ci) * rand_range(r, 1, 3);
}

struct product_spec product_random(struct rand *r)
{
    static const enum op_id ops[] = { OP_Conv2d,         OP_Conv2d, OP_DepthWiseConv2d, OP_TransposeConv2d,
                                      OP_FullyConnected, OP_MatMul, OP_Conv3d,          OP_TransposeConv3d };
    struct product_spec s = { .op = ops[rand_range(r, 0, 7)], .post_lo = -INFINITY, .post_hi = INFINITY };
    random_types(&s, r);
    s.constant = rand_range(r, 0, 3) > 0;
    s.batch = rand_range(r, 1, 3);
    s.h = rand_range(r, 1, is_matrix(s.op) ? 150 : 14);
    s.wd = rand_range(r, 1, 20);
    s.group = s.op != OP_DepthWiseConv2d && rand_range(r, 0, 3) == 0 ? rand_range(r, 2, 3) : 1;
    s.ci = some_channels(r) * (is_matrix(s.op) ? 1 + 4 * (uint32_t)(rand_next(r) & 1) : s.group);
    s.co = s.op == OP_DepthWiseConv2d ? s.ci * (rand_range(r, 0, 2) ? 1 : rand_range(r, 2, 5)) : some_channels(r) * s.group;
    s.kh = rand_range(r, 1, 4);
    s.kw = rand_range(r, 1, 4);
    for (int i = 0; i < 2; i++) {
        s.stride[i] = rand_range(r, 1, 3);
        s.dilation[i] = s.op == OP_TransposeConv2d || rand_next(r) & 1 ? 1 : rand_range(r, 1, 3);
        s.opad[i] = rand_range(r, 0, s.stride[i] - 1);
        s.pad[2 * i] = rand_range(r, 0, 3);
        s.pad[2 * i + 1] = rand_range(r, 0, 3);
    }
    if (rand_range(r, 0, 3) == 0 && s.op == OP_Conv2d) {
        s.kh = s.kw = 1;
        memset(s.pad, 0, sizeof s.pad);
    }
    if (has_depth(s.op))
        random_depth(&s, r);
    random_encoding(&s, r);
    s.w_batch = rand_next(r) & 1 ? s.batch : 1;
    s.heads = s.op == OP_MatMul && rand_next(r) & 1 ? rand_range(r, 2, 3) : 0;
    s.w_heads = rand_next(r) & 1 ? s.heads : s.heads > 0;
    s.transpose_x = rand_next(r) & 1;
    s.transpose_w = rand_next(r) & 1;
    if (rand_range(r, 0, 2) == 0) {
        s.post_lo = 0;
        s.post_hi = rand_next(r) & 1 ? 6 : INFINITY;
    }
    return s;
}

const char *product_text(const struct product_spec *s, char *buf, size_t size)
{
    snprintf(buf, size,
             "%s %s x %s (bits %u, zero %d%s%s) + %s -> %s: %ux%ux%ux%u -> %u, kernel %ux%u stride %u,%u dilation %u,%u "
             "pad %u,%u,%u,%u group %u opad %u,%u depth %u/%u stride %u dilation %u pad %u,%u wb %u heads %u,%u t %d%d "
             "clamp %g..%g kind %u map %u block %u",
             op_get(s->op)->name, dtype_name(s->x), dtype_name(s->w), s->bits, s->w_zero, s->per_axis ? ", per axis" : "",
             s->constant ? ", constant" : "", dtype_name(s->b), dtype_name(s->out), s->batch, s->h, s->wd, s->ci, s->co,
             s->kh, s->kw, s->stride[0], s->stride[1], s->dilation[0], s->dilation[1], s->pad[0], s->pad[1], s->pad[2],
             s->pad[3], s->group, s->opad[0], s->opad[1], s->z.in, s->z.kernel, s->z.stride, s->z.dilation, s->z.pad[0],
             s->z.pad[1], s->w_batch, s->heads, s->w_heads, s->transpose_x, s->transpose_w, (double)s->post_lo,
             (double)s->post_hi, s->w_kind, s->mapping, s->block);
    return buf;
}
