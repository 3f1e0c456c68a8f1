/* SPDX-License-Identifier: Apache-2.0 */
/* Context binaries put together by hand, for the tests of binary/ and exec/, their fuzz target and its corpus.
 *
 *     x (input) --Add(c)--> t (scratch) --Relu--> r (in y's buffer) --Reshape--> y (output)
 *
 * with k (a Transpose of t, output z) beside it, so that there are parameters, constants, views and steps with several
 * commands. */
#ifndef TESTS_HANDMADE_H
#define TESTS_HANDMADE_H

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "binary/binary.h"
#include "binary/binary_format.h"

enum {
    HM_X,
    HM_C,
    HM_T,
    HM_R,
    HM_Y,
    HM_Z,
    HM_TENSORS,
    HM_ADD = 0,
    HM_RELU,
    HM_RESHAPE,
    HM_TRANSPOSE,
    HM_NODES,
    HM_COMMANDS = 64
};

struct handmade {
    struct binary_source src;
    struct binary_target target;
    struct binary_tensor tensors[HM_TENSORS];
    const void *data[HM_TENSORS];
    struct binary_node nodes[HM_NODES];
    struct binary_command commands[HM_COMMANDS];
    uint32_t add_in[2], add_out[1], relu_in[1], relu_out[1], reshape_in[1], reshape_out[1], transpose_in[1],
        transpose_out[1];
    struct op_value add_params[16], relu_params[16], reshape_params[16], transpose_params[16];
    uint32_t perm[2];
    float constant[1 << 14];
};

static inline struct binary_tensor hm_tensor(const char *name, uint32_t rows, uint32_t columns)
{
    struct binary_tensor t = { .name = name, .desc = { .type = DT_F32, .rank = 2, .dims = { rows, columns } } };
    t.bytes = desc_bytes(&t.desc);
    return t;
}

static inline struct binary_node hm_node(const char *name, const char *op, uint32_t n_in, const uint32_t *in,
                                         const uint32_t *out, const struct op_value *params)
{
    return (struct binary_node){ .name = name,
                                 .op = op_find(op),
                                 .n_in = n_in,
                                 .n_out = 1,
                                 .in = in,
                                 .out = out,
                                 .params = params,
                                 .post = { -INFINITY, INFINITY },
                                 .macs = 7 };
}

static inline void hm_io(struct binary_tensor *t, uint8_t io, uint32_t entry, uint32_t id)
{
    t->place = PLACE_IO;
    t->io = io;
    t->offset = entry;
    t->client_id = id;
    t->client_type = io;
}

/* `tiles` commands for Add and Relu each, their bounds at multiples of `unit` of the kernels' extent. */
static inline void hm_commands(struct handmade *h, uint32_t tiles, uint32_t unit)
{
    uint32_t n = 0, step = 0;
    for (uint32_t node = 0; node < HM_NODES; node++) {
        uint32_t parts = node <= HM_RELU ? tiles : 1;
        for (uint32_t i = 0; i < parts; i++)
            h->commands[n++] = (struct binary_command){ node, i * unit, i + 1 == parts ? UINT32_MAX : (i + 1) * unit, step };
        step += node != HM_RESHAPE; /* Reshape and Transpose share a step */
    }
    h->src.n_commands = n;
}

