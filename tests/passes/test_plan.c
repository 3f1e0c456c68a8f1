/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of the memory planner on random problems. The checks know nothing of sections or searches: overlap is tested
 * pair by pair, live bytes step by step, and the optimum of tiny problems by trying every order of stacking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "prepare/plan.h"

enum { MAX_N = 400, TINY = 7 };

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

struct shape {
    uint32_t steps, max_size, unit;
    bool aligns, fixed;
};

static bool together(const struct plan_buf *p, const struct plan_buf *q)
{
    return p->first <= q->last && q->first <= p->last;
}

static bool collide(const struct plan_buf *p, const struct plan_buf *q, uint64_t po, uint64_t qo)
{
    return together(p, q) && po < qo + q->size && qo < po + p->size;
}

static void random_problem(struct plan_buf *b, size_t n, const struct shape *s)
{
    static const uint32_t aligns[] = { 0, 1, 2, 4, 64, 256, 3, 12 };
    for (size_t i = 0; i < n; i++) {
        uint32_t first = below(s->steps), length = below(4) ? below(s->steps / 4 + 1) : below(s->steps);
        uint32_t last = first + length < s->steps ? first + length : s->steps - 1;
        b[i] = (struct plan_buf){ .size = (uint64_t)below(s->max_size) * s->unit, .first = first, .last = last,
                                  .align = s->aligns ? aligns[below(8)] : 1, .fixed = PLAN_ANY, .offset = 12345 };
        if (!s->fixed || below(5))
            continue;
        uint64_t at = (uint64_t)below(40) * (b[i].align ? b[i].align : 1);
        bool free_there = true;
        for (size_t k = 0; k < i; k++)
            free_there &= b[k].fixed == PLAN_ANY || !collide(&b[i], &b[k], at, b[k].fixed);
        if (free_there)
            b[i].fixed = at;
    }
}

static uint64_t live_bytes(const struct plan_buf *b, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < n; k++)
            sum += b[k].first <= b[i].first && b[i].first <= b[k].last ? b[k].size : 0;
        most = sum > most ? sum : most;
        if (b[i].fixed != PLAN_ANY && b[i].fixed + b[i].size > most)
            most = b[i].fixed + b[i].size;
    }
    return most;
}

/* Everything a plan promises, whatever the way it was found. */
static void check_plan(const struct plan_buf *b, size_t n, uint64_t total)
{
    uint64_t end = 0, highest_fixed = 0;
    unsigned __int128 sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t align = b[i].align ? b[i].align : 1;
        assert_int_equal(b[i].offset % align, 0);
        if (b[i].fixed != PLAN_ANY) {
            assert_int_equal(b[i].offset, b[i].fixed);
            highest_fixed = b[i].fixed + b[i].size > highest_fixed ? b[i].fixed + b[i].size : highest_fixed;
        }
        for (size_t k = 0; k < i; k++)
            assert_false(b[i].size && b[k].size && collide(&b[i], &b[k], b[i].offset, b[k].offset));
        end = b[i].offset + b[i].size > end ? b[i].offset + b[i].size : end;
        sum += b[i].size ? b[i].size + align - 1 : 0;
    }
    assert_int_equal(end, total);
    assert_true(total >= live_bytes(b, n));
    assert_true(total <= sum + highest_fixed);
}

static struct plan_result solve(struct plan_buf *b, size_t n, uint64_t max_nodes, uint64_t capacity)
{
    struct plan_opts o = { .deadline_ns = PLAN_FOREVER, .max_nodes = max_nodes, .capacity = capacity };
    struct plan_result r = { 0 };
    assert_int_equal(plan_solve(b, n, &o, &r), ST_OK);
    check_plan(b, n, r.total);
    assert_int_equal(r.lower_bound, live_bytes(b, n));
    assert_true(r.nodes <= max_nodes);
    if (r.total == r.lower_bound)
        assert_true(r.optimal);
    return r;
}

