/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a model, model.bin, as assembler text that embeds them in a library.
 *
 * model.bin is a tar archive of raw files, as converters write it, or any other file. Every file of the archive becomes two
 * symbols, named as if objcopy had converted obj/binary/<file>:
 *
 *     conv1_weight.raw   ->  _binary_obj_binary_conv1_weight_raw_start, _binary_obj_binary_conv1_weight_raw_end
 *
 * A file that is no archive becomes _binary_<file>_start and _binary_<file>_end. What is not a letter, a digit or "_" in a
 * name becomes "_". The bytes are 64-byte aligned, in read-only memory. */
#ifndef TOOLS_MODEL_LIB_GENERATOR_WEIGHT_ARCHIVE_H
#define TOOLS_MODEL_LIB_GENERATOR_WEIGHT_ARCHIVE_H

#include "base/status.h"
#include "base/str.h"

/* `data` are the bytes of the file at `path`; `path` must be absolute, the assembler reads it again. */
enum status weight_archive_text(const char *path, const void *data, size_t size, struct str *to, unsigned *count);

#endif
