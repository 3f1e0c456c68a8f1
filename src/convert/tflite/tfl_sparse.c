/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse constants, written out.
 *
 *     levels, outermost first          level of format 0: every index 0 … size-1, entry = parent * size + index
 *     order[level] < rank: dimension   level of format 1: indices[segments[parent]] … indices[segments[parent + 1] - 1],
 *                                      entry = place in that list
 *     otherwise: part of a block of the dimension block_map[order[level] - rank]
 *
 * The entry of the last level is the number of a value. Nothing is trusted: every list is checked against its length, so the
 * walk is as long as the file. */
#include <string.h>

#include "convert/tflite/tfl_lower.h"

enum { MAX_LEVELS = 2 * MAX_RANK };

struct level {
    bool listed;              /* format 1 */
    uint32_t size;            /* of the dimension, or of a block */
    uint32_t dim, factor;     /* the dimension that it counts, in steps of this */
    struct fb_vec segments, indices;
    unsigned segment_bytes, index_bytes;
};

struct sparse {
    struct level levels[MAX_LEVELS];
    uint32_t n;
    const struct tensor_desc *d;
    unsigned bytes; /* of a value */
    const uint8_t *from;
    uint64_t n_values;
    uint8_t *to;
};

/* A list of the file: 32, 16 or 8 bits, told by the type of the union. */
static enum status read_list(struct fb_table t, unsigned type_field, unsigned field, struct fb_vec *ret, unsigned *ret_bytes)
{
    int64_t type = fb_int(t, type_field, 1, 0);
    TFL_REFUSE_IF(type < 1 || type > 3, "a list of its sparse weights has type %lld; 1, 2 and 3 are known", (long long)type);
    *ret_bytes = type == 1 ? 4 : type == 2 ? 2 : 1;
    *ret = fb_vector(fb_sub(t, field), OPTION_FIRST, *ret_bytes);
    return ST_OK;
}

static uint32_t list_at(struct fb_vec v, uint32_t i, unsigned bytes)
{
    int64_t x = fb_at_int(v, i, bytes);
    return (uint32_t)(bytes == 4 ? x : x & (bytes == 2 ? 0xffff : 0xff));
}

static enum status read_level(struct fb_table sparsity, uint32_t rank, uint32_t i, struct level *ret)
{
    struct fb_table t = fb_at_table(fb_vector(sparsity, SPARSITY_LEVELS, 4), i);
    struct fb_vec order = fb_vector(sparsity, SPARSITY_ORDER, 4), blocks = fb_vector(sparsity, SPARSITY_BLOCK_MAP, 4);
    int64_t at = fb_at_int(order, i, 4), dim = at < (int64_t)rank     ? at
                                               : at - rank < blocks.n ? fb_at_int(blocks, (uint32_t)(at - rank), 4)
                                                                      : -1;
    TFL_REFUSE_IF(at < 0 || dim < 0 || dim >= rank, "level %u of its sparse weights counts dimension %lld of %u", i,
                  (long long)at, rank);
    *ret = (struct level){ .listed = fb_int(t, LEVEL_FORMAT, 1, 0) != 0,
                           .size = (uint32_t)fb_int(t, LEVEL_SIZE, 4, 0),
                           .dim = (uint32_t)dim,
                           .factor = 1 };
    if (!ret->listed)
        return ST_OK;
    TRY(read_list(t, LEVEL_SEGMENTS_TYPE, LEVEL_SEGMENTS, &ret->segments, &ret->segment_bytes));
    return read_list(t, LEVEL_INDICES_TYPE, LEVEL_INDICES, &ret->indices, &ret->index_bytes);
}

