/* SPDX-License-Identifier: Apache-2.0 */
/* Joins and splits of more tensors than a node takes, in parts.
 *
 *     Concat(130 tensors)   ->   Concat(Concat(64), Concat(64), Concat(2))
 *     Pack(130 tensors)     ->   Concat(Pack(64), Pack(64), Pack(2))
 *     Split, UnPack         ->   Split into groups of 64, then each group
 *
 * Tensors between the parts have the encoding of the joined tensor, so that values are converted once, as one node would. */
#include "convert/builder_wide.h"

#include <string.h>

static const struct op_value *param(const struct build_spec *s, const char *name)
{
    for (uint32_t i = 0; i < 14 && s->params[i].name; i++)
        if (!strcmp(s->params[i].name, name))
            return &s->params[i].v;
    return NULL;
}

static uint32_t first_u32(const struct op_value *v)
{
    return v && v->count && v->type == DT_U32 ? *(const uint32_t *)v->data : 0;
}

static uint32_t group_size(uint32_t n, uint32_t group)
{
    uint32_t left = n - group * MAX_PORTS;
    return left < MAX_PORTS ? left : MAX_PORTS;
}

static enum status no_memory(const struct build_spec *s)
{
    return status_fail(ST_NO_MEMORY, "no memory for %s \"%s\"", s->op, s->name);
}

bool build_is_wide(const struct build_spec *s)
{
    bool joins = !strcmp(s->op, "Concat") || !strcmp(s->op, "Pack"),
         splits = !strcmp(s->op, "Split") || !strcmp(s->op, "UnPack");
    return (joins && s->n_in > MAX_PORTS) || (splits && s->n_out > MAX_PORTS);
}

static enum status wide_join(struct builder *b, const struct build_spec *s, uint32_t *ret)
{
    uint32_t axis = first_u32(param(s, "axis")), groups = (s->n_in + MAX_PORTS - 1) / MAX_PORTS;
    uint32_t *part = arena_array(&b->g->arena, uint32_t, groups);
    const char *name = arena_printf(&b->g->arena, "%s_part", s->name);
    if (!part || !name)
        return no_memory(s);
    for (uint32_t i = 0; i < groups; i++)
        TRY(build_node(b,
                       &(struct build_spec){ .op = s->op,
                                             .name = name,
                                             .in = s->in + i * MAX_PORTS,
                                             .n_in = group_size(s->n_in, i),
                                             .out = s->out,
                                             .params = { BUILD_U32("axis", axis) } },
                       &part[i]));
    return build_node(b,
                      &(struct build_spec){ .op = "Concat",
                                            .name = s->name,
                                            .in = part,
                                            .n_in = groups,
                                            .out = s->out,
                                            .params = { BUILD_U32("axis", axis) } },
                      ret);
}

/* Where the slices begin, in elements, and where the last ends. */
static enum status slice_begins(struct builder *b, const struct build_spec *s, const uint32_t **ret)
{
    const struct op_value *at = param(s, "split_index");
    const struct tensor_desc *x = build_desc(b, s->in[0]);
    uint32_t axis = first_u32(param(s, "axis")), *begin = arena_array(&b->g->arena, uint32_t, s->n_out + 1);
    if (!begin)
        return no_memory(s);
    RETURN_IF(axis >= x->rank, ST_INVALID_OP, "%s \"%s\": axis %u of an input of rank %u", s->op, s->name, axis, x->rank);
    bool even = !strcmp(s->op, "UnPack");
    RETURN_IF(even ? x->dims[axis] != s->n_out : !at || at->count + 1 != s->n_out, ST_INVALID_OP,
              "%s \"%s\": %u outputs do not fit what is split", s->op, s->name, s->n_out);
    for (uint32_t i = 1; i < s->n_out; i++)
        begin[i] = even ? i : ((const uint32_t *)at->data)[i - 1];
    begin[s->n_out] = x->dims[axis];
    *ret = begin;
    return ST_OK;
}

static enum status split_group(struct builder *b, const struct build_spec *s, const uint32_t *begin, uint32_t first,
                               uint32_t x, uint32_t *ret)
{
    uint32_t axis = first_u32(param(s, "axis")), n = group_size(s->n_out, first / MAX_PORTS), at[MAX_PORTS];
    const struct tensor_desc *out = s->out ? s->out + first : NULL;
    for (uint32_t i = 1; i < n; i++)
        at[i - 1] = begin[first + i] - begin[first];
    if (!strcmp(s->op, "UnPack"))
        return build_node(b,
                          &(struct build_spec){ .op = "UnPack",
                                                .name = s->name,
                                                BUILD_IN(x),
                                                .n_out = n,
                                                .out = out,
                                                .params = { BUILD_U32("axis", axis) } },
                          ret + first);
    ret[first] = x;
    if (n == 1)
        return ST_OK;
    return build_node(b,
                      &(struct build_spec){ .op = "Split",
                                            .name = s->name,
                                            BUILD_IN(x),
                                            .n_out = n,
                                            .out = out,
                                            .params = { BUILD_U32("axis", axis), BUILD_U32S("split_index", n - 1, at) } },
                      ret + first);
}

static enum status wide_split(struct builder *b, const struct build_spec *s, uint32_t *ret)
{
    const uint32_t *begin;
    uint32_t axis = first_u32(param(s, "axis")), groups = (s->n_out + MAX_PORTS - 1) / MAX_PORTS;
    TRY(slice_begins(b, s, &begin));
    uint32_t *part = arena_array(&b->g->arena, uint32_t, groups), *at = arena_array(&b->g->arena, uint32_t, groups);
    const char *name = arena_printf(&b->g->arena, "%s_part", s->name);
    if (!part || !at || !name)
        return no_memory(s);
    for (uint32_t i = 1; i < groups; i++)
        at[i - 1] = begin[i * MAX_PORTS];
    TRY(build_node(b,
                   &(struct build_spec){ .op = "Split",
                                         .name = name,
                                         BUILD_IN(s->in[0]),
                                         .n_out = groups,
                                         .params = { BUILD_U32("axis", axis), BUILD_U32S("split_index", groups - 1, at) } },
                   part));
    for (uint32_t i = 0; i < groups; i++)
        TRY(split_group(b, s, begin, i * MAX_PORTS, part[i], ret));
    return ST_OK;
}

enum status build_wide(struct builder *b, const struct build_spec *s, uint32_t *ret)
{
    return s->n_in > MAX_PORTS ? wide_join(b, s, ret) : wide_split(b, s, ret);
}
