/* SPDX-License-Identifier: Apache-2.0 */
/* What the small clients share: opening libraries the way asked for, checks that end the program, structs filled in. Each
 * client makes the calls of one kind of real program, in its order, with its configs and struct versions, and believes only
 * what that program believes. */
#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <QNN/CPU/QnnCpuCommon.h>
#include <QNN/QnnInterface.h>
#include <QNN/QnnOpDef.h>
#include <QNN/QnnOpPackage.h>
#include <QNN/System/QnnSystemInterface.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CODE(e) ((uint32_t)QNN_GET_ERROR_CODE(e))

#define CHECK(cond)                                                                  \
    do {                                                                             \
        if (!(cond)) {                                                               \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond);      \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

#define MUST(call) client_must((call), #call, __FILE__, __LINE__)
void client_must(Qnn_ErrorHandle_t e, const char *call, const char *file, int line);

/* ---- libraries -------------------------------------------------------------------------------------------------------- */

extern QNN_INTERFACE_VER_TYPE qnn;        /* by value, as most clients keep it */
extern QNN_SYSTEM_INTERFACE_VER_TYPE sys;

void *client_open(const char *name, int flags); /* from OPENQNN_LIB_DIR */
const char *client_library(void);               /* libQnnCpu.so, or what OPENQNN_TEST_LIB says */
bool client_on_htp(void);

/* How clients choose among providers. */
enum choice { ONLY_ONE, FIRST_FITTING };
const QnnInterface_t *client_provider(void *lib, enum choice how);
void client_system_provider(void *lib, enum choice how);

/* ---- structs ---------------------------------------------------------------------------------------------------------- */

#define TV(t) ((t).v1) /* V1 is a prefix of V2 */

struct tensor_spec {
    int version;
    const char *name;
    Qnn_TensorType_t type;
    Qnn_DataType_t dtype;
    uint32_t rank, dims[8];
    const void *data; /* STATIC */
    uint32_t bytes;
    float scale;      /* 0: not quantized */
    int32_t offset;
};
Qnn_Tensor_t client_tensor(const struct tensor_spec *s); /* dimensions live until the program ends */
Qnn_Tensor_t client_create(Qnn_GraphHandle_t g, struct tensor_spec s);
Qnn_Tensor_t client_bind(Qnn_Tensor_t t, const void *data, uint32_t bytes);

Qnn_Param_t client_u32(const char *name, uint32_t value);
Qnn_Param_t client_bool(const char *name, bool value);
Qnn_Param_t client_u32s(Qnn_GraphHandle_t g, int version, const char *name, uint32_t rank, const uint32_t *dims,
                        const uint32_t *values);

struct node_spec {
    const char *name, *type;
    uint32_t np, ni, no;
    Qnn_Param_t p[4];
    Qnn_Tensor_t in[4], out[2];
};
Qnn_OpConfig_t client_config(struct node_spec *n); /* points into n */

/* ---- numbers and binaries --------------------------------------------------------------------------------------------- */

void client_floats(const float *got, const float *want, uint32_t n, float tolerance);

struct client_binary {
    void *data;
    uint64_t size;
};
struct client_binary client_save(Qnn_ContextHandle_t c);

enum { MODEL_N = 6 };
/* A saved model "model": output = relu(input + bias) over MODEL_N floats. Made with a backend of its own. */
struct client_binary client_model(void);
void client_model_expected(const float *in, float *out);

/* One graph of a described binary, whichever version describes it. */
struct client_graph_info {
    uint32_t binary_version, graph_version, n_graphs, n_in, n_out;
    const char *name;
    const Qnn_Tensor_t *in, *out;
};
struct client_graph_info client_first_graph(const QnnSystemContext_BinaryInfo_t *info);

#endif
