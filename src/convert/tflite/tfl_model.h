/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a TFLite file as plain structs. Private to convert/tflite/. */
#ifndef CONVERT_TFLITE_TFL_MODEL_H
#define CONVERT_TFLITE_TFL_MODEL_H

#include "convert/builder.h"
#include "convert/tflite/flatbuffer.h"

struct tfl_tensor {
    const char *name;
    uint8_t type;    /* number in the file */
    bool variable;   /* kept between runs */
    uint8_t batch;   /* the first dimension is open in the file */
    bool open;       /* some dimension is: the shape of the file is only a placeholder */
    bool empty;      /* a dimension is 0 */
    bool complex;    /* its numbers are pairs: the descriptor is f32 with a last dimension of 2 */
    const void *data; /* a constant's bytes in the file, NULL: none */
    uint64_t bytes;
    struct fb_table sparsity; /* where the values of a sparse constant belong; it has no `data` … */
    struct fb_vec packed;     /* … but these */
    struct tensor_desc desc; /* DT_NONE: `why` says what cannot be expressed */
    const char *why;
};

struct tfl_op {
    int32_t code;
    const char *custom;      /* name of a custom operator */
    struct fb_vec in, out, inner; /* i32 tensor numbers; inner: intermediates */
    struct fb_table options, options2;
    struct fb_vec custom_options; /* bytes, as the maker of the operator likes them */
};

struct tfl_graph {
    const char *name;
    struct tfl_tensor *tensors;
    struct tfl_op *ops;
    uint32_t n_tensors, n_ops;
    struct fb_vec in, out;
};

struct tfl_model {
    struct fb fb;
    struct arena arena; /* structs, shapes and encodings */
    struct fb_table root;
    struct fb_vec codes, graphs, buffers;
};

void tfl_model_finish(struct tfl_model *m);
enum status tfl_model_open(struct tfl_model *m, const void *data, size_t size); /* finish it in any case */
enum status tfl_model_graph(struct tfl_model *m, uint32_t index, struct tfl_graph *ret);

#endif
