/* SPDX-License-Identifier: Apache-2.0 */
/* The three files of a converted model, and the client's numbers that they use. */
#include <errno.h>
#include <string.h>

#include "base/file_write.h"

#include "convert/write.h"

static const struct {
    uint32_t number;
    const char *macro;
} dtypes[DT_COUNT] = {
    [DT_NONE] = { 0x7fffffff, "QNN_DATATYPE_UNDEFINED" },
    [DT_I8] = { 0x0008, "QNN_DATATYPE_INT_8" },
    [DT_I16] = { 0x0016, "QNN_DATATYPE_INT_16" },
    [DT_I32] = { 0x0032, "QNN_DATATYPE_INT_32" },
    [DT_I64] = { 0x0064, "QNN_DATATYPE_INT_64" },
    [DT_U8] = { 0x0108, "QNN_DATATYPE_UINT_8" },
    [DT_U16] = { 0x0116, "QNN_DATATYPE_UINT_16" },
    [DT_U32] = { 0x0132, "QNN_DATATYPE_UINT_32" },
    [DT_U64] = { 0x0164, "QNN_DATATYPE_UINT_64" },
    [DT_F16] = { 0x0216, "QNN_DATATYPE_FLOAT_16" },
    [DT_BF16] = { 0x0226, "QNN_DATATYPE_BFLOAT_16" },
    [DT_F32] = { 0x0232, "QNN_DATATYPE_FLOAT_32" },
    [DT_F64] = { 0x0264, "QNN_DATATYPE_FLOAT_64" },
    [DT_SQ4] = { 0x0304, "QNN_DATATYPE_SFIXED_POINT_4" },
    [DT_SQ8] = { 0x0308, "QNN_DATATYPE_SFIXED_POINT_8" },
    [DT_SQ16] = { 0x0316, "QNN_DATATYPE_SFIXED_POINT_16" },
    [DT_SQ32] = { 0x0332, "QNN_DATATYPE_SFIXED_POINT_32" },
    [DT_UQ4] = { 0x0404, "QNN_DATATYPE_UFIXED_POINT_4" },
    [DT_UQ8] = { 0x0408, "QNN_DATATYPE_UFIXED_POINT_8" },
    [DT_UQ16] = { 0x0416, "QNN_DATATYPE_UFIXED_POINT_16" },
    [DT_UQ32] = { 0x0432, "QNN_DATATYPE_UFIXED_POINT_32" },
    [DT_B8] = { 0x0508, "QNN_DATATYPE_BOOL_8" },
    [DT_STR] = { 0x0608, "QNN_DATATYPE_STRING" },
    [DT_SQ2] = { 0x0302, "QNN_DATATYPE_SFIXED_POINT_2" },
    [DT_UQ2] = { 0x0402, "QNN_DATATYPE_UFIXED_POINT_2" },
    [DT_I4] = { 0x0004, "QNN_DATATYPE_INT_4" },
    [DT_U4] = { 0x0104, "QNN_DATATYPE_UINT_4" },
    [DT_I2] = { 0x0002, "QNN_DATATYPE_INT_2" },
    [DT_U2] = { 0x0102, "QNN_DATATYPE_UINT_2" },
};

uint32_t convert_dtype_number(enum dtype t)
{
    return dtypes[t].number;
}

const char *convert_dtype_macro(enum dtype t)
{
    return dtypes[t].macro;
}

uint64_t write_bytes(const struct ir_tensor *t)
{
    return t->raw_bytes ? t->raw_bytes : desc_bytes(&t->desc);
}

bool write_archived(const struct ir_tensor *t)
{
    return t->role == IR_CONST && t->data;
}

uint32_t write_tensor_type(const struct ir_tensor *t)
{
    static const uint32_t types[IR_ROLE_COUNT] = {
        [IR_INPUT] = 0, [IR_OUTPUT] = 1, [IR_INOUT] = 2, [IR_NATIVE] = 3, [IR_CONST] = 4, [IR_ABSENT] = 5
    };
    return types[t->role];
}

struct target {
    const struct ir_graph *g;
    const struct convert_report *r;
    const struct convert_write *w;
};

static enum status do_source(const struct target *t, FILE *f)
{
    return write_source(t->g, t->w, f);
}

static enum status do_tar(const struct target *t, FILE *f)
{
    return write_tar(t->g, f);
}

static enum status do_json(const struct target *t, FILE *f)
{
    return write_net_json(t->g, t->r, t->w, f);
}

static enum status write_file(const struct target *t, const char *suffix,
                              enum status (*write)(const struct target *, FILE *))
{
    struct str path;
    str_init(&path);
    str_addf(&path, "%s%s", t->w->prefix, suffix);
    enum status st = path.failed ? status_fail(ST_NO_MEMORY, "no memory for the name of a file") : ST_OK;
    struct file_write file = { 0 };

    if (st == ST_OK)
        st = file_write_begin(&file, path.at);
    if (st == ST_OK)
        st = write(t, file.to);
    if (st == ST_OK)
        st = file_write_end(&file);

    file_write_abort(&file);
    str_finish(&path);
    return st;
}

/* Members of the archive are named after constants, and viewers read names of at most 100 characters there. */
static enum status shorten_names(struct ir_graph *g)
{
    enum { MOST = 95, KEPT = 80 };
    for (uint32_t i = 0; i < g->tensors.n; i++) {
        struct ir_tensor *t = &g->tensors.at[i];
        if (!write_archived(t) || strlen(t->name) <= MOST)
            continue;
        t->name = arena_printf(&g->arena, "%.*s_c%u", KEPT, t->name, i);
        RETURN_IF(!t->name, ST_NO_MEMORY, "no memory for the name of a constant");
    }
    return ST_OK;
}

enum status convert_write_model(const struct ir_graph *g, const struct convert_report *r, const struct convert_write *w)
{
    struct ir_graph *copy;
    TRY(ir_clone(g, &copy));
    enum status st = shorten_names(copy);
    struct target t = { copy, r, w };
    if (st == ST_OK)
        st = write_file(&t, ".bin", do_tar);
    if (st == ST_OK)
        st = write_file(&t, ".cpp", do_source);
    if (st == ST_OK)
        st = write_file(&t, "_net.json", do_json);
    ir_graph_free(copy);
    return st;
}
