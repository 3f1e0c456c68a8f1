/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read a DLC share (private to convert/dlc). */
#ifndef CONVERT_DLC_DLC_READER_H
#define CONVERT_DLC_DLC_READER_H

#include "convert/dlc/dlc.h"

/* Tables with a name, sorted by it. */
struct dlc_named {
    const char *name;
    struct fb_table t;
};
struct dlc_index {
    struct dlc_named *at;
    uint32_t n;
};

struct dlc_reader {
    struct convert_report *report;
    struct fb model, params, outer, extra, sources;
    struct fb_vec buffers; /* NR64: constants in the order of their names, then tensor attributes */
    bool by_order;
    struct dlc_part weights; /* constants one behind the other, instead of in params */
    uint64_t next_weight;
    uint32_t next_buffer;
    struct arena scratch;
    struct ir_graph *g;            /* being read */
    struct dlc_index data, extras; /* of g */
    struct fb_vec node_data, node_sources;
    uint32_t unsupported;
    const char *first_unsupported;
};

/* NULL when there is none. */
const struct dlc_named *dlc_find_name(const struct dlc_index *x, const char *name);
/* The entry of a short list; every look is charged to the budget of the file. */
struct fb_table dlc_find_table(struct fb_vec v, unsigned name_field, const char *name);

/* ---- tensors (dlc_read_tensor.c) -------------------------------------------------------------------------------------- */

enum status dlc_read_tensor(struct dlc_reader *r, struct fb_table t, uint32_t i);
enum status dlc_read_desc(struct dlc_reader *r, struct fb_table t, const char *name, struct tensor_desc *d);
enum status dlc_take_buffer(struct dlc_reader *r, const char *name, struct fb_vec *ret); /* NR64: the next one */
enum status dlc_check_size(struct fb_vec bytes, const struct tensor_desc *d, const char *name);

/* ---- nodes (dlc_read_node.c) ------------------------------------------------------------------------------------------ */

enum status dlc_read_node(struct dlc_reader *r, struct fb_table t, uint32_t i);

#endif
