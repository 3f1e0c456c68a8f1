/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the newest clients (private to api/). Tables only ever grow at their end, so a newer one is the table of
 * include/QNN and what was appended to it since; a client built with older headers does not see the difference. There is one
 * provider, since clients insist on that, and its versions are those of the newest client that is known.
 *
 * Clients copy as many slots as their own headers have. Room behind the slots that are known keeps those of headers that
 * nobody has seen within the table; such a slot answers "not supported", whatever it is called with. */
#ifndef API_INTERFACE_NEXT_H
#define API_INTERFACE_NEXT_H

#include <stddef.h>

#include "QNN/QnnInterface.h"
#include "QNN/System/QnnSystemInterface.h"

enum { NEXT_CORE_MINOR = 40, NEXT_SYSTEM_MINOR = 15, NEXT_DLC_INFO = 62 };

typedef Qnn_ErrorHandle_t (*next_slot)(void);

/* A graph's validation has types of which only the names are known. */
struct next_validate_config;
struct next_validation_result;

struct next_interface {
    QnnInterface_t known;
    Qnn_ErrorHandle_t (*graphValidate)(Qnn_GraphHandle_t graph, const struct next_validate_config **config,
                                       struct next_validation_result **result);
    Qnn_ErrorHandle_t (*graphFreeValidationResult)(struct next_validation_result *result);
    Qnn_ErrorHandle_t (*backendRegisterOpPackageFromBinary)(Qnn_BackendHandle_t backend, const void *binary, uint64_t size,
                                                            const char *interfaceProvider, const char *target);
    next_slot unknown[21];
};
_Static_assert(offsetof(struct next_interface, graphValidate) ==
                   offsetof(QnnInterface_t, QNN_INTERFACE_VER_NAME) + 72 * sizeof(next_slot),
               "slot 72 follows slot 71");

struct next_system_interface {
    QnnSystemInterface_t known;
    next_slot dlc_info[NEXT_DLC_INFO]; /* what a DLC holds, one call per fact */
    next_slot unknown[39];
};
_Static_assert(offsetof(struct next_system_interface, dlc_info) ==
                   offsetof(QnnSystemInterface_t, QNN_SYSTEM_INTERFACE_VER_NAME) + 27 * sizeof(next_slot),
               "slot 27 follows slot 26");

/* Completes the table of this library; called once, when it is loaded. */
void interface_identify(uint32_t id, const char *name, const uint32_t version[3]);

Qnn_ErrorHandle_t next_graph_validate(Qnn_GraphHandle_t graph, const struct next_validate_config **config,
                                      struct next_validation_result **result);
Qnn_ErrorHandle_t next_graph_free_validation(struct next_validation_result *result);
Qnn_ErrorHandle_t next_register_package_from_binary(Qnn_BackendHandle_t backend, const void *binary, uint64_t size,
                                                    const char *interfaceProvider, const char *target);

/* Slots of libQnnSystem.so (next_dlc.c). */
extern const next_slot next_dlc_info[NEXT_DLC_INFO];
Qnn_ErrorHandle_t next_free_record_range(void *recordHandle, uint64_t offset, uint64_t size);

/* The words behind a table that a caller handed over by value, as its headers have it: on x86_64 they are the arguments that
 * follow on the stack. `slots` is the first slot of the table as it arrived. The struct is the first argument on the stack
 * of the functions that get one; its own address will not do, since sanitizers check a copy. */
#define NEXT_STACK_ARGS ((const char *)__builtin_dwarf_cfa())
const uintptr_t *next_behind_table(const void *slots);

#endif
