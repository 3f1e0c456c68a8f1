/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of protocol buffers, built in memory: fields are appended, messages in messages are built first and then
 * put in. */
#ifndef BENCH_ONNX_MESSAGE_H
#define BENCH_ONNX_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

struct message {
    char *data;
    size_t size, room;
};

void message_varint(struct message *m, uint32_t field, uint64_t value);
void message_float(struct message *m, uint32_t field, float value);
void message_bytes(struct message *m, uint32_t field, const void *data, size_t size);
void message_text(struct message *m, uint32_t field, const char *text);
void message_put(struct message *m, uint32_t field, struct message *part); /* frees the part */
void message_free(struct message *m);

#endif
