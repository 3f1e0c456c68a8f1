/* SPDX-License-Identifier: Apache-2.0 */
/* A graph written as text, prepared with nothing but what gives addresses, for tests of estimates: the operators stay as
 * they are written. */
#ifndef TESTS_PASSES_COST_MADE_H
#define TESTS_PASSES_COST_MADE_H

#include "prepare/cost.h"
#include "prepare/prepare.h"

struct made {
    struct binary_image im;
    struct binary b;
    const struct binary_graph *g;
};

static inline struct made made_by(const char *text, const struct prepare_target *t)
{
    struct prepare_opts o = { .opt_level = 2 };
    struct ir_graph *g;
    struct made m = { 0 };
    if (ir_parse(text, strlen(text), &g) != ST_OK || prepare(t, &o, g, &m.im) != ST_OK)
        fail_msg("%s", status_text());
    assert_int_equal(binary_open(m.im.data, m.im.size, &m.b), ST_OK);
    ir_graph_free(g);
    m.g = &m.b.graphs[0];
    return m;
}

/* `rates` or `device` may be NULL, or both. */
static inline struct made made_of(const char *text, const struct cost_rates *rates, const struct cost_device *device)
{
    static const struct pass passes[] = { { "order", plan_order }, { "plan", plan_memory }, { "emit", emit_commands }, {} };
    struct prepare_target t = {
        .passes = passes, .tensor_align = 64, .max_tiles = 4, .plan_nodes = 1000, .cost = rates, .device = device
    };
    return made_by(text, &t);
}

/* In a window of the device's size, without chains. */
static inline struct made made_in(const char *text, const struct cost_device *device)
{
    static const struct pass passes[] = {
        { "order", plan_order }, { "vtcm", tile_vtcm }, { "plan", plan_memory }, { "emit", emit_commands }, {}
    };
    struct prepare_target t = { .passes = passes,
                                .tensor_align = 64,
                                .max_tiles = 16,
                                .plan_nodes = 1000,
                                .vtcm_bytes = device->vtcm_bytes,
                                .device = device };
    return made_by(text, &t);
}

static inline void unmake(struct made *m)
{
    binary_close(&m->b);
    binary_image_free(&m->im);
}

#endif
