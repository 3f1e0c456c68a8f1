/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of the HTP backend as its JSON file has them: what libQnnHtpNetRunExtensions.so reads. */
#ifndef TOOLS_HTP_EXTENSION_HTP_PARAMS_H
#define TOOLS_HTP_EXTENSION_HTP_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"

/* A number or flag, and whether the file has it. */
struct htp_u32 {
    uint32_t value;
    bool given;
};
struct htp_flag {
    bool value, given;
};
struct htp_real {
    double value;
    bool given;
};

struct htp_graph_params {
    struct json_list names; /* of strings; none: all graphs */
    struct htp_u32 vtcm_mb, vtcm_bytes, hvx_threads, cores, fp16;
    struct htp_real level, dlbc, dlbc_weights, slc, sparse_weights;
    struct htp_flag weights_packing, short_depth_off, fold_relu_off, sigmoid, monolithic_lstm, activation_fusion, float32;
    struct {
        struct htp_u32 p;
    } finalize;
    bool used; /* a graph has one of its names */
};

struct htp_core_params {
    const char *profile;
    struct htp_u32 latency, polling, hmx_timeout, adaptive;
};

struct htp_device_params {
    struct htp_u32 soc_id, soc_model, device_id, core_type;
    const char *arch, *pd_session, *profiling;
    bool client_context, has_client_context;
    struct json_list core_ids; /* of uint32_t */
    struct json_list cores; /* of struct htp_core_params */
};

struct htp_params {
    struct json_list graphs, devices; /* of struct htp_graph_params, htp_device_params */
    struct {
        struct htp_flag weight_sharing, io_estimation, init_acceleration, lora_sharing, lora_preload, extended_udma;
        struct htp_u32 spill_fill, group_id, file_budget_mb, reused_io_mb;
        const char *patch; /* path of a file */
    } context;
    struct {
        struct htp_flag share_resources;
        struct htp_u32 reused_io_mb;
    } group;
    struct {
        uint32_t type;
        bool given;
    } memory;
};

/* A graph option of openqnn alone, docs/htp-options.md. */
#define HTP_OPTION_FLOAT32 0x4F510001

/* What a performance profile votes for, and its state between stages of work: the table of the public documents. */
struct htp_profile {
    const char *name;
    uint32_t sleep_us, corner, polling_us;
    const struct htp_profile *idle; /* NULL: the profile has no votes, or is such a state itself */
    bool sustained;                 /* votes stay for a time before they are lowered */
    uint32_t least;                 /* corner, where it is another one: DCVS chooses between the two */
};

extern const struct json_field htp_params_fields[];                                         /* ends with an empty one */
enum status htp_params_read(const char *path, struct htp_params *ret, struct arena *arena); /* path NULL: nothing is given */
const struct htp_profile *htp_profile_find(const char *name); /* NULL: unknown */
uint32_t htp_params_arch(const char *text);                  /* "v73" or "73": 73; 0: not an architecture */

#endif
