/* SPDX-License-Identifier: Apache-2.0 */
/* What tests can ask of gpu_shim.so, a libOpenCL.so.1 that hands every call on to the real one, counts it, and fails where
 * it is told to. Tests name it in OPENQNN_OPENCL_LIBRARY, open it themselves, too, and find this table
 * behind SHIM_SYMBOL. */
#ifndef TESTS_GPU_SHIM_H
#define TESTS_GPU_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#define SHIM_SYMBOL "gpu_shim"

struct gpu_shim {
    void (*reset)(void);                     /* counts are 0, nothing fails, devices are as they are */
    uint32_t (*count)(const char *function); /* calls since reset; NULL: of all that may fail */
    /* Call number `nth` (from 0) of `function` (NULL: any that may fail) returns `code`, and with `lasting` all calls after
     * it, too. */
    void (*refuse)(const char *function, uint32_t nth, int code, bool lasting);
    bool (*failed)(void);                    /* something was made to fail since reset */
    int (*live)(void); /* objects of all kinds that were made or retained and not released; reset leaves it */
    uint64_t (*buffer_bytes)(void);          /* of all buffers made since reset */
    void (*driver)(const char *version);     /* what devices say their driver's version is; NULL: the truth */
    void (*align)(uint32_t bytes);           /* what devices say parts of buffers must begin at multiples of; 0: the truth */
    void (*extensions)(const char *more); /* added to those of every device; hidden if it begins with '-'; NULL: the truth */
    uint64_t (*queue_property)(uint64_t key); /* of the last queue that was made with properties, 0: it had none such */
    uint32_t (*meetings)(void); /* times that a program was asked for something while another thread was asking it */
};

#endif
