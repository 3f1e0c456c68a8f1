/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static void append(struct message *m, const void *data, size_t size)
{
    if (m->size + size > m->room) {
        m->room = 2 * (m->size + size) + 64;
        m->data = realloc(m->data, m->room);
    }
    if (!m->data) {
        fprintf(stderr, "bench: out of memory\n");
        exit(1);
    }
    memcpy(m->data + m->size, data, size);
    m->size += size;
}

static void varint(struct message *m, uint64_t v)
{
    uint8_t byte;
    do {
        byte = (uint8_t)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        append(m, &byte, 1);
        v >>= 7;
    } while (v);
}

void message_varint(struct message *m, uint32_t field, uint64_t value)
{
    varint(m, field << 3 | WIRE_VARINT);
    varint(m, value);
}

void message_float(struct message *m, uint32_t field, float value)
{
    varint(m, field << 3 | WIRE_FIXED32);
    append(m, &value, sizeof value);
}

void message_bytes(struct message *m, uint32_t field, const void *data, size_t size)
{
    varint(m, field << 3 | WIRE_BYTES);
    varint(m, size);
    if (size)
        append(m, data, size);
}

void message_text(struct message *m, uint32_t field, const char *text)
{
    message_bytes(m, field, text, strlen(text));
}

void message_put(struct message *m, uint32_t field, struct message *part)
{
    message_bytes(m, field, part->data, part->size);
    message_free(part);
}

void message_free(struct message *m)
{
    free(m->data);
    *m = (struct message){ 0 };
}
