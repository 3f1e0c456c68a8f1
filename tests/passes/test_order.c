/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of operators. The peak of an order is worked out here anew, step by step from the definition (first and last use of
 * every cell, then a sum over what is alive), and the optimum of small problems by trying every order there is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "prepare/plan_schedule.h"
#include "test_scale.h"

enum { MAX_JOBS = 600, MAX_CELLS = 700, SMALL = 9, PROBLEMS = 3000, PORTS = 5 };

static uint64_t seed;

static uint32_t below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((seed >> 33) % n);
}

/* Room for one problem: each job makes one cell and reads cells of earlier jobs, or cells that are there from
 * the beginning. */
static struct plan_cell cells[MAX_CELLS];
static struct plan_job jobs[MAX_JOBS];
static uint32_t touch[MAX_JOBS][PORTS], after[MAX_JOBS][PORTS], over[MAX_JOBS][PORTS];
static struct plan_jobs problem = { .cells = cells, .jobs = jobs };

static void use(uint32_t j, uint32_t cell)
{
    for (uint32_t i = 0; i < jobs[j].n_touch; i++)
        if (touch[j][i] == cell)
            return;
    touch[j][jobs[j].n_touch++] = cell;
}

/* `reach`: how far back a job looks for its inputs; a small one makes long chains, a large one many branches. */
static void make_problem(uint32_t n, uint32_t inputs, uint32_t reach)
{
    problem.n_jobs = n;
    problem.n_cells = n + inputs;
    for (uint32_t c = 0; c < problem.n_cells; c++)
        cells[c] = (struct plan_cell){ .bytes = 64 * (uint64_t)below(below(3) ? 6 : 40), .late = c < n && below(8) == 0 };
    for (uint32_t j = 0; j < n; j++) {
        jobs[j] = (struct plan_job){ .work = below(3) ? 0 : 64 * (uint64_t)below(8),
                                     .touch = touch[j],
                                     .after = after[j],
                                     .over = over[j],
                                     .makes = PLAN_NO_CELL };
        for (uint32_t i = 1 + below(3); i > 0; i--) {
            uint32_t back = 1 + below(reach), from = back > j ? n + below(inputs) : j - back;
            use(j, from);
            cells[from].early |= from >= n;
            if (from < n)
                after[j][jobs[j].n_after++] = from;
        }
        if (below(3) == 0) { /* element-wise: the first input may be replaced */
            uint32_t first = touch[j][0];
            cells[j].bytes = cells[first].bytes;
            over[j][jobs[j].n_over++] = first;
            jobs[j].makes = j;
        }
        use(j, j);
    }
}

