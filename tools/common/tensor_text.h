/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of tensors, for messages, JSON and files. Versions 1 and 2 of Qnn_Tensor_t begin alike, so that everything
 * here reads the version 1 view. */
#ifndef TOOLS_COMMON_TENSOR_TEXT_H
#define TOOLS_COMMON_TENSOR_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "QNN/QnnTypes.h"
#include "base/status.h"
#include "base/str.h"

enum tensor_class { CLASS_NONE, CLASS_INT, CLASS_UINT, CLASS_FLOAT, CLASS_SFIXED, CLASS_UFIXED, CLASS_BOOL };

struct tensor_type {
    Qnn_DataType_t type;
    const char *name;  /* "QNN_DATATYPE_UFIXED_POINT_8" */
    const char *brief; /* "uq8" */
    enum tensor_class kind;
    uint32_t bits;
};

const struct tensor_type *tensor_type(Qnn_DataType_t type); /* never NULL: unknown types have CLASS_NONE and 0 bits */
const char *tensor_kind_name(Qnn_TensorType_t type);        /* "QNN_TENSOR_TYPE_APP_WRITE" */
const char *tensor_encoding_name(Qnn_QuantizationEncoding_t encoding);
const char *tensor_definition_name(Qnn_Definition_t definition);
const char *tensor_format_name(Qnn_TensorDataFormat_t format);
const char *tensor_memory_name(Qnn_TensorMemType_t type);

/* Elements, and bytes in the type of the graph; packed types are rounded up to bytes. Refuses what overflows or
 * is unknown. */
enum status tensor_sizes(const Qnn_Tensor_t *t, uint64_t *elements, uint64_t *bytes);

/* `"x" uq8[1,224,224,3] scale 0.0078 offset -128` */
void tensor_describe(const Qnn_Tensor_t *t, struct str *to);

/* The name as a file name: what is not a letter, a digit or "_" becomes "_". The end of a name that is too long for a file
 * becomes a hash. */
void tensor_file_name(const char *name, struct str *to);

#endif
