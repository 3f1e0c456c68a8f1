/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU tests share. */
#include "gpu_kit.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    const QnnInterface_t *found;
    Qnn_BackendHandle_t backend;
    Qnn_ContextHandle_t context;
} libs[2];

static uint32_t seed = 12345, cases;

void kit_use(enum kit_lib which)
{
    static const char *const names[] = { [KIT_CPU] = "libQnnCpu.so", [KIT_GPU] = "libQnnGpu.so" };
    if (!libs[which].found) {
        void *lib = lib_dlopen(names[which], RTLD_NOW | RTLD_LOCAL);
        Qnn_ErrorHandle_t (*get)(const QnnInterface_t ***, uint32_t *) = dlsym(lib, "QnnInterface_getProviders");
        const QnnInterface_t **list = NULL;
        uint32_t n = 0;
        assert_true(get && get(&list, &n) == QNN_SUCCESS && n == 1);
        libs[which].found = list[0];
    }
    provider = libs[which].found;
    q = provider->QNN_INTERFACE_VER_NAME;
}

void kit_need_device(void)
{
    Qnn_BackendHandle_t b = NULL;
    Qnn_ContextHandle_t c = NULL;
    kit_use(KIT_GPU);
    hush(true);
    Qnn_ErrorHandle_t e = q.backendCreate(NULL, NULL, &b);
    if (e == QNN_SUCCESS)
        e = q.contextCreate(b, NULL, NULL, &c);
    hush(false);
    if (e != QNN_SUCCESS) {
        printf("SKIP: no OpenCL device: %s\n", explain(e));
        exit(77);
    }
    q.contextFree(c, NULL);
    q.backendFree(b);
}

