/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of LPAI graphs as a JSON file has them (lpaiParams.conf): what libQnnLpaiNetRunExtensions.so reads. */
#ifndef TOOLS_LPAI_EXTENSION_LPAI_PARAMS_H
#define TOOLS_LPAI_EXTENSION_LPAI_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "QNN/LPAI/QnnLpaiBackend.h"
#include "QNN/LPAI/QnnLpaiGraph.h"
#include "base/arena.h"
#include "base/status.h"

/* Indexes of enums are those of the name tables in lpai_params.c. */
struct lpai_params {
    struct {
        uint32_t target, hw;
        bool has_target, has_hw;
    } backend;
    struct {
        struct {
            bool batchnorm_fold, exclude_io, per_layer;
            const char *core_selection;
        } prepare;
        struct {
            uint32_t fps, ftrt_ratio, client_type, affinity, core_selection;
            const char *mem_type;
        } execute;
    } graph;
    struct {
        uint32_t level;
        bool has_level;
    } profile;
    bool has_debug;
};

/* Defaults, then what the file says; path NULL: defaults only. */
enum status lpai_params_read(const char *path, struct lpai_params *ret, struct arena *arena);

QnnLpaiBackend_CustomConfigHwInfo_t lpai_params_hardware(
    const struct lpai_params *p); /* a version that is not given is NA */
QnnLpaiGraph_PerfCfg_t lpai_params_perf(const struct lpai_params *p);
QnnLpaiGraph_CoreAffinity_t lpai_params_affinity(const struct lpai_params *p);
QnnLpaiMem_MemType_t lpai_params_mem_type(const struct lpai_params *p); /* UNDEFINED for a name that is not known */
const char *lpai_params_profiling(const struct lpai_params *p);         /* NULL: not given */

#endif
