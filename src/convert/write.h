/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of model files share (private to convert/). */
#ifndef CONVERT_WRITE_H
#define CONVERT_WRITE_H

#include <stdio.h>

#include "base/str.h"
#include "convert/convert.h"

/* Bytes of a constant. */
uint64_t write_bytes(const struct ir_tensor *t);
/* A constant that goes to the archive; small ones (parameters) stand in the source. */
bool write_archived(const struct ir_tensor *t);

/* The client's number of a tensor's type. */
uint32_t write_tensor_type(const struct ir_tensor *t);

extern const char write_composer[], write_ending[]; /* write_source_text.c */

enum status write_source(const struct ir_graph *g, const struct convert_write *w, FILE *f);
enum status write_tar(const struct ir_graph *g, FILE *f);
enum status write_net_json(const struct ir_graph *g, const struct convert_report *r, const struct convert_write *w, FILE *f);

#endif