/* A graph of rows × columns floats; at most 2^14 of them. */
static inline void hm_make(struct handmade *h, const char *name, uint32_t rows, uint32_t columns)
{
    memset(h, 0, sizeof(*h));
    uint64_t bytes = (uint64_t)rows * columns * sizeof(float);
    for (uint32_t i = 0; i < rows * columns; i++)
        h->constant[i] = (float)(i % 7) - 3.0f;
    struct binary_tensor *t = h->tensors;
    t[HM_X] = hm_tensor("x", rows, columns);
    t[HM_C] = hm_tensor("c", rows, columns);
    t[HM_T] = hm_tensor("t", rows, columns);
    t[HM_R] = hm_tensor("r", rows, columns);
    t[HM_Y] = hm_tensor("y", rows * columns, 1);
    t[HM_Z] = hm_tensor("z", columns, rows);
    hm_io(&t[HM_X], 1, 0, 11);
    t[HM_C].place = PLACE_CONST;
    h->data[HM_C] = h->constant;
    t[HM_T].place = PLACE_SCRATCH;
    t[HM_T].last = 3;
    t[HM_R].place = PLACE_IO;
    t[HM_R].offset = 1;
    hm_io(&t[HM_Y], 2, 1, 12);
    hm_io(&t[HM_Z], 2, 2, 13);
    h->add_in[0] = HM_X, h->add_in[1] = HM_C, h->add_out[0] = HM_T;
    h->relu_in[0] = HM_T, h->relu_out[0] = HM_R;
    h->reshape_in[0] = HM_R, h->reshape_out[0] = HM_Y;
    h->transpose_in[0] = HM_T, h->transpose_out[0] = HM_Z;
    h->perm[0] = 1, h->perm[1] = 0;
    h->nodes[HM_ADD] = hm_node("add", "ElementWiseAdd", 2, h->add_in, h->add_out, h->add_params);
    h->nodes[HM_RELU] = hm_node("relu", "Relu", 1, h->relu_in, h->relu_out, h->relu_params);
    h->nodes[HM_RESHAPE] = hm_node("reshape", "Reshape", 1, h->reshape_in, h->reshape_out, h->reshape_params);
    h->nodes[HM_TRANSPOSE] = hm_node("transpose", "Transpose", 1, h->transpose_in, h->transpose_out, h->transpose_params);
    h->transpose_params[op_param_index(op_find("Transpose"), "perm")] =
        (struct op_value){ .type = DT_U32, .rank = 1, .dims = { 2 }, .count = 2, .data = h->perm };
    hm_commands(h, 1, 1);
    h->target = (struct binary_target){
        .backend_id = 3, .core_version = { 2, 37, 0 }, .backend_version = { 1, 1, 0 }, .build_id = "test"
    };
    h->src.info = (struct binary_graph_info){ .name = name,
                                              .scratch_bytes = (bytes + 63) & ~UINT64_C(63),
                                              .scratch_align = 64,
                                              .live_bytes = bytes,
                                              .io_bytes = 3 * bytes,
                                              .const_bytes = bytes,
                                              .macs = 28,
                                              .priority = 100,
                                              .opt_level = 2,
                                              .plan_optimal = 1,
                                              .n_source_nodes = 4 };
    h->src.n_tensors = HM_TENSORS;
    h->src.n_nodes = HM_NODES;
    h->src.tensors = h->tensors;
    h->src.data = h->data;
    h->src.nodes = h->nodes;
    h->src.commands = h->commands;
}

/* y = relu(2 x), z = transpose(2 x) with a dynamic number of rows; the constant and the Reshape go, since their shapes are
 * fixed. */
static inline void hm_make_dynamic(struct handmade *h, uint32_t rows, uint32_t columns)
{
    hm_make(h, "net", rows, columns);
    h->add_in[1] = HM_X;
    h->tensors[HM_X].desc.dynamic = h->tensors[HM_T].desc.dynamic = h->tensors[HM_R].desc.dynamic = 1;
    h->tensors[HM_Y].desc = h->tensors[HM_R].desc;
    h->tensors[HM_Z].desc.dynamic = 2;
    h->relu_out[0] = HM_Y;
    h->nodes[HM_RESHAPE] = hm_node("again", "Relu", 1, h->reshape_in, h->reshape_out, h->relu_params);
    h->reshape_in[0] = HM_T, h->reshape_out[0] = HM_R;
}

/* Make the checksums right again, so that spoiled bytes get past them: the checks behind them are what is tested then.
 * Leaves alone what is too damaged to have checksums. */
static inline void hm_repair(uint8_t *data, size_t size)
{
    struct bin_header h;
    if (size < sizeof(h))
        return;
    memcpy(&h, data, sizeof(h));
    if (h.n_sections > (size - sizeof(h)) / sizeof(struct bin_section))
        return;
    for (uint32_t i = 0; i < h.n_sections; i++) {
        struct bin_section s;
        uint8_t *at = data + sizeof(h) + i * sizeof(s);
        memcpy(&s, at, sizeof(s));
        if (s.offset > size || s.size > size - s.offset)
            continue;
        s.crc = (uint32_t)crc32_z(0, data + s.offset, s.size);
        memcpy(at, &s, sizeof(s));
    }
    h.crc = 0;
    memcpy(data, &h, sizeof(h));
    h.crc = (uint32_t)crc32_z(0, data, sizeof(h) + h.n_sections * sizeof(struct bin_section));
    memcpy(data, &h, sizeof(h));
}

#endif
