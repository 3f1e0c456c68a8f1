/* SPDX-License-Identifier: Apache-2.0 */
/* What every order of jobs needs at least.
 *
 * While a job runs, whatever it touches is alive; so is every cell that one of its ancestors touches and one of its
 * descendants too, in any order:
 *
 *     a ── j ── d          cell x, made by a and read by d, is alive while j runs, though j does not touch it
 *      ╲__ x __╱
 *
 * The largest such sum over all jobs is a lower bound of the peak. */
#include "base/mem.h"
#include "prepare/plan_schedule.h"

enum { MAX_JOBS_WITH_ANCESTORS = 4096 }; /* the tables grow with the square */

struct bounds {
    const struct plan_jobs *p;
    uint32_t words;
    uint64_t *below, *above;   /* per job: bits of its descendants, of its ancestors */
    uint64_t *after, *before;  /* of one cell: jobs behind one of its jobs, jobs in front of one */
    uint64_t *need;            /* per job */
    uint32_t *list, *begin;    /* jobs that touch each cell */
};

static uint64_t *row(uint64_t *table, const struct bounds *b, uint32_t job)
{
    return table + (size_t)job * b->words;
}

static void add_row(uint64_t *to, const uint64_t *from, uint32_t words)
{
    for (uint32_t w = 0; w < words; w++)
        to[w] |= from[w];
}

static bool has(const uint64_t *bits, uint32_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void find_relatives(struct bounds *b)
{
    const struct plan_jobs *p = b->p;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        for (uint32_t i = 0; i < p->jobs[j].n_after; i++) {
            uint32_t a = p->jobs[j].after[i];
            add_row(row(b->above, b, j), row(b->above, b, a), b->words);
            row(b->above, b, j)[a / 64] |= 1ull << (a % 64);
        }
    for (uint32_t j = p->n_jobs; j-- > 0;)
        for (uint32_t i = 0; i < p->jobs[j].n_after; i++) {
            uint32_t a = p->jobs[j].after[i];
            add_row(row(b->below, b, a), row(b->below, b, j), b->words);
            row(b->below, b, a)[j / 64] |= 1ull << (j % 64);
        }
}

static void list_jobs(struct bounds *b)
{
    const struct plan_jobs *p = b->p;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        for (uint32_t i = 0; i < p->jobs[j].n_touch; i++)
            b->begin[p->jobs[j].touch[i] + 1]++;
    for (uint32_t c = 0; c < p->n_cells; c++)
        b->begin[c + 1] += b->begin[c];
    for (uint32_t j = p->n_jobs; j-- > 0;) /* backwards, so that the ends of the lists become their beginnings */
        for (uint32_t i = 0; i < p->jobs[j].n_touch; i++)
            b->list[--b->begin[p->jobs[j].touch[i] + 1]] = j;
    for (uint32_t c = 0; c < p->n_cells; c++)
        b->begin[c] = b->begin[c + 1];
    b->begin[p->n_cells] = 0;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        b->begin[p->n_cells] += p->jobs[j].n_touch;
}

/* Jobs that see cell c alive in every order, besides those that touch it. */
static void add_cell(struct bounds *b, uint32_t c)
{
    const struct plan_cell *cell = &b->p->cells[c];
    for (uint32_t w = 0; w < b->words; w++) {
        b->after[w] = cell->early ? UINT64_MAX : 0;
        b->before[w] = cell->late ? UINT64_MAX : 0;
    }
    for (uint32_t i = b->begin[c]; i < b->begin[c + 1]; i++) {
        uint32_t j = b->list[i];
        add_row(b->after, row(b->below, b, j), b->words);
        add_row(b->before, row(b->above, b, j), b->words);
    }
    for (uint32_t i = b->begin[c]; i < b->begin[c + 1]; i++) { /* counted already */
        uint32_t j = b->list[i];
        b->after[j / 64] &= ~(1ull << (j % 64));
    }
    for (uint32_t w = 0; w < b->words; w++)
        for (uint64_t left = b->after[w] & b->before[w]; left; left &= left - 1) {
            uint32_t j = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (j < b->p->n_jobs)
                b->need[j] += cell->bytes;
        }
}

/* Job j could lay what it makes over cell c in some order: nobody behind it touches c. */
static bool can_be_last(const struct bounds *b, uint32_t j, uint32_t c)
{
    if (b->p->cells[c].late)
        return false;
    for (uint32_t i = b->begin[c]; b->below && i < b->begin[c + 1]; i++)
        if (has(b->below + (size_t)j * b->words, b->list[i]))
            return false;
    return true;
}

static uint64_t own_need(const struct bounds *b, uint32_t j)
{
    const struct plan_job *job = &b->p->jobs[j];
    uint64_t need = job->work;
    for (uint32_t i = 0; i < job->n_touch; i++)
        need += b->p->cells[job->touch[i]].bytes;
    for (uint32_t i = 0; job->makes != PLAN_NO_CELL && i < job->n_over; i++)
        if (can_be_last(b, j, job->over[i]))
            return need - b->p->cells[job->makes].bytes;
    return need;
}

static void finish(struct bounds *b)
{
    mem_free(b->below);
    mem_free(b->above);
    mem_free(b->after);
    mem_free(b->before);
    mem_free(b->need);
    mem_free(b->list);
    mem_free(b->begin);
}

static enum status init(struct bounds *b, const struct plan_jobs *p)
{
    size_t touches = 0;
    for (uint32_t j = 0; j < p->n_jobs; j++)
        touches += p->jobs[j].n_touch;
    *b = (struct bounds){ .p = p, .words = (p->n_jobs + 63) / 64 };
    b->need = mem_array(uint64_t, p->n_jobs);
    b->list = mem_array(uint32_t, touches);
    b->begin = mem_array(uint32_t, (size_t)p->n_cells + 1);
    b->after = mem_array(uint64_t, b->words);
    b->before = mem_array(uint64_t, b->words);
    RETURN_IF(!b->need || !b->list || !b->begin || !b->after || !b->before, ST_NO_MEMORY, "order of %u operators: no memory",
              p->n_jobs);
    if (p->n_jobs > MAX_JOBS_WITH_ANCESTORS)
        return ST_OK;
    b->below = mem_array(uint64_t, (size_t)p->n_jobs * b->words);
    b->above = mem_array(uint64_t, (size_t)p->n_jobs * b->words);
    RETURN_IF(!b->below || !b->above, ST_NO_MEMORY, "order of %u operators: no memory", p->n_jobs);
    return ST_OK;
}

enum status plan_order_bound(const struct plan_jobs *p, uint64_t *ret)
{
    CLEANUP(finish) struct bounds b;
    TRY(init(&b, p));
    list_jobs(&b);
    if (b.below) {
        find_relatives(&b);
        for (uint32_t c = 0; c < p->n_cells; c++)
            if (p->cells[c].bytes)
                add_cell(&b, c);
    }
    uint64_t most = 0;
    for (uint32_t j = 0; j < p->n_jobs; j++) {
        uint64_t need = b.need[j] + own_need(&b, j);
        most = need > most ? need : most;
    }
    *ret = most;
    return ST_OK;
}
