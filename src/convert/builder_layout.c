/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes: found again, composed, cancelled, and applied to constants on the spot. */
#include <string.h>

#include "convert/builder.h"

bool perm_is_identity(const uint8_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (perm[i] != i)
            return false;
    return true;
}

void perm_identity(uint8_t *perm, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = (uint8_t)i;
}

void perm_channel_last(uint8_t *perm, uint32_t rank)
{
    perm_identity(perm, rank);
    for (uint32_t i = 1; i + 1 < rank; i++)
        perm[i] = (uint8_t)(i + 1);
    if (rank > 1)
        perm[rank - 1] = 1;
}

void perm_invert(const uint8_t *perm, uint32_t rank, uint8_t *ret)
{
    for (uint32_t i = 0; i < rank; i++)
        ret[perm[i]] = (uint8_t)i;
}

void perm_compose(const uint8_t *first, const uint8_t *second, uint32_t rank, uint8_t *ret)
{
    for (uint32_t i = 0; i < rank; i++)
        ret[i] = first[second[i]];
}

/* ---- constants ---------------------------------------------------------------------------------------------------- */

static void move_element(unsigned bits, const uint8_t *from, uint64_t i, uint8_t *to, uint64_t k)
{
    if (bits < 8) {
        if (k * bits % 8 == 0)
            to[k * bits / 8] = 0; /* also what no element fills */
        packed_put(to, bits, k, packed_get(from, bits, false, i));
        return;
    }
    memcpy(to + k * (bits / 8), from + i * (bits / 8), bits / 8);
}

void transpose_bytes(const struct tensor_desc *src, const void *from, const uint8_t *perm, void *to)
{
    uint64_t stride[MAX_RANK], at = 0, n = desc_count(src);
    uint32_t index[MAX_RANK] = {0};
    unsigned bits = dtype_bits(src->type);
    desc_strides(src, stride);
    for (uint64_t k = 0; k < n; k++) {
        move_element(bits, from, at, to, k);
        for (uint32_t d = src->rank; d-- > 0;) {
            at += stride[perm[d]];
            if (++index[d] < src->dims[perm[d]])
                break;
            at -= stride[perm[d]] * index[d];
            index[d] = 0;
        }
    }
}

static void permute_desc(struct tensor_desc *d, const uint8_t *perm)
{
    struct tensor_desc s = *d;
    d->dynamic = 0;
    for (uint32_t i = 0; i < s.rank; i++) {
        d->dims[i] = s.dims[perm[i]];
        d->dynamic |= (uint8_t)((s.dynamic >> perm[i] & 1) << i);
        if ((s.q.kind == Q_AXIS || s.q.kind == Q_EXPANSION) && s.q.axis == perm[i])
            d->q.axis = (int32_t)i;
        if (s.q.kind == Q_BLOCK || s.q.kind == Q_FLOAT_BLOCK)
            d->q.block[i] = s.q.block[perm[i]];
    }
}

static enum status transpose_const(struct builder *b, uint32_t t, const uint8_t *perm, uint32_t *ret)
{
    const struct ir_tensor *x = &b->g->tensors.at[t];
    struct tensor_desc d = x->desc;
    permute_desc(&d, perm);
    uint8_t *data = arena_alloc(&b->g->arena, desc_bytes(&d));
    RETURN_IF(!data, ST_NO_MEMORY, "no memory to transpose constant \"%s\"", x->name);
    transpose_bytes(&x->desc, x->data, perm, data);
    build_release(b, x->data, desc_bytes(&x->desc));
    uint64_t params = b->report ? b->report->params : 0;
    TRY(build_const(b, x->name, &d, data, true, ret));
    if (b->report)
        b->report->params = params;
    return ST_OK;
}

/* ---- activations -------------------------------------------------------------------------------------------------- */

static const struct build_view *find_view(const struct builder *b, uint32_t t, const uint8_t *perm, uint32_t rank)
{
    for (size_t i = b->views.n; i-- > 0 && b->views.n - i < 512;)
        if (b->views.at[i].src == t && !memcmp(b->views.at[i].perm, perm, rank))
            return &b->views.at[i];
    return NULL;
}

static const struct build_view *made_as_view(const struct builder *b, uint32_t t)
{
    return t < b->view_of.n && b->view_of.at[t] ? &b->views.at[b->view_of.at[t] - 1] : NULL;
}

static enum status keep_view(struct builder *b, uint32_t src, uint32_t dst, const uint8_t *perm, uint32_t rank)
{
    struct build_view *v = vec_push(&b->views);
    RETURN_IF(!v, ST_NO_MEMORY, "no memory for a transpose");
    v->src = src;
    v->dst = dst;
    memcpy(v->perm, perm, rank);
    if (dst < b->view_of.n)
        b->view_of.at[dst] = (uint32_t)b->views.n;
    return ST_OK;
}

/* Moving dimensions of size 1 about leaves the bytes where they are. */
static bool moves_nothing(const struct tensor_desc *d, const uint8_t *perm)
{
    int last = -1;
    for (uint32_t i = 0; i < d->rank; i++) {
        if (d->dims[perm[i]] == 1 && !(d->dynamic >> perm[i] & 1))
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return d->dynamic == 0;
}

/* The form of a constant that operators use gets the source's name, by which users know it. */
static void take_name(struct builder *b, uint32_t from, uint32_t to)
{
    const char *name = b->g->tensors.at[from].name;
    b->g->tensors.at[from].name = b->g->tensors.at[to].name;
    b->g->tensors.at[to].name = name;
    b->g->names.n = SIZE_MAX; /* the graph's index of names starts again */
}

enum status build_transpose(struct builder *b, const char *name, uint32_t t, const uint8_t *perm, uint32_t *ret)
{
    uint32_t rank = build_desc(b, t)->rank, wide[MAX_RANK];
    uint8_t both[MAX_RANK];
    *ret = t;
    if (perm_is_identity(perm, rank))
        return ST_OK;
    const struct build_view *v = made_as_view(b, t);
    if (v) {
        perm_compose(v->perm, perm, rank, both);
        return build_transpose(b, name, v->src, both, ret);
    }
    v = find_view(b, t, perm, rank);
    if (v) {
        *ret = v->dst;
        return ST_OK;
    }
    if (b->g->tensors.at[t].role == IR_CONST) {
        TRY(transpose_const(b, t, perm, ret));
        take_name(b, t, *ret);
        return keep_view(b, t, *ret, perm, rank);
    }
    struct tensor_desc d = *build_desc(b, t);
    if (moves_nothing(&d, perm)) {
        permute_desc(&d, perm);
        TRY(build_reshape(b, name, t, d.rank, d.dims, ret));
        return *ret == t ? ST_OK : keep_view(b, t, *ret, perm, rank);
    }
    for (uint32_t i = 0; i < rank; i++)
        wide[i] = perm[i];
    TRY(build_node(
        b,
        &(struct build_spec){ .op = "Transpose", .name = name, BUILD_IN(t), .params = { BUILD_U32S("perm", rank, wide) } },
        ret));
    return keep_view(b, t, *ret, perm, rank);
}
