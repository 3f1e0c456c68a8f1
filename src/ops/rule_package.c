/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of op packages. The parameters of such a node have names that only the package knows; they are a list in the
 * parameter "values" (base/named_list.h, types are those of enum dtype). Tensors among them are the node's last inputs, in
 * the order of the list. */
#include <string.h>

#include "base/named_list.h"
#include "ops/op_rules.h"

enum { MOST = 64 };

static enum status check_text(const struct op_call *c, const char *name)
{
    const struct op_value *v = &c->params[op_param_index(c->op, name)];
    const char *text = v->data;
    REFUSE_IF(v->count < 2 || !*text || text[v->count - 1], c, "parameter \"%s\" is empty or has no end", name);
    return ST_OK;
}

static enum status check_value(const struct op_call *c, const struct named_value *v)
{
    REFUSE_IF(v->type == DT_NONE || v->type >= DT_COUNT, c, "parameter \"%s\" is of an unknown type", v->name);
    if (v->elsewhere)
        return ST_OK;
    bool text = v->type == DT_STR;
    REFUSE_IF(text && (!v->bytes || ((const char *)v->data)[v->bytes - 1]), c, "text \"%s\" has no end", v->name);
    REFUSE_IF(!text && v->bytes != dtype_bytes((enum dtype)v->type, 1), c,
              "parameter \"%s\" has %u bytes; one %s is expected", v->name, v->bytes, dtype_name((enum dtype)v->type));
    return ST_OK;
}

static enum status check_values(const struct op_call *c, uint32_t *tensors)
{
    const struct op_value *v = &c->params[op_param_index(c->op, "values")];
    struct named_value list[MOST];
    uint32_t n = 0;
    const char *wrong = v->data ? named_list_read(v->data, v->count, list, MOST, &n) : NULL;
    REFUSE_IF(wrong, c, "the list of its parameters %s", wrong);
    *tensors = 0;
    for (uint32_t i = 0; i < n; i++) {
        TRY(check_value(c, &list[i]));
        *tensors += list[i].elsewhere;
    }
    return ST_OK;
}

/* Shapes and types of results are the package's business; all that is checked is that there is nothing it cannot be told. */
RULE(package_op)
{
    uint32_t tensors;
    (void)want;
    TRY(check_text(c, "package"));
    TRY(check_text(c, "operator"));
    TRY(check_values(c, &tensors));
    REFUSE_IF(tensors > c->n_in, c, "%u parameters are tensors, and there are %u inputs", tensors, c->n_in);
    for (uint32_t i = c->n_in - tensors; i < c->n_in; i++)
        REFUSE_IF(!c->in[i], c, "input %u is missing; it is a parameter", i);
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        bool in = i < c->n_in;
        const struct tensor_desc *d = in ? c->in[i] : c->out[i - c->n_in];
        REFUSE_IF(d && d->dynamic, c,
                  "%s %u has dynamic dimensions, which operators of op packages do not have here; give it a fixed shape",
                  in ? "input" : "output", in ? i : i - c->n_in);
    }
    return ST_OK;
}
