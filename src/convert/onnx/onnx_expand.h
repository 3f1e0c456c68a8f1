/* SPDX-License-Identifier: Apache-2.0 */
/* How operators are written out as others; private to convert/onnx. */
#ifndef CONVERT_ONNX_EXPAND_H
#define CONVERT_ONNX_EXPAND_H

struct expand_row {
    const char *domain, *op, *text;
};

extern const struct expand_row onnx_expand_rows[]; /* a row without an operator ends the list */

#endif
