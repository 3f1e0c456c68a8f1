/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a DLC: type, shape, encoding, and where the bytes of constants are. */
#include "convert/dlc/dlc_reader.h"

enum status dlc_take_buffer(struct dlc_reader *r, const char *name, struct fb_vec *ret)
{
    RETURN_IF(r->next_buffer >= r->buffers.n, ST_BAD_BINARY,
              "the DLC has %u buffers of constants; tensor \"%s\" would need one more", r->buffers.n, name);
    *ret = fb_vector(fb_at_table(r->buffers, r->next_buffer++), DLC_BUFFER_BYTES, 1);
    return ST_OK;
}

enum status dlc_check_size(struct fb_vec bytes, const struct tensor_desc *d, const char *name)
{
    char text[DESC_TEXT_MAX];
    RETURN_IF(bytes.n != desc_bytes(d), ST_BAD_BINARY, "tensor \"%s\" is %s and has %u bytes in \"%s\"; %llu are expected",
              name, desc_text(d, text), bytes.n, DLC_PARAMS, (unsigned long long)desc_bytes(d));
    return ST_OK;
}

static enum status read_shape(struct fb_table t, const char *name, struct tensor_desc *d)
{
    struct fb_vec shape = fb_vector(t, DLC_TENSOR_SHAPE, 4);
    RETURN_IF(shape.n > MAX_RANK, ST_UNSUPPORTED_TENSOR, "tensor \"%s\" has %u dimensions; at most %d are supported", name,
              shape.n, MAX_RANK);
    d->rank = (uint8_t)shape.n;
    for (uint32_t i = 0; i < shape.n; i++) {
        int64_t size = fb_at_int(shape, i, 4);
        RETURN_IF(size < 1, ST_BAD_BINARY, "tensor \"%s\": dimension %u is %lld; at least 1 is expected", name, i,
                  (long long)size);
        d->dims[i] = (uint32_t)size;
    }
    return ST_OK;
}

enum status dlc_read_desc(struct dlc_reader *r, struct fb_table t, const char *name, struct tensor_desc *d)
{
    uint32_t number = (uint32_t)fb_int(t, DLC_TENSOR_DTYPE, 4, 0);
    d->type = fb_has(t, DLC_TENSOR_DTYPE) ? dlc_dtype(number) : DT_NONE;
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(d->type == DT_NONE || d->type == DT_STR, ST_UNSUPPORTED_TENSOR,
              "tensor \"%s\": the field \"data type\" is %s0x%04x, which is not supported", name,
              fb_has(t, DLC_TENSOR_DTYPE) ? "" : "absent, taken as ", number);
    TRY(read_shape(t, name, d));
    return dlc_get_info(t, name, &r->scratch, d);
}

static bool aligned(const void *p, enum dtype t)
{
    unsigned bytes = dtype_bits(t) < 8 ? 1 : dtype_bits(t) / 8;
    return (uintptr_t)p % bytes == 0;
}

/* Every constant has a range of its own, so all of them together are not more than the record. */
static enum status read_outside(struct dlc_reader *r, struct ir_tensor *t, uint32_t *ret)
{
    uint64_t bytes = desc_bytes(&t->desc),
             at = (r->next_weight + DLC_WEIGHTS_ALIGN - 1) / DLC_WEIGHTS_ALIGN * DLC_WEIGHTS_ALIGN;
    RETURN_IF(at > r->weights.n || bytes > r->weights.n - at, ST_BAD_BINARY,
              "tensor \"%s\" has %llu bytes from byte %llu of record \"%s\" on, which has %llu", t->name,
              (unsigned long long)bytes, (unsigned long long)at, DLC_WEIGHTS, (unsigned long long)r->weights.n);
    r->next_weight = at + bytes;
    t->data = r->weights.at + at;
    return ir_add_const(r->g, t, aligned(t->data, t->desc.type), ret);
}

static enum status read_constant(struct dlc_reader *r, struct ir_tensor *t, uint32_t *ret)
{
    if (r->weights.at)
        return read_outside(r, t, ret);
    struct fb_vec bytes = { 0 };
    const struct dlc_named *entry = dlc_find_name(&r->data, t->name);
    if (r->by_order && entry) /* its buffer was noted when the names were sorted */
        bytes = fb_vector(entry->t, DLC_BUFFER_BYTES, 1);
    else if (entry)
        bytes = fb_vector(entry->t, DLC_DATA_BYTES, 1);
    RETURN_IF(!entry, ST_BAD_BINARY, "tensor \"%s\" is STATIC; record \"%s\" has no data for it", t->name, DLC_PARAMS);
    TRY(dlc_check_size(bytes, &t->desc, t->name));
    t->data = fb_bytes(bytes);
    bool borrow = aligned(t->data, t->desc.type);
    RETURN_IF(!borrow && !fb_charge(bytes.b, bytes.n), ST_BAD_BINARY,
              "the constants of the DLC describe more data than there is");
    return ir_add_const(r->g, t, borrow, ret);
}

enum status dlc_read_tensor(struct dlc_reader *r, struct fb_table t, uint32_t i)
{
    struct ir_tensor c = { .name = fb_string(t, DLC_TENSOR_NAME) };
    uint32_t type = (uint32_t)fb_int(t, DLC_TENSOR_TYPE, 4, 0), at;
    TRY(dlc_layout(&r->model, DLC_MODEL));
    RETURN_IF(!c.name, ST_BAD_BINARY, "tensor %u of graph \"%s\" has no field \"name\"", i, r->g->name);
    RETURN_IF(ir_find_tensor(r->g, c.name) != IR_NONE, ST_BAD_BINARY, "graph \"%s\" has two tensors named \"%s\"",
              r->g->name, c.name);
    RETURN_IF(!dlc_type_to_role(type, &c), ST_BAD_BINARY, "tensor \"%s\": the field \"type\" is %u, which is not known",
              c.name, type);
    if (c.role == IR_ABSENT)
        return ir_add_tensor(r->g, &c, &at);
    TRY(dlc_read_desc(r, t, c.name, &c.desc));
    const struct dlc_named *extra = dlc_find_name(&r->extras, c.name);
    if (extra)
        TRY(dlc_get_extra(extra->t, c.name, &r->scratch, &c.desc));
    TRY(dlc_layout(&r->model, DLC_MODEL));
    TRY(dlc_layout(&r->extra, DLC_EXTRA));
    TRY(desc_check(&c.desc, c.name));
    return c.role == IR_CONST ? read_constant(r, &c, &at) : ir_add_tensor(r->g, &c, &at);
}