static const struct shape shapes[] = {
    { .steps = 12, .max_size = 20, .unit = 1 },
    { .steps = 60, .max_size = 1000, .unit = 64 },
    { .steps = 30, .max_size = 100, .unit = 1, .aligns = true },
    { .steps = 25, .max_size = 30, .unit = 4, .aligns = true, .fixed = true },
    { .steps = 100, .max_size = 5, .unit = 1024, .fixed = true },
    { .steps = 1, .max_size = 9, .unit = 1, .aligns = true, .fixed = true },
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void test_random(void **state)
{
    (void)state;
    static struct plan_buf b[MAX_N];
    seed = 1;
    for (int round = 0; round < 3000; round++) {
        size_t n = round % 50 ? below(40) : below(MAX_N);
        random_problem(b, n, &shapes[round % SHAPES]);
        struct plan_result r = solve(b, n, 300, 0);
        uint64_t greedy = plan_greedy_by_size(b, n);
        check_plan(b, n, greedy);
        assert_true(r.total <= greedy); /* the plain plan is one of those tried */
    }
}

/* Some order of placing, each buffer at the lowest place above all it meets that were placed before, is optimal: sort any
 * plan by offset and push down. A fixed buffer only joins the order where it lies above the others. */
static void all_orders(struct plan_buf *b, size_t n, size_t placed, uint64_t *order, uint64_t top, uint64_t *best)
{
    if (placed == n)
        *best = top < *best ? top : *best;
    for (size_t i = 0; i < n; i++) {
        bool used = false;
        uint64_t at = 0, align = b[i].align ? b[i].align : 1;
        for (size_t k = 0; k < placed; k++) {
            const struct plan_buf *q = &b[order[k]];
            used |= order[k] == i;
            if (together(&b[i], q) && q->offset + q->size > at)
                at = q->offset + q->size;
        }
        at = (at + align - 1) / align * align;
        if (used || (b[i].fixed != PLAN_ANY && at > b[i].fixed))
            continue;
        b[i].offset = b[i].fixed != PLAN_ANY ? b[i].fixed : at;
        order[placed] = i;
        all_orders(b, n, placed + 1, order, b[i].offset + b[i].size > top ? b[i].offset + b[i].size : top, best);
    }
}

static void test_tiny_optimum(void **state)
{
    (void)state;
    seed = 2;
    for (int round = 0; round < 1500; round++) {
        struct plan_buf b[TINY], copy[TINY];
        uint64_t order[TINY], best = UINT64_MAX;
        size_t n = round % 30 ? 1 + below(TINY - 1) : TINY;
        struct shape s = shapes[round % SHAPES];
        s.steps = s.steps > 10 ? 10 : s.steps;
        random_problem(b, n, &s);
        for (size_t i = 0; i < n; i++)
            b[i].size += b[i].size == 0;
        bool valid = true; /* making empty buffers one byte long may let fixed ones collide */
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < i; k++)
                valid &= b[i].fixed == PLAN_ANY || b[k].fixed == PLAN_ANY || !collide(&b[i], &b[k], b[i].fixed, b[k].fixed);
        if (!valid)
            continue;
        memcpy(copy, b, sizeof(b));
        all_orders(copy, n, 0, order, 0, &best);
        struct plan_result r = solve(b, n, 1000000, 0);
        assert_true(r.optimal);
        assert_int_equal(r.total, best);
    }
}

static void test_deterministic(void **state)
{
    (void)state;
    static struct plan_buf b[MAX_N], c[MAX_N];
    seed = 3;
    for (int round = 0; round < 20; round++) {
        size_t n = 100 + below(100);
        random_problem(b, n, &shapes[round % SHAPES]);
        memcpy(c, b, sizeof(b));
        struct plan_result r = solve(b, n, 20000, 0), q = solve(c, n, 20000, 0);
        assert_int_equal(r.total, q.total);
        assert_int_equal(r.nodes, q.nodes);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(b[i].offset, c[i].offset);
    }
}

