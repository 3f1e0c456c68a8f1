/* SPDX-License-Identifier: Apache-2.0 */
/* Building the tables of the exact search, and its two moves: place a buffer, raise a buffer. See plan_exact.c.
 *
 * Sizes, aligns and fixed offsets are divided by their common unit. All plans that rest on the ground have offsets that are
 * multiples of it, so nothing is lost and a capacity just below a multiple is as good as the multiple before it. */
#include "prepare/plan_state.h"

#include "base/mem.h"

enum {
    MAX_LINKS = 1 << 24,   /* beyond this many overlapping pairs the tables are too big: heuristics only */
    REFUTED_MIN = 1 << 14, /* entries of the memory of refuted remainders, by problem size */
    REFUTED_MAX = 1 << 21,
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t hash_item(const struct plan_exact *x, uint32_t i)
{
    const struct plan_item *it = &x->item[i];
    return mix(x->low[i] * 2 + (it->flags & PLAN_RAISED) + ((uint64_t)it->kin + 1) * 0x9e3779b97f4a7c15u);
}

/* Room for one step is reserved before it begins, so this cannot fail. */
static void trail_push(struct plan_exact *x, enum plan_trail_kind kind, uint32_t index, uint64_t value, uint32_t extra)
{
    x->trail.at[x->trail.n++] = (struct plan_trail){ value, index, extra, kind };
}

static void set_low(struct plan_exact *x, uint32_t i, uint64_t low, uint32_t flags)
{
    struct plan_item *it = &x->item[i];
    trail_push(x, PLAN_TRAIL_LOW, i, x->low[i], it->flags);
    x->hash -= hash_item(x, i);
    x->low[i] = low;
    it->flags = flags;
    x->hash += hash_item(x, i);
}

/* Take buffer i out of its sections: it changes places with the last of those still there, so that putting buffers back
 * in reverse order only moves the end. Tells whether the sections fall apart somewhere in its span. */
static bool leave_sections(struct plan_exact *x, uint32_t i)
{
    const struct plan_item *it = &x->item[i];
    bool apart = false;
    for (uint32_t s = it->a; s < it->b; s++) {
        struct plan_section *sec = &x->section[s];
        uint32_t *mine = &x->seat[it->seats + (s - it->a)];
        uint32_t end = --sec->live_end, other = x->live[end];
        x->live[*mine] = other;
        x->live[end] = i;
        x->seat[x->item[other].seats + (s - x->item[other].a)] = *mine;
        *mine = end;
        sec->left -= it->size;
        sec->crossing -= s > it->a;
        apart |= sec->live == end || (s > it->a && sec->crossing == 0);
    }
    return apart;
}

static void return_to_sections(struct plan_exact *x, const struct plan_item *it)
{
    for (uint32_t s = it->a; s < it->b; s++) {
        x->section[s].live_end++;
        x->section[s].left += it->size;
        x->section[s].crossing += s > it->a;
    }
}

void plan_state_undo(struct plan_exact *x, size_t mark)
{
    while (x->trail.n > mark) {
        const struct plan_trail *t = &x->trail.at[--x->trail.n];
        uint32_t i = t->index;
        if (t->kind == PLAN_TRAIL_FLOOR) {
            x->section[i].floor = t->value;
            x->section[i].lowest = t->extra;
        } else if (t->kind == PLAN_TRAIL_LOW) {
            x->hash -= hash_item(x, i);
            x->low[i] = t->value;
            x->item[i].flags = t->extra;
            x->hash += hash_item(x, i);
        } else {
            x->item[i].flags &= ~PLAN_PLACED;
            x->hash += hash_item(x, i);
            return_to_sections(x, &x->item[i]);
        }
    }
}

/* Find the floors of sections [lo, hi) anew; false when one cannot hold what is left. */
static bool settle(struct plan_exact *x, uint32_t lo, uint32_t hi)
{
    for (uint32_t s = lo; s < hi; s++) {
        struct plan_section *sec = &x->section[s];
        uint64_t floor = UINT64_MAX;
        uint32_t lowest = 0;
        if (sec->live == sec->live_end)
            continue;
        for (uint32_t k = sec->live; k < sec->live_end; k++) {
            uint64_t low = x->low[x->live[k]];
            if (low > floor)
                continue;
            lowest = low == floor ? lowest + 1 : 1;
            floor = low;
        }
        if (floor != sec->floor || lowest != sec->lowest) {
            trail_push(x, PLAN_TRAIL_FLOOR, s, sec->floor, sec->lowest);
            sec->floor = floor;
            sec->lowest = lowest;
        }
        if (floor > x->capacity || sec->left > x->capacity - floor)
            return false;
    }
    return true;
}

static bool reserve_step(struct plan_exact *x)
{
    if (vec_reserve(&x->trail, x->trail.n + x->n + x->m + 2))
        return true;
    x->no_memory = true;
    return false;
}

/* Put buffer i at its lowest offset. *apart: the side falls into several. */
bool plan_state_place(struct plan_exact *x, uint32_t i, bool *apart)
{
    struct plan_item *it = &x->item[i];
    uint64_t top = x->low[i] + it->size;
    uint32_t lo = it->a, hi = it->b;
    if (!reserve_step(x))
        return false;
    trail_push(x, PLAN_TRAIL_PLACE, i, 0, 0);
    x->hash -= hash_item(x, i);
    it->flags |= PLAN_PLACED;
    *apart = leave_sections(x, i);
    for (uint32_t k = it->links; k < it->links_end; k++) {
        uint32_t j = x->link[k];
        const struct plan_item *o = &x->item[j];
        if ((o->flags & PLAN_PLACED) || (x->low[j] >= top && !(o->flags & PLAN_RAISED)))
            continue;
        uint64_t low = x->low[j] < top ? plan_align_up(top, o->align) : x->low[j];
        if ((o->flags & PLAN_FIXED) || low > x->capacity || o->size > x->capacity - low)
            return false;
        set_low(x, j, low, o->flags & ~PLAN_RAISED);
        lo = o->a < lo ? o->a : lo;
        hi = o->b > hi ? o->b : hi;
    }
    return settle(x, lo, hi);
}

/* Buffer i does not lie at its lowest offset, so it will lie above something unplaced. If all of that lay within i's own
 * lifetime, i could as well go to the bottom and the rest move up by its size (where no alignment or fixed offset objects):
 *
 *       |  i  |             | q | p |
 *       | q | p |    ->     |   i   |      and i at the bottom is refuted already
 *
 * So what counts is the least top among those that reach beyond i. */
bool plan_state_raise(struct plan_exact *x, uint32_t i)
{
    const struct plan_item *it = &x->item[i];
    uint64_t top = UINT64_MAX;
    if ((it->flags & PLAN_FIXED) || !reserve_step(x))
        return false;
    for (uint32_t k = it->links; k < it->links_end; k++) {
        uint32_t j = x->link[k];
        const struct plan_item *o = &x->item[j];
        bool inside = x->movable && o->a >= it->a && o->b <= it->b;
        if (!(o->flags & PLAN_PLACED) && !inside && x->low[j] + o->size < top)
            top = x->low[j] + o->size;
    }
    if (top > x->capacity)
        return false;
    uint64_t low = plan_align_up(top, it->align);
    if (low > x->capacity || it->size > x->capacity - low)
        return false;
    set_low(x, i, low, it->flags | PLAN_RAISED);
    return settle(x, it->a, it->b);
}

uint64_t plan_state_hash_side(const struct plan_exact *x, uint32_t lo, uint32_t hi)
{
    uint64_t h = 0;
    for (uint32_t s = lo; s < hi; s++)
        for (uint32_t k = x->section[s].live; k < x->section[s].live_end; k++)
            if (x->item[x->live[k]].a == s)
                h += hash_item(x, x->live[k]);
    return h;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The largest number that divides every size and fixed offset and that aligning respects: for each align, one divides the
 * other. Shrinking for one align may disturb another, hence the repetition. */
static uint64_t common_unit(const struct plan_buf *b, uint32_t n)
{
    uint64_t unit = 0, before;
    for (uint32_t i = 0; i < n; i++) {
        unit = gcd(unit, b[i].size);
        if (b[i].fixed != PLAN_ANY)
            unit = gcd(unit, b[i].fixed);
    }
    do {
        before = unit;
        for (uint32_t i = 0; i < n; i++)
            if (unit % b[i].align)
                unit = gcd(unit, b[i].align);
    } while (unit != before);
    return unit;
}

static bool same_kind(const struct plan_item *p, const struct plan_item *q)
{
    return p->size == q->size && p->align == q->align && p->a == q->a && p->b == q->b && p->flags == q->flags;
}

static void fill_items(struct plan_exact *x, const struct plan_buf *b)
{
    x->movable = true;
    for (uint32_t i = 0; i < x->n; i++) {
        struct plan_item *it = &x->item[i];
        bool fixed = b[i].fixed != PLAN_ANY;
        *it = (struct plan_item){ .size = b[i].size / x->unit, .align = b[i].align > x->unit ? b[i].align / x->unit : 1,
                                  .a = x->sections.a[i], .b = x->sections.b[i], .kin = i,
                                  .flags = fixed ? PLAN_FIXED : 0 };
        x->movable &= !fixed && it->align == 1;
        /* buffers come sorted by first step, so those of the same section are neighbours */
        for (uint32_t k = i; !fixed && k-- > 0 && x->item[k].a == it->a;)
            if (same_kind(&x->item[k], it)) {
                it->kin = x->item[k].kin;
                break;
            }
        x->home[i] = fixed ? b[i].fixed / x->unit : 0;
    }
}

/* i overlaps all alive in its first section and all that start later inside its span; buffers come sorted by first step, so
 * those are neighbours. */
static size_t link_item(const struct plan_exact *x, uint32_t i, uint32_t next, uint32_t *to)
{
    const struct plan_item *it = &x->item[i];
    const struct plan_section *s = &x->section[it->a];
    size_t n = 0;
    for (uint32_t k = s->live; k < s->live_end; k++)
        if (x->live[k] != i) {
            if (to)
                to[n] = x->live[k];
            n++;
        }
    for (uint32_t j = next; j < x->n && x->item[j].a < it->b; j++, n++)
        if (to)
            to[n] = j;
    return n;
}

static enum status link_items(struct plan_exact *x, bool *too_big)
{
    for (int fill = 0; fill < 2; fill++) {
        size_t links = 0;
        uint32_t next = 0; /* the first that starts in a later section */
        for (uint32_t i = 0; i < x->n; i++) {
            while (next < x->n && x->item[next].a <= x->item[i].a)
                next++;
            x->item[i].links = (uint32_t)links;
            links += link_item(x, i, next, fill ? x->link + links : NULL);
            x->item[i].links_end = (uint32_t)links;
            *too_big |= links > MAX_LINKS;
            if (*too_big)
                return ST_OK;
        }
        if (!fill)
            x->link = mem_array(uint32_t, links);
        RETURN_IF(!x->link, ST_NO_MEMORY, "memory plan: tables of the search");
    }
    return ST_OK;
}

/* Who is alive in each section, and who overlaps whom. Sets *too_big instead of filling x->link beyond MAX_LINKS. */
static enum status fill_links(struct plan_exact *x, bool *too_big)
{
    size_t lives = 0;
    for (uint32_t i = 0; i < x->n; i++)
        lives += x->item[i].b - x->item[i].a;
    *too_big = lives > MAX_LINKS;
    if (*too_big)
        return ST_OK;
    x->live = mem_array(uint32_t, lives);
    x->seat = mem_array(uint32_t, lives);
    RETURN_IF(!x->live || !x->seat, ST_NO_MEMORY, "memory plan: tables of the search");
    for (uint32_t i = 0; i < x->n; i++)
        for (uint32_t s = x->item[i].a; s < x->item[i].b; s++)
            x->section[s].live_end++;
    for (uint32_t s = 0, at = 0; s < x->m; s++) {
        uint32_t len = x->section[s].live_end;
        x->section[s].live = x->section[s].live_end = at;
        at += len;
    }
    for (uint32_t i = 0, seat = 0; i < x->n; i++) {
        x->item[i].seats = seat;
        for (uint32_t s = x->item[i].a; s < x->item[i].b; s++) {
            x->seat[seat++] = x->section[s].live_end;
            x->live[x->section[s].live_end++] = i;
        }
    }
    return link_items(x, too_big);
}

bool plan_state_reset(struct plan_exact *x)
{
    plan_state_undo(x, 0);
    x->hash = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        x->item[i].flags &= PLAN_FIXED;
        x->low[i] = x->home[i];
        x->hash += hash_item(x, i);
    }
    return reserve_step(x) && settle(x, 0, x->m);
}

void plan_exact_free(struct plan_exact *x)
{
    if (!x)
        return;
    plan_sections_finish(&x->sections);
    vec_finish(&x->trail);
    mem_free(x->item);
    mem_free(x->section);
    mem_free(x->link);
    mem_free(x->live);
    mem_free(x->seat);
    mem_free(x->low);
    mem_free(x->home);
    mem_free(x->stack);
    mem_free(x->refuted);
    mem_free(x);
}

static enum status build(struct plan_exact *x, const struct plan_buf *b, uint32_t n, bool *too_big)
{
    TRY(plan_sections_build(b, n, &x->sections));
    x->n = n;
    x->m = x->sections.count;
    x->unit = common_unit(b, n);
    x->item = mem_array(struct plan_item, n);
    x->low = mem_array(uint64_t, n);
    x->home = mem_array(uint64_t, n);
    x->section = mem_array(struct plan_section, x->m);
    x->stack = mem_array(struct plan_frame, (size_t)n + 2);
    RETURN_IF(!x->item || !x->low || !x->home || !x->section || !x->stack, ST_NO_MEMORY,
              "memory plan: search over %u buffers", n);
    fill_items(x, b);
    TRY(fill_links(x, too_big));
    if (*too_big)
        return ST_OK;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = x->item[i].a; k < x->item[i].b; k++) {
            x->section[k].left += x->item[i].size;
            x->section[k].crossing += k > x->item[i].a;
        }
    uint64_t entries = REFUTED_MIN;
    while (entries < REFUTED_MAX && entries < (uint64_t)n << 13)
        entries *= 2;
    x->refuted_mask = entries - 1;
    x->refuted = mem_array(uint64_t, entries);
    RETURN_IF(!x->refuted, ST_NO_MEMORY, "memory plan: search over %u buffers", n);
    return ST_OK;
}

enum status plan_exact_new(const struct plan_buf *b, uint32_t n, struct plan_exact **ret)
{
    struct plan_exact *x = mem_new(struct plan_exact);
    RETURN_IF(!x, ST_NO_MEMORY, "memory plan: search over %u buffers", n);
    bool too_big = false;
    enum status st = build(x, b, n, &too_big);
    if (st != ST_OK || too_big) {
        plan_exact_free(x);
        x = NULL;
    }
    if (st == ST_OK)
        *ret = x;
    return st;
}

uint64_t plan_exact_unit(const struct plan_exact *x)
{
    return x->unit;
}

const struct plan_sections *plan_exact_sections(const struct plan_exact *x)
{
    return &x->sections;
}

uint64_t plan_exact_read(const struct plan_exact *x, struct plan_buf *b)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        b[i].offset = x->low[i] * x->unit;
        if (b[i].offset + b[i].size > total)
            total = b[i].offset + b[i].size;
    }
    return total;
}
