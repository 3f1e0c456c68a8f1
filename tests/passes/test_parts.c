/* SPDX-License-Identifier: Apache-2.0 */
/* Concat and Split in tile layout: which of them are a matter of addresses, against going over elements, and what
 * they move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "binary/binary.h"
#include "test_scale.h"

enum { CALLS = 20000, MOST = 4 };

static uint64_t seed = 1;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

struct made {
    struct tensor_desc whole, part[MOST];
    const struct tensor_desc *one[1], *many[MOST];
    uint32_t n, axis;
    struct op_call call;
};

static void make(struct made *m)
{
    static const enum dtype types[] = { DT_UQ8, DT_UQ16, DT_F32 };
    static const uint32_t sizes[] = { 1, 4, 8, 16, 32, 64, 5, 12 };
    bool join = below(2);
    m->whole = (struct tensor_desc){ .type = types[below(3)], .rank = (uint8_t)(2 + below(4)) };
    m->n = 1 + below(MOST);
    m->axis = below(m->whole.rank);
    for (uint32_t i = 0; i < m->whole.rank; i++)
        m->whole.dims[i] = 1 + below(3) * 5;
    m->whole.dims[m->axis] = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        m->part[i] = m->whole;
        m->part[i].dims[m->axis] = sizes[below(8)];
    }
    for (uint32_t i = 0; i < m->n; i++) {
        m->whole.dims[m->axis] += m->part[i].dims[m->axis];
        m->many[i] = &m->part[i];
    }
    m->one[0] = &m->whole;
    m->call = (struct op_call){ .op = op_get(join ? OP_Concat : OP_Split),
                                .n_in = join ? m->n : 1,
                                .n_out = join ? 1 : m->n,
                                .in = join ? m->many : m->one,
                                .out = join ? m->one : m->many };
}

/* Where in its tile an element is: 32 channels, 8 lines and 8 columns of an image, 4 columns of wide numbers; rows of one
 * height lie flat. */
static uint32_t in_tile(const struct tensor_desc *d, uint32_t axis, uint32_t at)
{
    bool image = d->rank >= 4 && d->dims[d->rank - 3] > 1, wide = d->type != DT_UQ8;
    if (axis == d->rank - 1u)
        return at % 32;
    if (image && axis == d->rank - 2u)
        return at % (wide ? 4 : 8);
    return image && axis == d->rank - 3u ? at % 8 : 0;
}

/* Every element has the same place in its tile, and no tile of the whole has elements of two parts. A part of one line lies
 * flat, beside images in tiles. */
static bool by_elements(const struct made *m)
{
    bool height = m->whole.rank >= 4 && m->axis + 3 == m->whole.rank;
    uint32_t from = 0;
    for (uint32_t p = 0; p < m->n; from += m->part[p++].dims[m->axis]) {
        if (height && m->part[p].dims[m->axis] == 1)
            return false;
        for (uint32_t d = 0; d < m->whole.rank; d++)
            for (uint32_t i = 0; i < m->part[p].dims[d]; i++)
                if (in_tile(&m->part[p], d, i) != in_tile(&m->whole, d, d == m->axis ? from + i : i))
                    return false;
        if (in_tile(&m->whole, m->axis, from))
            return false;
    }
    return true;
}

static void borders_of_tiles(void **state)
{
    (void)state;
    uint32_t yes = 0, n = test_scale(CALLS);
    for (uint32_t i = 0; i < n; i++) {
        struct made m;
        make(&m);
        if (m.n == 1) /* a copy, of which nothing is said */
            continue;
        assert_int_equal(binary_in_tiles(&m.call), by_elements(&m));
        yes += by_elements(&m);
    }
    assert_true(yes > n / 20 && yes < n / 2);
}

static void other_numbers_are_computed(void **state)
{
    (void)state;
    struct tensor_desc whole = { .type = DT_UQ8,
                                 .rank = 2,
                                 .dims = { 3, 64 },
                                 .q = { .definition = 1, .kind = Q_TENSOR, .scale = 1 } },
                       part = whole;
    const struct tensor_desc *in[2] = { &part, &part }, *out[1] = { &whole };
    struct op_call c = { .op = op_get(OP_Concat), .n_in = 2, .n_out = 1, .in = in, .out = out };
    part.dims[1] = 32;
    assert_true(binary_in_tiles(&c));
    part.q.scale = 2;
    assert_false(binary_in_tiles(&c));
    part.q.scale = 1;
    part.dynamic = 1;
    assert_false(binary_in_tiles(&c));
    part.dynamic = 0;
    c.op = op_get(OP_ElementWiseAdd);
    assert_false(binary_in_tiles(&c));
}

/* By where the parts and the whole lie. A tile that is in DRAM and is to be there does not move; all others go in and out as
 * for any operator. */
static void what_moves(void **state)
{
    (void)state;
    static const uint8_t roles[] = { ROLE_STAYS, ROLE_STREAMS, ROLE_CLIENT };
    struct tensor_desc whole = { .type = DT_UQ8, .rank = 2, .dims = { 10, 96 } }, a = whole, b = whole;
    const struct tensor_desc *parts[2] = { &a, &b }, *one[1] = { &whole };
    a.dims[1] = 32;
    b.dims[1] = 64;
    for (uint32_t i = 0; i < 27; i++) {
        const uint8_t from[2] = { roles[i % 3], roles[i / 3 % 3] }, at = roles[i / 9], join[3] = { from[0], from[1], at },
                      cut[3] = { at, from[0], from[1] };
        const uint64_t bytes[2] = { 320, 640 };
        struct binary_moves want = { 0 }, back = { 0 }, got;
        for (int k = 0; k < 2; k++) {
            if (from[k] == ROLE_STREAMS && at == ROLE_STREAMS)
                continue;
            *(from[k] == ROLE_STREAMS ? &want.fill : from[k] == ROLE_CLIENT ? &want.inputs : &(uint64_t){ 0 }) += bytes[k];
            *(at == ROLE_STREAMS ? &want.spill : at == ROLE_CLIENT ? &want.outputs : &(uint64_t){ 0 }) += bytes[k];
        }
        back =
            (struct binary_moves){ .fill = want.spill, .spill = want.fill, .inputs = want.outputs, .outputs = want.inputs };
        struct op_call c = { .op = op_get(OP_Concat), .n_in = 2, .n_out = 1, .in = parts, .out = one };
        struct binary_box_op o;
        binary_box_op(&c, &o);
        binary_box_moves(&o, &o.whole, join, &got);
        assert_memory_equal(&got, &want, sizeof got);
        c = (struct op_call){ .op = op_get(OP_Split), .n_in = 1, .n_out = 2, .in = one, .out = parts };
        binary_box_op(&c, &o);
        binary_box_moves(&o, &o.whole, cut, &got);
        assert_memory_equal(&got, &back, sizeof got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(borders_of_tiles), cmocka_unit_test(other_numbers_are_computed),
                                        cmocka_unit_test(what_moves) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
