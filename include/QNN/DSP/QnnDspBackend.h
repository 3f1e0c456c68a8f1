/* SPDX-License-Identifier: Apache-2.0 */
/* QnnDspBackend.h: backend options of the DSP backend. */
#ifndef OPENQNN_QNNDSPBACKEND_H
#define OPENQNN_QNNDSPBACKEND_H

#include <stdbool.h>

#include "../QnnBackend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which setting a QnnDspBackend_CustomConfig_t holds. */
typedef enum {
    QNN_DSP_BACKEND_CONFIG_OPTION_FOLD_RELU_ACTIVATION_INTO_CONV_OFF = 0,
    QNN_DSP_BACKEND_CONFIG_OPTION_SHORT_DEPTH_CONV_ON_HMX_OFF        = 1,
    QNN_DSP_BACKEND_CONFIG_OPTION_USE_SIGNED_PROCESS_DOMAIN          = 2,
    QNN_DSP_BACKEND_CONFIG_OPTION_ARCH                               = 3,
    QNN_DSP_BACKEND_CONFIG_OPTION_UNKNOWN                            = 0x7FFFFFFF
} QnnDspBackend_ConfigOption_t;

/* Architectures that graphs can be prepared for. */
typedef enum {
    QNN_DSP_BACKEND_DSP_ARCH_NONE    = 0,
    QNN_DSP_BACKEND_DSP_ARCH_V65     = 65,
    QNN_DSP_BACKEND_DSP_ARCH_V66     = 66,
    QNN_DSP_BACKEND_DSP_ARCH_V68     = 68,
    QNN_DSP_BACKEND_DSP_ARCH_V69     = 69,
    QNN_DSP_BACKEND_DSP_ARCH_V73     = 73,
    QNN_DSP_BACKEND_DSP_ARCH_UNKNOWN = 0x7FFFFFFF
} QnnDspBackend_DspArch_t;

/* One setting. */
typedef struct {
    QnnDspBackend_ConfigOption_t option;
    union {
        bool foldReluActivationIntoConvOff;
        bool shortDepthConvOnHmxOff;
        bool useSignedProcessDomain;
        QnnDspBackend_DspArch_t arch;
    };
} QnnDspBackend_CustomConfig_t;

#define QNN_DSP_BACKEND_CUSTOM_CONFIG_INIT {QNN_DSP_BACKEND_CONFIG_OPTION_UNKNOWN, {false}}

#ifdef __cplusplus
}
#endif

#endif
