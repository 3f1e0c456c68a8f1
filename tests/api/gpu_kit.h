/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU tests share: libQnnGpu.so and libQnnCpu.so behind one table, one operator run on either, and their results
 * compared. */
#ifndef TESTS_GPU_KIT_H
#define TESTS_GPU_KIT_H

#include "api_test.h"

enum kit_lib { KIT_CPU, KIT_GPU };
void kit_use(enum kit_lib which); /* q is its table from now on */
void kit_need_device(void);       /* prints SKIP and ends the program with 77 when OpenCL has no device */

/* ---- one operator ----------------------------------------------------------------------------------------------------- */

enum { KIT_RANK = 6, KIT_TENSORS = 6, KIT_PARAMS = 6, KIT_VALUES = 24 };

struct kit_tensor {
    Qnn_DataType_t type;
    uint32_t rank, dims[KIT_RANK];
    float lo, hi;   /* inputs: the range of values */
    bool is_static;
    float scale; /* not 0: fixed point */
    int32_t offset;
};

struct kit_param {
    const char *name;
    char kind;              /* 'u' UINT_32, 'i' INT_32, 'f' FLOAT_32, 'b' BOOL_8; of a scalar or of a tensor */
    uint32_t rank, dims[2]; /* rank 0: a scalar */
    int32_t v[KIT_VALUES];
    float f;
};

struct kit_case {
    const char *type;
    uint32_t ni, no, np;
    struct kit_tensor in[KIT_TENSORS], out[KIT_TENSORS];
    struct kit_param p[KIT_PARAMS];
};

struct kit_tensor kit_float(float lo, float hi, uint32_t rank, const uint32_t *dims);
void kit_u32(struct kit_case *c, const char *name, int32_t v);
void kit_f32(struct kit_case *c, const char *name, float v);
void kit_bool(struct kit_case *c, const char *name, bool v);
void kit_list(struct kit_case *c, const char *name, char kind, uint32_t rank, uint32_t d0, uint32_t d1, const int32_t *v);

/* Runs the case on both libraries with the same random data, in float32 and in float16 storage, and compares every element:
 * |gpu - cpu| <= bound * max(1, largest |cpu| of the tensor) in float32; float16 allows 2^-9 where that is more. */
void kit_compare(const struct kit_case *c, float bound);
/* The same for tensors whose types stay as they are, bits being equal. */
void kit_same(const struct kit_case *c);

uint32_t kit_random(uint32_t limit);          /* 0 to limit - 1 */
uint32_t kit_between(uint32_t lo, uint32_t hi); /* both included */
uint64_t kit_elements(const struct kit_tensor *t);

#endif