uint32_t kit_random(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

uint32_t kit_between(uint32_t lo, uint32_t hi)
{
    return lo + kit_random(hi - lo + 1);
}

uint64_t kit_elements(const struct kit_tensor *t)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

struct kit_tensor kit_float(float lo, float hi, uint32_t rank, const uint32_t *dims)
{
    struct kit_tensor t = { .type = QNN_DATATYPE_FLOAT_32, .rank = rank, .lo = lo, .hi = hi };
    memcpy(t.dims, dims, rank * sizeof *dims);
    return t;
}

static struct kit_param *new_param(struct kit_case *c, const char *name, char kind)
{
    struct kit_param *p = &c->p[c->np++];
    assert_true(c->np <= KIT_PARAMS);
    *p = (struct kit_param){ .name = name, .kind = kind };
    return p;
}

void kit_u32(struct kit_case *c, const char *name, int32_t v)
{
    new_param(c, name, 'u')->v[0] = v;
}

void kit_f32(struct kit_case *c, const char *name, float v)
{
    new_param(c, name, 'f')->f = v;
}

void kit_bool(struct kit_case *c, const char *name, bool v)
{
    new_param(c, name, 'b')->v[0] = v;
}

void kit_list(struct kit_case *c, const char *name, char kind, uint32_t rank, uint32_t d0, uint32_t d1, const int32_t *v)
{
    struct kit_param *p = new_param(c, name, kind);
    p->rank = rank;
    p->dims[0] = d0;
    p->dims[1] = d1;
    memcpy(p->v, v, d0 * (rank > 1 ? d1 : 1) * sizeof *v);
}

/* ---- data ------------------------------------------------------------------------------------------------------------- */

static uint32_t bytes_of(Qnn_DataType_t t)
{
    return t == QNN_DATATYPE_BOOL_8 || t == QNN_DATATYPE_UINT_8 || t == QNN_DATATYPE_INT_8 ||
                   t == QNN_DATATYPE_UFIXED_POINT_8 || t == QNN_DATATYPE_SFIXED_POINT_8
               ? 1
           : t == QNN_DATATYPE_FLOAT_16 ? 2
           : t == QNN_DATATYPE_INT_64   ? 8
                                        : 4;
}

static void put(void *data, Qnn_DataType_t t, uint64_t i, float v)
{
    switch ((uint32_t)t) {
    case QNN_DATATYPE_FLOAT_32: ((float *)data)[i] = v; break;
    case QNN_DATATYPE_FLOAT_16: ((_Float16 *)data)[i] = (_Float16)v; break;
    case QNN_DATATYPE_INT_32: ((int32_t *)data)[i] = (int32_t)floorf(v); break;
    case QNN_DATATYPE_UINT_32: ((uint32_t *)data)[i] = (uint32_t)v; break;
    case QNN_DATATYPE_INT_64: ((int64_t *)data)[i] = (int64_t)floorf(v); break;
    case QNN_DATATYPE_BOOL_8: ((uint8_t *)data)[i] = v >= 0.5f; break;
    default: ((int8_t *)data)[i] = (int8_t)v; break;
    }
}

static float get(const void *data, Qnn_DataType_t t, uint64_t i)
{
    return t == QNN_DATATYPE_FLOAT_32 ? ((const float *)data)[i] : (float)((const _Float16 *)data)[i];
}

static void fill(const struct kit_tensor *t, void *data)
{
    for (uint64_t i = 0; i < kit_elements(t); i++)
        put(data, t->type, i, t->lo + (t->hi - t->lo) * (float)kit_random(1 << 16) / 65536.0f);
}

/* ---- one library ------------------------------------------------------------------------------------------------------ */

static Qnn_Param_t param_of(Qnn_GraphHandle_t g, const struct kit_param *p)
{
    if (p->kind == 'f')
        return param_f32(p->name, p->f);
    if (p->kind == 'b')
        return param_bool(p->name, p->v[0]);
    if (!p->rank) {
        Qnn_Param_t r = param_u32(p->name, (uint32_t)p->v[0]);
        r.scalarParam.dataType = p->kind == 'i' ? QNN_DATATYPE_INT_32 : r.scalarParam.dataType;
        return r;
    }
    if (p->kind == 'u')
        return param_u32s(g, p->name, p->rank, p->dims, (const uint32_t *)p->v);
    Qnn_Param_t r = { .paramType = QNN_PARAMTYPE_TENSOR, .name = p->name };
    r.tensorParam = tensor_data(tensor_make(QNN_TENSOR_VERSION_1, keep_name("%s_%u", p->name, cases), QNN_TENSOR_TYPE_STATIC,
                                            QNN_DATATYPE_INT_32, p->rank, p->dims),
                                p->v, (uint32_t)sizeof(int32_t) * p->dims[0] * (p->rank > 1 ? p->dims[1] : 1));
    OK(q.tensorCreateGraphTensor(g, &r.tensorParam));
    return r;
}

static Qnn_Tensor_t tensor_of(Qnn_GraphHandle_t g, const struct kit_tensor *t, const char *name, bool input, void *data)
{
    Qnn_TensorType_t kind = !input         ? QNN_TENSOR_TYPE_APP_READ
                            : t->is_static ? QNN_TENSOR_TYPE_STATIC
                                           : QNN_TENSOR_TYPE_APP_WRITE;
    uint32_t bytes = (uint32_t)kit_elements(t) * bytes_of(t->type);
    Qnn_Tensor_t r = tensor_make(QNN_TENSOR_VERSION_1, keep_name("%s", name), kind, t->type, t->rank, t->dims);
    if (t->scale != 0.0f)
        r = tensor_quant(r, t->scale, t->offset);
    if (kind == QNN_TENSOR_TYPE_STATIC)
        r = tensor_data(r, data, bytes);
    OK(q.tensorCreateGraphTensor(g, &r));
    return kind == QNN_TENSOR_TYPE_STATIC ? r : tensor_data(r, data, bytes);
}

static void run_on(enum kit_lib which, const struct kit_case *c, void **in, void **out)
{
    Qnn_GraphHandle_t g;
    char name[64];
    Qnn_Tensor_t inputs[KIT_TENSORS], outputs[KIT_TENSORS];
    uint32_t n_inputs = 0;
    struct op o = { .name = "node", .type = c->type, .ni = c->ni, .no = c->no, .np = c->np };
    kit_use(which);
    if (!libs[which].backend) {
        OK(q.backendCreate(NULL, NULL, &libs[which].backend));
        OK(q.contextCreate(libs[which].backend, NULL, NULL, &libs[which].context));
    }
    snprintf(name, sizeof name, "case_%u", cases);
    OK(q.graphCreate(libs[which].context, name, NULL, &g));
    for (uint32_t i = 0; i < c->np; i++)
        o.p[i] = param_of(g, &c->p[i]);
    for (uint32_t i = 0; i < c->ni; i++) {
        snprintf(name, sizeof name, "in_%u", i);
        o.in[i] = tensor_of(g, &c->in[i], name, true, in[i]);
        if (!c->in[i].is_static)
            inputs[n_inputs++] = o.in[i];
    }
    for (uint32_t i = 0; i < c->no; i++) {
        snprintf(name, sizeof name, "out_%u", i);
        outputs[i] = o.out[i] = tensor_of(g, &c->out[i], name, false, out[i]);
    }
    OK(op_add(g, &o));
    OK(q.graphFinalize(g, NULL, NULL));
    OK(q.graphExecute(g, inputs, n_inputs, outputs, c->no, NULL, NULL));
}

/* ---- both ------------------------------------------------------------------------------------------------------------- */

static void describe(const struct kit_case *c)
{
    print_error("%s:", c->type);
    for (uint32_t i = 0; i < c->ni + c->no; i++) {
        const struct kit_tensor *t = i < c->ni ? &c->in[i] : &c->out[i - c->ni];
        print_error("%s 0x%x[", i == c->ni ? " ->" : "", (unsigned)t->type);
        for (uint32_t d = 0; d < t->rank; d++)
            print_error("%s%u", d ? "," : "", t->dims[d]);
        print_error("]");
    }
    for (uint32_t i = 0; i < c->np; i++)
        print_error(" %s=%d,%d,%d,%d f %g", c->p[i].name, c->p[i].v[0], c->p[i].v[1], c->p[i].v[2], c->p[i].v[3],
                    (double)c->p[i].f);
    print_error("\n");
}

static bool is_float(Qnn_DataType_t t)
{
    return t == QNN_DATATYPE_FLOAT_32 || t == QNN_DATATYPE_FLOAT_16;
}

static void compare_tensor(const struct kit_case *c, uint32_t k, const void *cpu, const void *gpu, float bound)
{
    const struct kit_tensor *t = &c->out[k];
    uint64_t n = kit_elements(t);
    float most = 1.0f;
    if (!is_float(t->type) || bound == 0.0f) {
        if (memcmp(cpu, gpu, n * bytes_of(t->type))) {
            describe(c);
            fail_msg("output %u differs", k);
        }
        return;
    }
    if (t->type == QNN_DATATYPE_FLOAT_16 && bound < 0x1p-9f)
        bound = 0x1p-9f;
    for (uint64_t i = 0; i < n; i++)
        most = fmaxf(most, isfinite(get(cpu, t->type, i)) ? fabsf(get(cpu, t->type, i)) : 1.0f);
    for (uint64_t i = 0; i < n; i++) {
        float a = get(cpu, t->type, i), b = get(gpu, t->type, i);
        if (a == b || (isnan(a) && isnan(b)) || fabsf(a - b) <= bound * most)
            continue;
        describe(c);
        fail_msg("output %u, element %llu: the CPU has %.9g, the GPU %.9g; allowed is %g", k, (unsigned long long)i,
                 (double)a, (double)b, (double)(bound * most));
    }
}

static void run_both(const struct kit_case *c, float bound)
{
    void *in[KIT_TENSORS] = { 0 }, *out[2][KIT_TENSORS] = { { 0 } };
    cases++;
    for (uint32_t i = 0; i < c->ni; i++) {
        in[i] = malloc(kit_elements(&c->in[i]) * bytes_of(c->in[i].type));
        fill(&c->in[i], in[i]);
    }
    for (uint32_t i = 0; i < c->no; i++) {
        size_t bytes = kit_elements(&c->out[i]) * bytes_of(c->out[i].type);
        out[0][i] = malloc(bytes);
        out[1][i] = malloc(bytes);
        memset(out[1][i], 0x5A, bytes);
    }
    run_on(KIT_CPU, c, in, out[0]);
    run_on(KIT_GPU, c, in, out[1]);
    for (uint32_t i = 0; i < c->no; i++)
        compare_tensor(c, i, out[0][i], out[1][i], bound);
    for (uint32_t i = 0; i < KIT_TENSORS; i++) {
        free(in[i]);
        free(out[0][i]);
        free(out[1][i]);
    }
}

void kit_same(const struct kit_case *c)
{
    run_both(c, 0.0f);
}

void kit_compare(const struct kit_case *c, float bound)
{
    struct kit_case half = *c;
    run_both(c, bound);
    for (uint32_t i = 0; i < KIT_TENSORS; i++) {
        if (half.in[i].type == QNN_DATATYPE_FLOAT_32)
            half.in[i].type = QNN_DATATYPE_FLOAT_16;
        if (half.out[i].type == QNN_DATATYPE_FLOAT_32)
            half.out[i].type = QNN_DATATYPE_FLOAT_16;
    }
    run_both(&half, bound);
}