/* A larger budget continues the same search, so it never gives a worse plan. */
static void test_anytime(void **state)
{
    (void)state;
    static struct plan_buf b[MAX_N];
    static const uint64_t budgets[] = { 1, 10, 100, 1000, 10000, 50000 };
    seed = 4;
    for (int round = 0; round < 12; round++) {
        size_t n = 150;
        random_problem(b, n, &shapes[round % SHAPES]);
        struct plan_opts quick = { 0 };
        struct plan_result r;
        assert_int_equal(plan_solve(b, n, &quick, &r), ST_OK);
        check_plan(b, n, r.total);
        assert_int_equal(r.nodes, 0);
        uint64_t before = r.total;
        for (size_t k = 0; k < sizeof(budgets) / sizeof(budgets[0]); k++) {
            r = solve(b, n, budgets[k], 0);
            assert_true(r.total <= before);
            before = r.total;
        }
    }
    /* a deadline that has passed at once still gives a plan */
    struct plan_opts o = { .deadline_ns = 1 };
    struct plan_result r;
    assert_int_equal(plan_solve(b, 150, &o, &r), ST_OK);
    check_plan(b, 150, r.total);
}

/* A rectangle cut into pieces at random: the pieces fit into its height without a gap, and no greedy order finds that. */
static void test_perfect_packing(void **state)
{
    (void)state;
    seed = 5;
    for (int round = 0; round < 10; round++) {
        struct plan_buf b[60] = { { .size = 256, .align = 1, .first = 0, .last = 255, .fixed = PLAN_ANY } };
        size_t n = 1;
        while (n < 60) {
            struct plan_buf *p = &b[below((uint32_t)n)], *q = &b[n];
            if (below(2) && p->size > 1) {
                *q = *p;
                q->size = 1 + below((uint32_t)p->size - 1);
                p->size -= q->size;
                n++;
            } else if (p->last > p->first) {
                *q = *p;
                p->last = p->first + below(p->last - p->first);
                q->first = p->last + 1;
                n++;
            }
        }
        struct plan_result r = solve(b, n, 1000000, 0);
        assert_int_equal(r.total, 256);
        assert_true(r.optimal);
    }
}

static void test_capacity(void **state)
{
    (void)state;
    static struct plan_buf b[MAX_N];
    seed = 6;
    for (int round = 0; round < 30; round++) {
        size_t n = 60;
        random_problem(b, n, &shapes[round % SHAPES]);
        uint64_t lower = live_bytes(b, n);
        struct plan_result r = solve(b, n, 50000, lower * 2 + 64 * 400);
        assert_int_equal(r.nodes, 0); /* the first plan is good enough */
        solve(b, n, 1000, 1);         /* out of reach: as good as can be */
    }
}

static void test_edges(void **state)
{
    (void)state;
    struct plan_result r = solve(NULL, 0, 10, 0);
    assert_int_equal(r.total, 0);
    assert_true(r.optimal);
    struct plan_buf b[3] = {
        { .size = 0, .align = 0, .first = 0, .last = UINT32_MAX, .fixed = PLAN_ANY },
        { .size = 0, .align = 64, .first = 3, .last = 3, .fixed = 128 },
        { .size = 8, .align = 64, .first = UINT32_MAX, .last = UINT32_MAX, .fixed = PLAN_ANY },
    };
    r = solve(b, 1, 10, 0);
    assert_int_equal(r.total, 0);
    r = solve(b, 3, 10, 0);
    assert_int_equal(r.total, 128);
    assert_int_equal(b[2].offset, 0);
}

static void refused(struct plan_buf *b, size_t n)
{
    struct plan_opts o = { .deadline_ns = PLAN_FOREVER, .max_nodes = 100 };
    struct plan_result r;
    for (size_t i = 0; i < n; i++)
        b[i].offset = 777;
    assert_int_equal(plan_solve(b, n, &o, &r), ST_INVALID_ARG);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(b[i].offset, 777);
}

static void test_huge(void **state)
{
    (void)state;
    const struct plan_buf big = { .size = PLAN_MAX, .align = 1, .fixed = PLAN_ANY };
    struct plan_buf b[3] = { big, big, big };
    b[1].first = b[1].last = 1;
    b[2].first = b[2].last = 2;
    struct plan_result r = solve(b, 3, 100, 0); /* one after the other: each may have it all */
    assert_int_equal(r.total, PLAN_MAX);
    b[1].first = 0;
    refused(b, 3); /* two at once */
    b[0].size = b[1].size = PLAN_MAX / 2;
    r = solve(b, 2, 100, 0);
    assert_int_equal(r.total, PLAN_MAX - 1);
    b[0].align = b[1].align = UINT32_MAX;
    refused(b, 2); /* the live bytes fit, the padding does not */
    b[0] = big;
    b[0].size = UINT64_MAX;
    refused(b, 1);
    b[0].size = PLAN_MAX + 1;
    refused(b, 1);
}

