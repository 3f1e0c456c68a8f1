/* SPDX-License-Identifier: Apache-2.0 */
/* See error_page.h. Causes on devices are what users of the vendor's libraries report in public; causes here follow from
 * this project's own checks. */
#include "common/error_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/qnn_errors.h"
#include "common/tool_log.h"

static const struct cause {
    uint32_t code;
    const char *device, *here;
} causes[] = {
    { 1000, "the library of the device is older than the call, or the backend does not have the feature",
      "the backend does not have the feature; QnnProperty_hasCapability says so beforehand" },
    { 1002,
      "any failure of prepare on HTP: an operator that needs more VTCM than there is, a graph above 2 GiB, no room in "
      "the address space of a session",
      "the same limits, each with its own sentence: divide the model, use narrower types, give the graph less or more "
      "VTCM" },
    { 1003, "the RPC driver refused: permissions of the application, or no driver",
      "the operating system refused a request" },
    { 1005, "a graph or context that was made from a binary is changed or saved again",
      "the same; keep the binary that the context was made from" },
    { 1007, "the DSP restarted (subsystem restart), often after a crash or a time-out of a graph",
      "the session process ended, or gave no sign of life for OPENQNN_SESSION_TIMEOUT; free the context and create it "
      "again" },
    { 1008, "stub, skel and backend library come from different SDKs, or SoC and architecture do not belong together",
      "libraries of different builds are in one process: copy all of them from one installation" },
    { 1009, "stub, skel or prepare library is not found: ADSP_LIBRARY_PATH (with ';' between folders) and LD_LIBRARY_PATH",
      "the same; the message names the file and every folder that was searched" },
    { 1011, "the DSP crashed and could not be started again", "no new session could be started; the log says why" },
    { 1100, "any failure that the library does not explain", "an op package failed; the message names the node" },
    { 3110, "the operator, or its types, shapes or parameters, are not supported by this backend",
      "the same; the message names the tensor or parameter, the value seen and the value allowed" },
    { 4000, "the device could not be opened, mostly because the skel is not found (see 1009)",
      "the backend cannot start; the message says why" },
    { 4003, "an op package for another processor is registered, or a feature is not there", "the same" },
    { 5000, "the runtime is older than the context binary, or the pointer is NULL",
      "an argument is NULL or zero; a binary of another version is 5004 here" },
    { 5004, "the binary was prepared by a newer or much older SDK",
      "the binary was made by another openqnn; binaries made by the vendor's tools have another format altogether" },
    { 5005, "the binary is damaged, was prepared for another chip, or wants more VTCM than the chip has",
      "the binary is damaged; another chip is 5008 here" },
    { 5008, "the binary was prepared for another SoC or architecture",
      "the same; the message names both: prepare for this device, or choose the device with soc_model or OPENQNN_SOC" },
    { 5010, "an option is not known to this version, out of range, or excludes another one",
      "the same; the message names the option, the value and the values allowed" },
    { 5011, "BINARY_COMPATIBILITY is STRICT and the binary does not use what the device has", "the same" },
    { 6001, "a handle of another object, or a freed one", "the same; the message says which of the two" },
    { 6004, "an unknown tensor id, a buffer of the wrong size, or memory that is not registered",
      "the same; the message names tensor, bytes given and bytes needed" },
    { 6005, "the node does not fit its operator, or the operator is not registered",
      "the same; the message names the rule" },
    { 6007, "a node is added before the node that makes its input", "the same: add nodes in the order of the data" },
    { 6022, "prepare failed late: no session, or no memory there", "the same; the message says which" },
    { 6023, "the graph is executed before QnnGraph_finalize succeeded",
      "the same; with DEFER_GRAPH_INIT also QnnContext_finalize is missing" },
    { 6031, "a signal aborted the call; older versions also return it where an operator is not supported",
      "a signal aborted the call" },
    { 6033, "a signal's time ran out", "the same; the time counts from the call, waiting included" },
    { 8002, "the same file descriptor and offset are registered twice", "the same: keep the handle and use it again" },
    { 8003, "the descriptor is no shared memory, is too small, or the session has no room for it",
      "the same; the message names size, offset and free bytes" },
    { 13001, "a power config id, a core or a vote that does not exist", "the same; the message names the value" },
    { 14001, "mostly the skel library is not found, or the SoC is newer than the SDK",
      "an option of the device is not valid; a missing skel is 1009 here" },
    { 14002, "the DSP is not there or not permitted for this application", "the device that was asked for does not exist" },
    { 30010, "the file is no context binary, or was made by another version",
      "the same; the message says what kind of file it is" },
};

static const struct cause *find_cause(uint32_t code)
{
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        if (causes[i].code == code)
            return &causes[i];
    }
    return NULL;
}

static enum status read_code(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 0);

    RETURN_IF(end == text || *end, ST_INVALID_ARG, "\"%s\" is not a number; give a code such as 6004 or 0x1774", text);
    RETURN_IF(
        text[0] == '-' || errno, ST_INVALID_ARG,
        "%s is no error code: codes of the API are positive, from 1000 on; negative numbers come from elsewhere, such as "
        "the RPC library (-errno) or a tool's own exit status",
        text);
    return ST_OK;
}

static enum status unknown(uint64_t code)
{
    const struct qnn_error *low = qnn_error_find(code & 0xffff);

    if (code > UINT16_MAX && low)
        return status_fail(ST_INVALID_ARG,
                           "%" PRIu64 " 0x%" PRIx64 " is no error code; its lower 16 bits are %s %" PRIu32
                           ", and a library may keep a handle in the others: try --explain_error %" PRIu32,
                           code, code, low->name, low->code, low->code);
    return status_fail(ST_INVALID_ARG, "%" PRIu64 " 0x%" PRIx64 " is an unknown error: no header of the API has this code",
                       code, code);
}

enum status error_page(const char *text)
{
    uint64_t code;
    TRY(read_code(text, &code));

    const struct qnn_error *row = qnn_error_find(code);
    if (code == 0) {
        tool_say("QNN_SUCCESS 0 0x0: the call succeeded");
        return ST_OK;
    }
    if (!row)
        return unknown(code);

    const struct cause *cause = find_cause(row->code);
    tool_say("%s %" PRIu32 " 0x%" PRIx32 ": %s", row->name, row->code, row->code, row->meaning);
    if (cause) {
        tool_say("  on a device: %s", cause->device);
        tool_say("  here:        %s", cause->here);
    }
    tool_say(
        "  in a program: QnnError_getVerboseMessage has the sentence of the last failure with this code in this thread");
    return ST_OK;
}
