/* SPDX-License-Identifier: Apache-2.0 */
/* One use of an operator from text, for table-driven tests:
 *
 *     inputs   "uq8[1,8,8,3] sq8[3,3,3,16]/3 -"   "-": absent; "/3": one scale per element of axis 3; "/3z": with an offset;
 *                                                  "[4?]": a dynamic dimension; "!": a fixed-point tensor without an
 *                                                  encoding
 *     params   "stride=2,2 group:i32=1"             values in the row's type, or in the one after ":" */
#ifndef TESTS_PASSES_OPS_TEXT_H
#define TESTS_PASSES_OPS_TEXT_H

#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

enum { TEXT_TENSORS = 70, TEXT_VALUES = 64, TEXT_PARAMS = 16 };

struct ops_text {
    struct tensor_desc desc[2][TEXT_TENSORS];
    const struct tensor_desc *list[2][TEXT_TENSORS];
    char names[TEXT_PARAMS][48];
    const char *name_list[TEXT_PARAMS];
    struct op_value given[TEXT_PARAMS], bound[TEXT_PARAMS];
    union {
        uint32_t u32[TEXT_VALUES];
        int32_t i32[TEXT_VALUES];
        int64_t i64[TEXT_VALUES];
        float f32[TEXT_VALUES];
        uint8_t b8[TEXT_VALUES];
    } data[TEXT_PARAMS];
    struct op_call call;
};

static float text_scales[1024];
static int32_t text_offsets[1024];

static const char *text_tensor(const char *s, struct tensor_desc *d)
{
    char type[8] = "";
    size_t n = strcspn(s, "[");
    memcpy(type, s, n < 7 ? n : 7);
    *d = (struct tensor_desc){.type = dtype_from_name(type)};
    s += n + 1;
    while (*s != ']') {
        d->dims[d->rank] = (uint32_t)strtoul(s, (char **)&s, 10);
        if (*s == '?') {
            d->dynamic |= (uint8_t)(1u << d->rank);
            s++;
        }
        d->rank++;
        s += *s == ',';
    }
    s++;
    if (dtype_is_fixed(d->type) && *s != '!')
        d->q = (struct quant){.kind = Q_TENSOR, .definition = 1, .scale = 0.5f};
    s += *s == '!';
    if (*s == '/') {
        d->q.kind = Q_AXIS;
        d->q.axis = (int32_t)strtol(s + 1, (char **)&s, 10);
        d->q.n = d->dims[d->q.axis];
        d->q.scales = text_scales;
        d->q.offsets = *s == 'z' ? text_offsets : NULL;
        s += *s == 'z';
    }
    return s;
}

static uint32_t text_tensors(const char *s, struct tensor_desc *desc, const struct tensor_desc **list)
{
    uint32_t n = 0;
    for (; *s; n++) {
        if (*s == '-') {
            list[n] = NULL;
            s++;
        } else {
            s = text_tensor(s, &desc[n]);
            list[n] = &desc[n];
        }
        s += *s == ' ';
    }
    return n;
}

static void text_value(struct ops_text *t, uint32_t p, uint32_t i, double v)
{
    switch (t->given[p].type) {
    case DT_I32:
        t->data[p].i32[i] = (int32_t)v;
        break;
    case DT_I64:
        t->data[p].i64[i] = (int64_t)v;
        break;
    case DT_F32:
        t->data[p].f32[i] = (float)v;
        break;
    case DT_B8:
    case DT_U8:
        t->data[p].b8[i] = (uint8_t)v;
        break;
    default:
        t->data[p].u32[i] = (uint32_t)v;
    }
}

/* Shape as a client would give it: the row's rank, [n / 2, 2] and [n / 3, 3] for lists of pairs and triples. */
static void text_shape(const struct op_def *op, const char *name, struct op_value *v)
{
    int i = op_param_index(op, name);
    v->rank = i < 0 ? 1 : op->params[i].rank;
    v->dims[0] = v->count;
    if (v->rank == 2) {
        uint32_t inner = op->params[i].dims[1] > 0 ? (uint32_t)op->params[i].dims[1] : 1;
        v->dims[0] = v->count / inner;
        v->dims[1] = inner;
    }
}

static uint32_t text_params(struct ops_text *t, const struct op_def *op, const char *s)
{
    uint32_t n = 0;
    for (; *s; n++) {
        size_t len = strcspn(s, ":=");
        memcpy(t->names[n], s, len);
        t->name_list[n] = t->names[n];
        s += len;
        int at = op_param_index(op, t->names[n]);
        struct op_value *v = &t->given[n];
        v->type = at >= 0 && op->params[at].type ? op->params[at].type : DT_F32;
        if (*s == ':') {
            char type[8] = "";
            len = strcspn(++s, "=");
            memcpy(type, s, len < 7 ? len : 7);
            v->type = dtype_from_name(type);
            s += len;
        }
        while (*s == '=' || *s == ',')
            text_value(t, n, v->count++, strtod(s + 1, (char **)&s));
        v->data = &t->data[n];
        text_shape(op, t->names[n], v);
        s += *s == ' ';
    }
    return n;
}

static inline enum status text_call(struct ops_text *t, const char *op, const char *in, const char *params, const char *out)
{
    memset(t, 0, sizeof(*t));
    for (size_t i = 0; i < sizeof(text_scales) / sizeof(text_scales[0]); i++) {
        text_scales[i] = 0.25f;
        text_offsets[i] = i == 1 ? -3 : 0;
    }
    t->call.op = op_find(op);
    t->call.node = "n";
    t->call.n_in = text_tensors(in, t->desc[0], t->list[0]);
    t->call.n_out = text_tensors(out, t->desc[1], t->list[1]);
    t->call.in = t->list[0];
    t->call.out = t->list[1];
    uint32_t n = text_params(t, t->call.op, params);
    t->call.params = t->bound;
    return op_params_bind(t->call.op, "n", t->name_list, t->given, n, t->bound);
}

#endif
