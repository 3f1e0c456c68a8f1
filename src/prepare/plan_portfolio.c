/* SPDX-License-Identifier: Apache-2.0 */
/* Which capacities to ask the exact search for, and in which orders.
 *
 * A depth-first search that starts badly rarely recovers, while another order of buffers often runs straight to a plan. So
 * there are many short attempts: rounds over a few orders (by area, lifetime, size ...), each round a little longer than
 * the one before, and from the second on with the keys shaken by pseudo-random factors (a fixed seed: same input, same
 * plan).
 *
 * Most rounds ask for the goal itself (the lower bound, or the client's capacity). Every few rounds one asks for something
 * easier, between the goal and the best plan so far, so that there is progress at any deadline:
 *
 *     goal |------------------x---------x----x----| best   by turns; each success brings the best plan down
 *                            1/2       3/4  7/8
 *
 * A refuted capacity raises the lower bound; when it meets the best plan, that is optimal. */
#include "prepare/plan.h"

#include "base/clock.h"
#include "base/mem.h"

enum {
    FIRST_NODES = 500,     /* steps of an attempt in the first round; each round is a tenth longer */
    NODES_PER_BUFFER = 2,  /* and as many more for each buffer */
    EASIER_EVERY = 3,      /* every third round, the second first, asks for easier capacities */
    EASIER_FIRST = 1500,   /* with more buffers than this, where an attempt takes long, the first round does already */
    LOWEST_EVERY = 4,      /* every fourth uses the other rule for valleys */
};
#define SHAKE 3.5          /* keys are multiplied by 1/4.5 ... 4.5 */

struct buffer_facts {
    double size, steps, sections, load; /* load: bytes alive in its fullest section, relative to the fullest of all */
};
typedef double (*order_key)(const struct buffer_facts *f);

static double by_area(const struct buffer_facts *f)
{
    return f->steps * f->size;
}

static double by_steps(const struct buffer_facts *f)
{
    return f->steps;
}

static double by_load_then_area(const struct buffer_facts *f)
{
    return f->load * 0x1p60 + f->steps * f->size * 0x1p-20;
}

static double by_size(const struct buffer_facts *f)
{
    return f->size;
}

static double by_load_then_steps(const struct buffer_facts *f)
{
    return f->load * 0x1p60 + f->steps;
}

static double by_sections(const struct buffer_facts *f)
{
    return f->sections;
}

static const order_key orders[] = { by_area, by_steps, by_load_then_area, by_size, by_load_then_steps, by_sections };
enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };

struct portfolio {
    struct plan_buf *b;
    uint32_t n;
    struct plan_exact *exact;
    struct plan_budget *budget;
    struct buffer_facts *facts;
    double *key;
    uint64_t random;
    double stride;                 /* part of the way from the best plan to the goal that an easier aim takes */
    uint64_t unit, *total, *lower; /* best plan, proven bound */
};

/* Uniform in [0, 1). */
static double next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1p-53;
}

static void collect_facts(struct portfolio *p)
{
    const struct plan_sections *s = plan_exact_sections(p->exact);
    double fullest = 1;
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t load = 0;
        for (uint32_t k = s->a[i]; k < s->b[i]; k++)
            load = s->load[k] > load ? s->load[k] : load;
        p->facts[i] = (struct buffer_facts){ .size = (double)p->b[i].size, .load = (double)load,
                                             .steps = (double)p->b[i].last - (double)p->b[i].first + 1,
                                             .sections = s->b[i] - s->a[i] };
        fullest = (double)load > fullest ? (double)load : fullest;
    }
    for (uint32_t i = 0; i < p->n; i++)
        p->facts[i].load /= fullest;
}

static void make_keys(struct portfolio *p, order_key order, bool shaken)
{
    for (uint32_t i = 0; i < p->n; i++) {
        double r = shaken ? next_random(&p->random) : 0.5;
        p->key[i] = order(&p->facts[i]) * ((1 + SHAKE * r) / (1 + SHAKE * (1 - r)));
    }
}