static void test_refused(void **state)
{
    (void)state;
    const struct plan_buf good = { .size = 8, .align = 4, .first = 2, .last = 5, .fixed = PLAN_ANY };
    struct plan_buf b[2] = { good, good };
    b[1].first = 6;
    refused(b, 2); /* ends before it starts */
    b[1] = good;
    b[1].fixed = 6;
    refused(b, 2); /* not aligned */
    b[1].fixed = PLAN_MAX - 3;
    refused(b, 2); /* ends too high */
    b[0].fixed = 8;
    b[1].fixed = 12;
    refused(b, 2); /* collide */
    b[1].first = b[1].last = 6;
    assert_int_equal(solve(b, 2, 10, 0).total, 20); /* unless not alive together */
}

static void test_thousands(void **state)
{
    (void)state;
    enum { N = 5000 };
    static struct plan_buf b[N];
    seed = 7;
    random_problem(b, N, &(struct shape){ .steps = 4000, .max_size = 5000, .unit = 64, .aligns = true });
    for (size_t i = 0; i < N; i++) /* most tensors live for a few steps, as in a network */
        if (b[i].last - b[i].first > 12 && i % 50)
            b[i].last = b[i].first + i % 12;
    solve(b, N, 20000, 0);
}

/* The plain plan, step by step: largest first, then the longest life, then the earliest; a byte is tried only where
 * something ends, and of all gaps above such a place the smallest one that holds the buffer is taken. */
static uint64_t plain_gap(const struct plan_buf *b, size_t n, const bool *placed, size_t i)
{
    uint64_t best = PLAN_ANY, best_room = UINT64_MAX;
    for (size_t k = 0; k <= n; k++) {
        uint64_t floor = k == n ? 0 : b[k].offset + b[k].size, ceiling = UINT64_MAX;
        bool wall = k == n || (placed[k] && together(&b[k], &b[i]));
        for (size_t q = 0; wall && q < n; q++) {
            if (!placed[q] || !together(&b[q], &b[i]) || b[q].offset + b[q].size <= floor)
                continue;
            wall = b[q].offset > floor; /* otherwise nothing is free there */
            ceiling = b[q].offset < ceiling ? b[q].offset : ceiling;
        }
        uint64_t at = (floor + b[i].align - 1) / b[i].align * b[i].align;
        if (!wall || (ceiling != UINT64_MAX && at + b[i].size > ceiling))
            continue;
        uint64_t room = ceiling - floor;
        if (room < best_room || (room == best_room && at < best)) {
            best_room = room;
            best = at;
        }
    }
    return best;
}

static bool sooner(const struct plan_buf *a, const struct plan_buf *b)
{
    if (a->size != b->size)
        return a->size > b->size;
    if (a->last - a->first != b->last - b->first)
        return a->last - a->first > b->last - b->first;
    return a->first < b->first;
}

