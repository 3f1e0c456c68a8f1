/* SPDX-License-Identifier: Apache-2.0 */
/* What the API tests share: a backend library opened as a client opens it, checks of result codes with the library's own
 * explanation, and builders for tensors, nodes and small graphs. Nothing here allocates, so that the tests of failing
 * allocations see the library alone. */
#ifndef TESTS_API_TEST_H
#define TESTS_API_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <QNN/QnnInterface.h>
#include <QNN/QnnOpDef.h>
#include <QNN/QnnOpPackage.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the library ------------------------------------------------------------------------------------------------------ */

extern const QnnInterface_t *provider; /* belongs to the library */
extern QNN_INTERFACE_VER_TYPE q;       /* its table, copied by value as clients do */

void *lib_dlopen(const char *name, int flags); /* from OPENQNN_LIB_DIR; prints and exits when missing */
const char *lib_name(void);                    /* libQnnCpu.so, or what OPENQNN_TEST_LIB says */
bool lib_is_htp(void);
void lib_open(void);                           /* fills provider and q; counts */
void lib_close(void);

/* ---- results ---------------------------------------------------------------------------------------------------------- */

#define CODE(e) ((uint32_t)QNN_GET_ERROR_CODE(e))
#define OK(call) result_is((call), QNN_SUCCESS, #call, __FILE__, __LINE__)
#define FAILS(code, call) result_is((call), (code), #call, __FILE__, __LINE__)
/* A failure whose explanation contains `text`. */
#define FAILS_SAYING(code, text, call)                      \
    do {                                                    \
        FAILS(code, call);                                  \
        explanation_has((code), (text), __FILE__, __LINE__); \
    } while (0)

void result_is(Qnn_ErrorHandle_t got, uint32_t wanted, const char *call, const char *file, int line);
void explanation_has(uint32_t code, const char *text, const char *file, int line);
const char *explain(Qnn_ErrorHandle_t e); /* the verbose message; valid until the next call on this thread */

/* Keep the library's default log off standard error where thousands of refusals are wanted. Not nested. */
void hush(bool on);

void floats_are(const float *got, const float *wanted, uint32_t n, float tolerance);

/* ---- profiles --------------------------------------------------------------------------------------------------------- */

struct event {
    QnnProfile_EventData_t data;
    unsigned depth; /* 0: no parent */
};

/* All events of a profile, each before those below it; valid until the next call on this thread. */
const struct event *profile_events(Qnn_ProfileHandle_t p, uint32_t *n);
const struct event *profile_find(Qnn_ProfileHandle_t p, uint32_t type); /* the first of a type, or NULL */

/* ---- tensors ---------------------------------------------------------------------------------------------------------- */

/* Strings and dimensions that tensors point at; the pool is large, per thread, and reused from the start when full. */
const char *keep_name(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* V1 is a prefix of V2. */
#define TV(t) ((t).v1)

Qnn_Tensor_t tensor_make(Qnn_TensorVersion_t version, const char *name, Qnn_TensorType_t type, Qnn_DataType_t dtype,
                         uint32_t rank, const uint32_t *dims);
#define TENSOR_V(version, name, type, dtype, ...)                                \
    tensor_make((version), (name), QNN_TENSOR_TYPE_##type, QNN_DATATYPE_##dtype, \
                (uint32_t)COUNT(((uint32_t[]){ __VA_ARGS__ })), (uint32_t[]){ __VA_ARGS__ })
#define TENSOR(name, type, dtype, ...) TENSOR_V(QNN_TENSOR_VERSION_1, name, type, dtype, __VA_ARGS__)
#define TENSOR2(name, type, dtype, ...) TENSOR_V(QNN_TENSOR_VERSION_2, name, type, dtype, __VA_ARGS__)

Qnn_Tensor_t tensor_data(Qnn_Tensor_t t, const void *data, uint32_t bytes);
#define WITH(t, array) tensor_data((t), (array), sizeof(array))
Qnn_Tensor_t tensor_quant(Qnn_Tensor_t t, float scale, int32_t offset);
Qnn_Tensor_t tensor_absent(void);                                            /* type NULL */
Qnn_Tensor_t tensor_shaped(Qnn_Tensor_t t, uint32_t rank, const uint32_t *dims); /* other dimensions, for one execution */

/* ---- nodes ------------------------------------------------------------------------------------------------------------ */

enum { OP_PARAMS = 8, OP_INPUTS = 25, OP_OUTPUTS = 4 };

struct op {
    const char *name, *type, *package; /* package NULL: the built-in one */
    uint32_t np, ni, no;
    Qnn_Param_t p[OP_PARAMS];
    Qnn_Tensor_t in[OP_INPUTS], out[OP_OUTPUTS];
};

Qnn_OpConfig_t op_config(struct op *o); /* points into o */
Qnn_ErrorHandle_t op_add(Qnn_GraphHandle_t g, struct op *o);
Qnn_ErrorHandle_t op_validate(Qnn_BackendHandle_t b, struct op *o);

Qnn_Param_t param_u32(const char *name, uint32_t value);
Qnn_Param_t param_f32(const char *name, float value);
Qnn_Param_t param_bool(const char *name, bool value);
Qnn_Param_t param_text(const char *name, const char *text);
/* A UINT_32 tensor parameter, created in the graph (NULL: not created, for validation). */
Qnn_Param_t param_u32s(Qnn_GraphHandle_t g, const char *name, uint32_t rank, const uint32_t *dims, const uint32_t *values);

/* ---- small graphs ----------------------------------------------------------------------------------------------------- */

struct env {
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
};

extern struct env env;
int env_setup(void **state); /* cmocka fixtures: a backend with one context */
int env_teardown(void **state);

struct net {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
};

enum { AFFINE_N = 8 };
/* y = x * mul + add over `n` floats: two nodes. Tensor names start with the graph's. */
Qnn_ErrorHandle_t net_affine(Qnn_ContextHandle_t c, const char *name, float mul, float add, struct net *ret);

enum { CONV_IN = 16, CONV_OUT = 8 };
extern const float conv_in[CONV_IN], conv_filter[18], conv_bias[2];
/* x [1,4,4,1] -> Conv2d 3x3 to 2 channels -> Relu -> Softmax over the channels -> y [1,2,2,2]. */
Qnn_ErrorHandle_t net_conv(Qnn_ContextHandle_t c, const char *name, struct net *ret);
void conv_expected(float out[CONV_OUT]); /* computed here, in double */

/* y = x passed through `depth` additions of 1 over `n` floats: as much work as wanted. */
Qnn_ErrorHandle_t net_chain(Qnn_ContextHandle_t c, const char *name, uint32_t depth, uint32_t n, struct net *ret);

/* y = a + turned four times, a = x turned: a waits while the others need the room, so small fast memories spill. Square
 * matrices, into a graph that is there. */
void net_turns(struct net *n, uint32_t side);

/* Finalizes nothing, profiles nothing: one input, one output. */
Qnn_ErrorHandle_t net_run(const struct net *n, const float *x, float *y, uint32_t n_x, uint32_t n_y);

#endif
