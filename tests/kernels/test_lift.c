/* SPDX-License-Identifier: Apache-2.0 */
/* Lifted sums (conv_lift.c), on any CPU: wherever conv_lifts says yes, ending the float that a lifted sum is gives what
 * docs/numerics.md section 3 has for the sum itself, for all sums that the channel can have. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/conv/conv.h"

static uint64_t state = 0x123456789abcdef;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x9e3779b97f4a7c15u >> 16;
}

static struct {
    struct conv_head head;
    float m[CONV_BLOCK];
    int64_t b[CONV_BLOCK];
} record;

/* A channel: magnitudes of sums, bias and multiplier around everything that conv_lifts looks at. */
static struct conv_args some_channel(void)
{
    const bool is_signed = next() & 1;
    struct conv_args a = { .cls = CONV_Q8, .w_slices = 1, .npad = CONV_BLOCK, .cog = 1, .n_m = 1, .head = &record.head };
    a.out_type = is_signed ? DT_SQ8 : DT_UQ8;
    a.q_lo = is_signed ? INT8_MIN : 0;
    a.q_hi = is_signed ? INT8_MAX : UINT8_MAX;
    a.out_offset = (int32_t)(next() % 600) - 300;
    if (next() & 1)
        a.out_offset = (int32_t)-a.q_lo;
    if (next() % 4 == 0 && -a.out_offset > a.q_lo && -a.out_offset < a.q_hi)
        a.q_lo = -a.out_offset;
    a.bound = (int64_t)(next() % ((uint64_t)1 << (4 + next() % 26)));
    record.b[0] = (int64_t)(next() % ((uint64_t)1 << (1 + next() % 28))) * (next() & 1 ? 1 : -1);
    record.m[0] = ldexpf(1 + (float)(next() % 8388608) * 0x1p-23f, -1 - (int)(next() % 24));
    return a;
}

static int64_t ended(const struct conv_args *a, float steps)
{
    const int64_t q = llrintf(steps) - a->out_offset;
    return q < a->q_lo ? a->q_lo : q > a->q_hi ? a->q_hi : q;
}

static void check_sum(const struct conv_args *a, int64_t sum)
{
    const uint32_t bits = (uint32_t)(int32_t)sum + CONV_LIFT_BITS;
    const float m = record.m[0];
    float f;
    memcpy(&f, &bits, sizeof f);
    const float steps = fmaf(f, m, -CONV_LIFT * m);
    assert_true(fabsf(steps) < 0x1p31f); /* what the conversion to integers holds */
    assert_int_equal(ended(a, steps), ended(a, (float)sum * m));
}

static void test_sums(void **unused)
{
    unsigned lifted = 0, beyond = 0;
    (void)unused;
    for (unsigned i = 0; i < 200000; i++) {
        const struct conv_args a = some_channel();
        if (!conv_lifts(&a))
            continue;
        const int64_t lo = record.b[0] - a.bound, hi = record.b[0] + a.bound, exact = (int64_t)1 << 23;
        lifted++;
        beyond += hi > exact;
        check_sum(&a, lo);
        check_sum(&a, hi);
        for (int j = 0; j < 8; j++)
            check_sum(&a, lo + (int64_t)(next() % (uint64_t)(hi - lo + 1)));
        for (int64_t s = -2; s <= 2; s++) {
            if (s >= lo && s <= hi)
                check_sum(&a, s);
            if (exact + s >= lo && exact + s <= hi)
                check_sum(&a, exact + s);
        }
    }
    assert_true(lifted > 10000 && beyond > 1000); /* not by saying no */
}

/* Nothing but bytes behind a Relu with constants is. */
static void test_refused(void **unused)
{
    (void)unused;
    record.m[0] = 0.01f;
    record.b[0] = 5;
    struct conv_args a = { .cls = CONV_Q8,
                           .w_slices = 1,
                           .npad = CONV_BLOCK,
                           .cog = 1,
                           .n_m = 1,
                           .head = &record.head,
                           .out_type = DT_UQ8,
                           .q_hi = UINT8_MAX,
                           .bound = 1000 };
    assert_true(conv_lifts(&a));
    struct conv_args b = a;
    b.out_offset = -1;
    assert_false(conv_lifts(&b));
    b.q_lo = 1;
    assert_true(conv_lifts(&b));
    b = a, b.cls = CONV_Q16;
    assert_false(conv_lifts(&b));
    b = a, b.head = NULL;
    assert_false(conv_lifts(&b));
    b = a, b.out_type = DT_UQ16;
    assert_false(conv_lifts(&b));
    record.m[0] = NAN;
    assert_false(conv_lifts(&a));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_sums), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
