/* SPDX-License-Identifier: Apache-2.0 */
/* See calibration_samples.h. */
#include "converter/calibration_samples.h"

#include <inttypes.h>
#include <math.h>

#include "base/mem.h"
#include "common/tensor_data.h"
#include "common/tool_log.h"

static const struct tensor_desc *input_desc(const struct runner *r, uint32_t i)
{
    return &r->g->tensors.at[r->in_of[i]].desc;
}

static bool is_float(enum dtype type)
{
    return type == DT_F32 || type == DT_F16;
}

static enum status observe_input(struct calibration_samples *s, const struct runner *r, uint32_t i, float *room)
{
    const uint64_t n = desc_count(input_desc(r, i));
    uint64_t nans = 0;
    bool other = false;

    if (tensor_convertible(&r->in[i]) != ST_OK) {
        s->has_other[i] = true; /* nothing can be said */
        return ST_OK;
    }
    tensor_to_float(&r->in[i], r->in[i].v1.clientBuf.data, 0, n, room);
    for (uint64_t k = 0; k < n; k++) {
        nans += isnan(room[k]) != 0;
        other |= room[k] != 0.0f;
    }
    s->has_other[i] |= other;
    RETURN_IF(nans > 0, ST_INVALID_ARG,
              "input \"%s\" of sample %" PRIu64 " has %" PRIu64 " NaN among %" PRIu64
              " values; no range can be calibrated with it: take that line out of the input list, or write the file again",
              r->in[i].v1.name, s->count, nans, n);
    return ST_OK;
}

enum status calibration_samples_observe(struct calibration_samples *s, const struct runner *r, float *room)
{
    const uint32_t n = r->view.n_inputs;

    if (!s->has_other)
        s->has_other = mem_array(bool, n + 1);
    RETURN_IF(!s->has_other, ST_NO_MEMORY, "no memory to look at %u inputs", n);
    s->count++;
    for (uint32_t i = 0; i < n; i++)
        TRY(observe_input(s, r, i, room));
    return ST_OK;
}

void calibration_samples_report(const struct calibration_samples *s, const struct runner *r)
{
    for (uint32_t i = 0; s->has_other && i < r->view.n_inputs; i++) {
        const struct tensor_desc *d = input_desc(r, i);
        const char *name = r->in[i].v1.name;
        if (s->has_other[i])
            continue;

        if (is_float(d->type))
            tool_log(TOOL_WARN, "input \"%s\" is zero in all %" PRIu64 " samples; ranges behind it say little", name,
                     s->count);
        else if (!s->native && d->type != DT_B8)
            tool_log(TOOL_WARN,
                     "input \"%s\" is %s and zero in all %" PRIu64
                     " samples; files of --input_list hold float32 numbers, and "
                     "integers read so are nearly zero: give --use_native_input_files where they hold integers",
                     name, dtype_name(d->type), s->count);
    }
}

void calibration_samples_finish(struct calibration_samples *s)
{
    mem_free(s->has_other);
    *s = (struct calibration_samples){ 0 };
}