static bool budget_left(const struct plan_budget *b)
{
    return b->nodes < b->max_nodes && (b->until_ns == PLAN_FOREVER || clock_ns() < b->until_ns);
}

/* One attempt; takes over what it found or proved. */
static enum plan_answer attempt(struct portfolio *p, const struct plan_try *t)
{
    enum plan_answer answer = plan_exact_try(p->exact, t, p->budget);
    if (answer == PLAN_FOUND)
        *p->total = plan_exact_read(p->exact, p->b);
    else if (answer == PLAN_REFUTED && *p->lower <= t->capacity)
        *p->lower = t->capacity - t->capacity % p->unit + p->unit; /* totals are multiples of the unit */
    return answer;
}

/* One round over all orders; an easier round uses both rules by turns. */
static enum status one_round(struct portfolio *p, uint64_t goal, uint32_t round, uint64_t nodes)
{
    bool easier = (round + (p->n > EASIER_FIRST)) % EASIER_EVERY == 1;
    for (uint32_t k = 0; k < ORDERS && budget_left(p->budget); k++) {
        uint64_t aim = goal > *p->lower ? goal : *p->lower, below = *p->total - 1;
        if (aim > below)
            return ST_OK;
        if (easier)
            aim = below - (uint64_t)((double)(below - aim) * p->stride);
        bool lowest = easier ? k % 2 : round % LOWEST_EVERY == LOWEST_EVERY - 1;
        make_keys(p, orders[k], round > 0);
        struct plan_try t = { .capacity = aim, .key = p->key, .nodes = nodes,
                              .rule = lowest ? PLAN_LOWEST_FIRST : PLAN_FEWEST_CHOICES };
        enum plan_answer answer = attempt(p, &t);
        if (easier)
            p->stride = answer == PLAN_FOUND ? (p->stride * 1.5 < 0.9 ? p->stride * 1.5 : 0.9)
                                             : (p->stride > 0.03 ? p->stride * 0.6 : 0.03);
        RETURN_IF(answer == PLAN_OUT_OF_MEMORY, ST_NO_MEMORY, "memory plan: search over %u buffers", p->n);
    }
    return ST_OK;
}

static enum status rounds(struct portfolio *p, struct plan_part *part, uint64_t goal)
{
    if (!part->round_nodes)
        part->round_nodes = FIRST_NODES + (uint64_t)NODES_PER_BUFFER * p->n;
    for (; budget_left(p->budget) && *p->total > goal && *p->total > *p->lower; part->round++) {
        TRY(one_round(p, goal, part->round, part->round_nodes));
        if (part->round_nodes < UINT64_MAX / 2)
            part->round_nodes += part->round_nodes / 10;
    }
    return ST_OK;
}

enum status plan_improve(struct plan_part *part, uint64_t goal, struct plan_budget *budget)
{
    struct portfolio p = { .b = part->b,
                           .n = part->n,
                           .budget = budget,
                           .random = part->random ? part->random : 0x2545f4914f6cdd1du,
                           .stride = 0.5,
                           .total = &part->total,
                           .lower = &part->lower };
    TRY(plan_exact_new(p.b, p.n, &p.exact));
    if (!p.exact) /* too large for its tables: the greedy plan stands */
        return ST_OK;
    p.unit = plan_exact_unit(p.exact);
    p.facts = mem_array(struct buffer_facts, p.n);
    p.key = mem_array(double, p.n);
    enum status st = ST_NO_MEMORY;
    if (p.facts && p.key) {
        collect_facts(&p);
        st = rounds(&p, part, goal);
    } else {
        status_fail(st, "memory plan: search over %u buffers", p.n);
    }
    part->random = p.random;
    mem_free(p.facts);
    mem_free(p.key);
    plan_exact_free(p.exact);
    return st;
}
