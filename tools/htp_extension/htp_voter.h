/* SPDX-License-Identifier: Apache-2.0 */
/* Power votes of a program: what its profile and the JSON file want, made and lowered as the stages of its work begin and
 * end (htp_power.h). */
#ifndef TOOLS_HTP_EXTENSION_HTP_VOTER_H
#define TOOLS_HTP_EXTENSION_HTP_VOTER_H

#include "common/tool_extension.h"
#include "htp_extension/htp_params.h"
#include "htp_extension/htp_power.h"

enum { HTP_MAX_CORES = 8 };

struct htp_voter {
    const struct extension_host *host;
    const struct htp_device_params *device; /* NULL: the file says nothing of it */
    struct htp_power power;                 /* its profile is NULL: no votes */
    uint32_t ids[HTP_MAX_CORES];            /* power configs, one per core that the file names, 0: none */
    struct htp_voter *next;                 /* of all in the program, whose timers run together */
};

void htp_voter_open(struct htp_voter *v, const struct extension_host *host, const struct htp_device_params *device,
                    const struct htp_profile *profile);
void htp_voter_close(struct htp_voter *v); /* drops the votes; also of one that was not opened */
/* From any thread. */
enum status htp_voter_stage(struct htp_voter *v, enum extension_stage stage, bool begins);

#endif
