/* SPDX-License-Identifier: Apache-2.0 */
/* What the structs of the API look like, as tables (private to api/saver). One writer, saver_text.c, turns any of them into
 * a C initializer; a struct that is new to the API is a new table. */
#ifndef API_SAVER_TYPES_H
#define API_SAVER_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum saver_kind {
    SAVER_U8,
    SAVER_U16,
    SAVER_I32, /* also enums */
    SAVER_U32,
    SAVER_U64,
    SAVER_F32,
    SAVER_F64,
    SAVER_TEXT,
    SAVER_TEXTS,  /* strings, NULL behind the last */
    SAVER_STRUCT, /* in place */
    SAVER_ARRAY,  /* points at elements, as many as `count` says */
    SAVER_LIST,   /* points at pointers at elements */
    SAVER_ID,     /* of a tensor */
    SAVER_HANDLE,
    SAVER_DATA,   /* the client's buffer of a tensor */
    SAVER_CUSTOM, /* a struct of the backend */
    SAVER_BYTES,  /* a Qnn_BinaryBuffer_t */
    SAVER_FD,     /* of the buffer that is registered */
    SAVER_MAPPED, /* where that buffer is */
    SAVER_ROOM,   /* memory for the backend, as large as the uint32_t at count_at says */
    SAVER_LOST,   /* cannot be recorded, such as a function of the client */
};

/* How many elements an array has. */
enum saver_count {
    COUNT_ONE,
    COUNT_FIELD,       /* a uint32_t at count_at */
    COUNT_RANK,        /* one per dimension of the tensor */
    COUNT_ENCODED,     /* as COUNT_FIELD; this and the rest: no more than the tensor has elements */
    COUNT_CHANNELS,    /* one per index of the axis at count_at */
    COUNT_BLOCKS,      /* one per block; sizes of blocks are pointed at from count_at */
    COUNT_AXIS_BLOCKS, /* blocks per axis, for each index of it: see saver_count_of */
};

struct saver_field {
    const char *name;
    uint32_t offset;
    uint32_t kind;
    const struct saver_type *type; /* STRUCT, ARRAY, LIST */
    uint32_t count, count_at;
    bool chosen;   /* there only when the struct's select() gives `when` */
    uint32_t when;
};

struct saver_type {
    const char *name;
    size_t size;
    uint32_t kind; /* of a type without fields */
    bool plain;    /* bytes that mean the same in another process */
    const struct saver_field *fields;
    size_t n;
    uint32_t (*select)(const void *object);
};

extern const struct saver_type saver_u8, saver_u16, saver_u32, saver_i32, saver_f32;
extern const struct saver_type saver_tensor, saver_tensor_v1, saver_op_config, saver_quantize, saver_scalar;
extern const struct saver_type saver_backend_config, saver_context_config, saver_graph_config, saver_device_config,
    saver_profile_config, saver_signal_config, saver_global_config;
extern const struct saver_type saver_mem_descriptor, saver_htp_memory, saver_lpai_memory, saver_context_buffer,
    saver_environment;
extern const struct saver_type saver_gpu_backend, saver_gpu_context, saver_gpu_graph, saver_gpu_graph_v2;
extern const struct saver_type saver_lpai_backend, saver_lpai_context, saver_lpai_graph;

/* The struct behind a custom config `object` of `owner` (one of the configs above, or a memory descriptor) for a backend;
 * NULL when it is not known. */
const struct saver_type *saver_custom(uint32_t backend, const struct saver_type *owner, const void *object);

/* The public headers of a backend's own structs, NULL behind the last. */
const char *const *saver_headers(uint32_t backend);

#define FIELD_OF(S, m, k) .name = #m, .offset = offsetof(S, m), .kind = (k)
#define FIELDS(f) .fields = (f), .n = sizeof(f) / sizeof((f)[0])
#define WHEN(v) .chosen = true, .when = (v)

#endif