/* The definition. */
static uint64_t peak_of(const uint32_t *order)
{
    static uint32_t first[MAX_CELLS], last[MAX_CELLS];
    uint64_t most = 0;
    for (uint32_t c = 0; c < problem.n_cells; c++)
        first[c] = cells[c].early ? 0 : UINT32_MAX, last[c] = 0;
    for (uint32_t k = 0; k < problem.n_jobs; k++)
        for (uint32_t i = 0; i < jobs[order[k]].n_touch; i++) {
            uint32_t c = jobs[order[k]].touch[i];
            first[c] = k < first[c] ? k : first[c];
            last[c] = k;
        }
    for (uint32_t k = 0; k < problem.n_jobs; k++) {
        const struct plan_job *j = &jobs[order[k]];
        uint64_t sum = j->work;
        bool replaced = false;
        for (uint32_t c = 0; c < problem.n_cells; c++)
            if (first[c] != UINT32_MAX && first[c] <= k && (cells[c].late || last[c] >= k))
                sum += cells[c].bytes;
        for (uint32_t i = 0; i < j->n_over; i++)
            replaced |= last[j->over[i]] == k && !cells[j->over[i]].late;
        sum -= replaced ? cells[j->makes].bytes : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

static void assert_valid(const uint32_t *order)
{
    static uint32_t at[MAX_JOBS];
    memset(at, 0xff, sizeof(at));
    for (uint32_t k = 0; k < problem.n_jobs; k++) {
        assert_true(order[k] < problem.n_jobs);
        assert_int_equal(at[order[k]], UINT32_MAX);
        at[order[k]] = k;
    }
    for (uint32_t j = 0; j < problem.n_jobs; j++)
        for (uint32_t i = 0; i < jobs[j].n_after; i++)
            assert_true(at[jobs[j].after[i]] < at[j]);
}

static uint64_t best_of_all(uint32_t *order, uint32_t n, uint32_t done)
{
    uint64_t best = UINT64_MAX;
    if (n == problem.n_jobs)
        return peak_of(order);
    for (uint32_t j = 0; j < problem.n_jobs; j++) {
        bool ready = !(done >> j & 1);
        for (uint32_t i = 0; i < jobs[j].n_after; i++)
            ready &= done >> jobs[j].after[i] & 1;
        if (!ready)
            continue;
        order[n] = j;
        uint64_t peak = best_of_all(order, n + 1, done | 1u << j);
        best = peak < best ? peak : best;
    }
    return best;
}

static uint64_t peak_as_given(void)
{
    static uint32_t order[MAX_JOBS];
    for (uint32_t j = 0; j < problem.n_jobs; j++)
        order[j] = j;
    return peak_of(order);
}

static void small_problems_are_solved(void **state)
{
    (void)state;
    unsigned better = 0, count = test_scale(PROBLEMS);
    seed = 7;
    for (unsigned k = 0; k < count; k++) {
        uint32_t order[SMALL], all[SMALL];
        struct plan_order_result r;
        make_problem(1 + below(below(20) ? SMALL - 1 : SMALL), 1 + below(3), 1 + below(6));
        assert_int_equal(plan_schedule(&problem, 10000000, order, &r), ST_OK);
        assert_valid(order);
        assert_int_equal(r.peak, peak_of(order));
        assert_int_equal(r.given, peak_as_given());
        assert_int_equal(r.peak, best_of_all(all, 0, 0));
        assert_int_equal(r.lower_bound, r.peak);
        better += r.peak < r.given;
    }
    assert_true(better > count / 20); /* the problems are worth solving */
}

static void bounds_hold(void **state)
{
    (void)state;
    seed = 11;
    for (unsigned k = 0, count = test_scale(PROBLEMS); k < count; k++) {
        uint32_t all[SMALL];
        uint64_t bound;
        make_problem(1 + below(SMALL - 2), 1 + below(3), 1 + below(6));
        assert_int_equal(plan_order_bound(&problem, &bound), ST_OK);
        assert_true(bound <= best_of_all(all, 0, 0));
    }
}

/* Any number of steps, however few: a valid order, never worse than the given one, and the same every time. */
static void never_worse(void **state)
{
    (void)state;
    static uint32_t order[MAX_JOBS], again[MAX_JOBS];
    static const uint64_t budgets[] = { 0, 1, 100, 5000, 200000 };
    seed = 3;
    for (unsigned k = 0, count = test_scale(100); k < count; k++) {
        uint64_t last = UINT64_MAX;
        make_problem(10 + below(MAX_JOBS - 10), 1 + below(4), 1 + below(30));
        for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++) {
            struct plan_order_result r, q;
            assert_int_equal(plan_schedule(&problem, budgets[i], order, &r), ST_OK);
            assert_int_equal(plan_schedule(&problem, budgets[i], again, &q), ST_OK);
            assert_memory_equal(order, again, problem.n_jobs * sizeof(order[0]));
            assert_valid(order);
            assert_int_equal(r.given, peak_as_given());
            assert_int_equal(r.peak, peak_of(order));
            assert_true(r.peak <= r.given && r.lower_bound <= r.peak);
            last = i == 0 ? r.peak : last;
            assert_true(r.peak <= last);
        }
    }
}

static void nothing_to_do(void **state)
{
    (void)state;
    struct plan_order_result r;
    uint32_t order[1] = { 5 };
    problem.n_jobs = problem.n_cells = 0;
    assert_int_equal(plan_schedule(&problem, 1000, order, &r), ST_OK);
    assert_int_equal(r.peak, 0);
    assert_int_equal(order[0], 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_problems_are_solved),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(never_worse),
        cmocka_unit_test(nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