/* Dimensions count in blocks where there are any. */
static enum status read_levels(const struct tfl_tensor *x, struct sparse *s)
{
    struct fb_vec order = fb_vector(x->sparsity, SPARSITY_ORDER, 4), levels = fb_vector(x->sparsity, SPARSITY_LEVELS, 4);
    uint32_t rank = x->desc.rank;
    TFL_REFUSE_IF(order.n != levels.n || order.n < rank || order.n > MAX_LEVELS,
                  "its sparse weights have %u levels in an order of %u, rank %u", levels.n, order.n, rank);
    s->n = order.n;
    for (uint32_t i = 0; i < s->n; i++)
        TRY(read_level(x->sparsity, rank, i, &s->levels[i]));
    for (uint32_t i = 0; i < s->n; i++) {
        struct level *l = &s->levels[i];
        for (uint32_t k = 0; k < s->n && fb_at_int(order, i, 4) < (int64_t)rank; k++)
            if (fb_at_int(order, k, 4) >= (int64_t)rank && s->levels[k].dim == l->dim)
                l->factor = s->levels[k].size;
    }
    return ST_OK;
}

static enum status put_value(struct sparse *s, const uint32_t *at, uint64_t entry)
{
    uint64_t place = 0;
    for (uint32_t i = 0; i < s->d->rank; i++) {
        TFL_REFUSE_IF(at[i] >= s->d->dims[i], "a sparse weight lies at %u of dimension %u, which has %u", at[i], i,
                      s->d->dims[i]);
        place = place * s->d->dims[i] + at[i];
    }
    TFL_REFUSE_IF(entry >= s->n_values, "sparse weight %llu is wanted; there are %llu", (unsigned long long)entry,
                  (unsigned long long)s->n_values);
    memcpy(s->to + place * s->bytes, s->from + entry * s->bytes, s->bytes);
    return ST_OK;
}

static enum status walk(struct sparse *s, uint32_t depth, uint32_t *at, uint64_t parent)
{
    if (depth == s->n)
        return put_value(s, at, parent);
    const struct level *l = &s->levels[depth];
    uint64_t first = parent * l->size, end = first + l->size;
    if (l->listed) {
        TFL_REFUSE_IF(parent + 1 >= l->segments.n, "level %u of its sparse weights has %u segments; number %llu is wanted",
                      depth, l->segments.n, (unsigned long long)parent + 1);
        first = list_at(l->segments, (uint32_t)parent, l->segment_bytes);
        end = list_at(l->segments, (uint32_t)parent + 1, l->segment_bytes);
        TFL_REFUSE_IF(end < first || end > l->indices.n, "a segment of its sparse weights is [%llu, %llu) of %u",
                      (unsigned long long)first, (unsigned long long)end, l->indices.n);
    }
    for (uint64_t e = first; e < end; e++) {
        uint64_t index = l->listed ? list_at(l->indices, (uint32_t)e, l->index_bytes) : e - first, step = index * l->factor;
        TFL_REFUSE_IF(step >= s->d->dims[l->dim], "a sparse weight lies at %llu of dimension %u, which has %u",
                      (unsigned long long)step, l->dim, s->d->dims[l->dim]);
        at[l->dim] += (uint32_t)step;
        TRY(walk(s, depth + 1, at, e));
        at[l->dim] -= (uint32_t)step;
    }
    return ST_OK;
}

enum status tfl_dense_const(struct tfl_cx *cx, const struct tfl_tensor *x, uint32_t *ret)
{
    uint64_t size = desc_bytes(&x->desc);
    uint32_t at[MAX_RANK] = {0};
    struct sparse s = {.d = &x->desc, .bytes = dtype_bits(x->desc.type) / 8, .from = fb_bytes(x->packed)};
    TFL_REFUSE_IF(dtype_bits(x->desc.type) % 8 || !s.bytes || x->desc.q.offset || x->desc.q.offsets,
                  "sparse weights of type %s or with a zero point", dtype_name(x->desc.type));
    TRY(read_levels(x, &s));
    TRY(tfl_charge(cx, size));
    s.n_values = x->packed.n / s.bytes;
    s.to = arena_alloc(&cx->b.g->arena, size); /* cleared */
    RETURN_IF(!s.to, ST_NO_MEMORY, "no memory for the weights \"%s\"", x->name);
    TRY(walk(&s, 0, at, 0));
    return build_const(&cx->b, x->name, &x->desc, s.to, true, ret);
}

TFL_LOWER(densify)
{
    uint32_t x;
    TRY(tfl_in(cx, 0, &x));
    return tfl_bind(cx, 0, x);
}
