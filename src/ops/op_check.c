/* SPDX-License-Identifier: Apache-2.0 */
/* The whole check of one use of an operator, in the order a client would want to hear about it: ports, parameters, then the
 * operator's own rule, then the outputs against what the rule expects. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "ops/op_rules.h"

/* "f32, f16, uq8" */
static const char *types_text(uint32_t types, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = 0;
    for (unsigned t = DT_NONE + 1; t < DT_COUNT; t++) {
        if (!(types & T_(t)))
            continue;
        int n = snprintf(buf + used, size - used, "%s%s", used ? ", " : "", dtype_name((enum dtype)t));
        used = used + (size_t)n < size ? used + (size_t)n : size - 1;
    }
    return buf;
}

struct side {
    const char *word; /* "input" or "output" */
    const struct op_port *ports;
    const struct tensor_desc *const *tensors;
    uint32_t n;
};

static enum status check_counts(const struct op_call *c, const struct side *s)
{
    uint32_t named = op_port_count(s->ports), least = 0;
    bool many = named > 0 && s->ports[named - 1].flags & PORT_VARIADIC;
    for (uint32_t i = 0; i < named; i++)
        if (!(s->ports[i].flags & PORT_OPTIONAL))
            least = i + 1;
    REFUSE_IF(s->n < least, c, "%u %s%s given; at least %u %s expected (\"%s\" is missing)", s->n, s->word,
              s->n == 1 ? " is" : "s are", least, least == 1 ? "is" : "are", s->ports[s->n].name);
    REFUSE_IF(!many && s->n > named, c, "%u %ss are given; at most %u %s expected", s->n, s->word, named,
              named == 1 ? "is" : "are");
    REFUSE_IF(s->n > MAX_PORTS, c, "%u %ss are given; at most %d are supported", s->n, s->word, MAX_PORTS);
    return ST_OK;
}

static enum status check_port(const struct op_call *c, const struct side *s, const struct op_port *p, uint32_t i)
{
    char text[DESC_TEXT_MAX], types[160];
    const struct tensor_desc *d = s->tensors[i];
    if (!d) {
        REFUSE_IF(!(p->flags & PORT_OPTIONAL), c, "%s %u (\"%s\") is missing; it is not optional", s->word, i, p->name);
        return ST_OK;
    }
    enum status st = desc_check(d, p->name);
    if (st != ST_OK)
        return status_prefix(st, "%s%s%s%s", c->op->name, c->node ? " \"" : "", c->node ? c->node : "", c->node ? "\"" : "");
    REFUSE_IF(!(p->types & T_(d->type)), c, "%s %u (\"%s\") is %s; allowed types are %s", s->word, i, p->name,
              desc_text(d, text), types_text(p->types, types, sizeof(types)));
    bool moves = (d->q.kind == Q_AXIS && rule_moves_channels(c->op->id)) || rule_looks_up(c);
    REFUSE_IF(dtype_is_fixed(d->type) && d->q.kind > Q_TENSOR && !(p->flags & PORT_AXIS) && !moves, c,
              "%s %u (\"%s\") is %s with one scale per %s; only weights may have that, one scale and offset for the tensor "
              "is expected",
              s->word, i, p->name, desc_text(d, text), d->q.kind == Q_AXIS ? "channel" : "block");
    return ST_OK;
}

static enum status check_side(const struct op_call *c, const struct side *s)
{
    TRY(check_counts(c, s));
    uint32_t named = op_port_count(s->ports);
    for (uint32_t i = 0; i < s->n; i++)
        TRY(check_port(c, s, &s->ports[i < named ? i : named - 1], i));
    return ST_OK;
}

static enum status check_inputs(const struct op_call *c)
{
    struct side in = {"input", c->op->in, c->in, c->n_in};
    TRY(check_side(c, &in));
    return rule_params(c);
}

/* A dimension may be declared larger than needed only when it is a maximum. Scalars come with rank 0 or as one element. */
static bool shape_fits(const struct tensor_desc *got, const struct tensor_desc *want)
{
    if (got->rank != want->rank)
        return got->rank <= 1 && want->rank <= 1 && desc_count(got) == 1 && desc_count(want) == 1;
    for (uint32_t i = 0; i < got->rank; i++) {
        bool dynamic = (got->dynamic | want->dynamic) >> i & 1;
        if (dynamic ? got->dims[i] < want->dims[i] : got->dims[i] != want->dims[i])
            return false;
    }
    return true;
}

static enum status check_output(const struct op_call *c, const struct tensor_desc *want, uint32_t i)
{
    char a[DESC_TEXT_MAX], b[DESC_TEXT_MAX];
    const struct tensor_desc *got = c->out[i];
    if (!got)
        return ST_OK;
    const char *name = op_out_port(c->op, i)->name;
    REFUSE_IF(got->type != want->type, c, "output %u (\"%s\") is %s; data type %s is expected", i, name, desc_text(got, a),
              dtype_name(want->type));
    REFUSE_IF(!shape_fits(got, want), c, "output %u (\"%s\") is %s; %s is expected", i, name, desc_text(got, a),
              desc_text(want, b));
    return ST_OK;
}

enum status op_infer(const struct op_call *c, struct tensor_desc *want)
{
    TRY(check_inputs(c));
    for (uint32_t i = 0; i < c->n_out; i++) {
        if (c->out && c->out[i])
            want[i] = *c->out[i];
        else
            memset(&want[i], 0, sizeof(want[i]));
    }
    return c->op->infer ? c->op->infer(c, want) : ST_OK;
}

enum status op_check(const struct op_call *c)
{
    struct tensor_desc want[MAX_PORTS];
    struct side out = {"output", c->op->out, c->out, c->n_out};
    TRY(check_counts(c, &(struct side){"input", c->op->in, c->in, c->n_in}));
    TRY(check_side(c, &out));
    TRY(op_infer(c, want));
    for (uint32_t i = 0; i < c->n_out; i++)
        TRY(check_output(c, &want[i], i));
    return rule_moved_channels(c);
}