static void check_plain_plan(struct plan_buf *b, size_t n)
{
    static struct plan_buf want[MAX_N * 2];
    bool placed[MAX_N * 2] = { false };
    memcpy(want, b, n * sizeof(*b));
    for (size_t round = 0; round < n; round++) {
        size_t next = n;
        for (size_t i = 0; i < n; i++)
            if (!placed[i] && (next == n || sooner(&want[i], &want[next])))
                next = i;
        want[next].offset = plain_gap(want, n, placed, next);
        placed[next] = true;
    }
    plan_greedy_by_size(b, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(b[i].offset, want[i].offset);
}

/* Lives of a few steps, of any length, mostly short, and one inside the other. */
static void random_life(struct plan_buf *b, uint32_t kind, uint32_t i, uint32_t steps)
{
    uint32_t length = steps - 2 * i;
    if (kind == 0)
        length = below(6);
    else if (kind < 3)
        length = below(steps) / (kind == 1 ? 1 : 1 + below(90));
    b->first = kind < 3 ? 70 + below(steps) : i;
    b->last = b->first + length;
}

/* Few, and enough for all that makes large plans quick. */
static void test_plain_plan(void **state)
{
    (void)state;
    static struct plan_buf b[MAX_N * 2];
    static const uint32_t aligns[] = { 1, 1, 64, 12 };
    seed = 7;
    for (uint32_t round = 0; round < 12; round++) {
        uint32_t n = round < 8 ? 100 + below(100) : 520 + below(200);
        for (uint32_t i = 0; i < n; i++) {
            b[i] = (struct plan_buf){ .size = 1 + below(round % 3 ? 1000 : 3), .fixed = PLAN_ANY };
            b[i].align = aligns[round % 2 ? below(4) : 0];
            random_life(&b[i], round % 4, i, 2 * n);
        }
        check_plain_plan(b, n);
    }
}

/* A pile with a single gap, wherever that is. */
static void test_one_gap(void **state)
{
    (void)state;
    enum { N = 300 };
    static struct plan_buf b[N + 1];
    for (uint32_t gap = 0; gap <= N; gap++) {
        for (uint32_t i = 0; i <= N; i++)
            b[i] = (struct plan_buf){ .size = 8, .align = 1, .last = 1, .fixed = 8 * (i + (i >= gap)) };
        b[N].fixed = PLAN_ANY;
        assert_int_equal(plan_greedy_by_size(b, N + 1), 8 * (N + 1));
        assert_int_equal(b[N].offset, 8 * gap);
    }
}

/* A plan whose buffers have moved is one; what may not move has not. */
static void test_settled(void **state)
{
    (void)state;
    static struct plan_buf b[MAX_N], was[MAX_N];
    seed = 11;
    for (int round = 0; round < 600; round++) {
        uint32_t n = round % 50 ? below(40) : below(MAX_N), n_move = n ? below(n + 1) : 0;
        random_problem(b, n, &shapes[round % SHAPES]);
        uint64_t total = solve(b, n, 300, 0).total, end = 0;
        memcpy(was, b, sizeof was);
        plan_settle(b, n_move, n, total);
        for (uint32_t i = 0; i < n; i++) {
            if (i >= n_move)
                assert_int_equal(b[i].offset, was[i].offset);
            end = b[i].offset + b[i].size > end ? b[i].offset + b[i].size : end;
        }
        assert_true(end <= total);
        check_plan(b, n, end);
    }
}

/* Bytes that lie in the other half than that of the buffer that was there last, over two runs. */
static uint64_t strangers(const struct plan_buf *b, uint32_t n, uint64_t total)
{
    uint8_t map[4096];
    uint64_t sum = 0;
    assert_true(total <= sizeof map);
    memset(map, 2, sizeof map);
    for (uint32_t i = 0; i < 2 * n; i++)
        for (uint64_t k = 0; k < b[i % n].size; k++) {
            uint8_t half = k >= b[i % n].size / 2, *at = &map[b[i % n].offset + k];
            sum += i >= n && *at != half;
            *at = half;
        }
    return sum;
}

/* Tensors of a network that becomes narrower, one after the other: each over the middle of the one before. */
static void test_settled_over_the_middle(void **state)
{
    (void)state;
    struct plan_buf b[] = { { .size = 1024, .align = 64, .first = 0, .last = 1, .fixed = PLAN_ANY },
                            { .size = 512, .align = 64, .first = 2, .last = 3, .fixed = PLAN_ANY },
                            { .size = 256, .align = 64, .first = 4, .last = 5, .fixed = PLAN_ANY } };
    assert_int_equal(strangers(b, 3, 1024), 256 + 384 + 128); /* all at the beginning */
    plan_settle(b, 3, 3, 1024);
    assert_int_equal(strangers(b, 3, 1024), 0);
    assert_int_equal(b[0].offset, 0);
    assert_int_equal(b[1].offset, 256);
    assert_int_equal(b[2].offset, 384);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),          cmocka_unit_test(test_tiny_optimum),
        cmocka_unit_test(test_deterministic),   cmocka_unit_test(test_anytime),
        cmocka_unit_test(test_perfect_packing), cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_edges),           cmocka_unit_test(test_huge),
        cmocka_unit_test(test_refused),         cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_settled),         cmocka_unit_test(test_settled_over_the_middle),
        cmocka_unit_test(test_plain_plan),      cmocka_unit_test(test_one_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
