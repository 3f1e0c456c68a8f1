/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of the client for a whole context: what graphs spill, and their constants (context_configs/spill_fill_buffer and
 * weights_buffer). They are made when the graphs of the context are there, since only then the backend knows the sizes that
 * -1 asks for, and go before the context does. */
#include <QNN/HTP/QnnHtpContext.h>
#include <QNN/HTP/QnnHtpMem.h>

#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/tool_log.h"
#include "session/session_private.h"

/* One row per kind of buffer; the settings are in the order of enum session_buffer_kind. */
static const struct kind {
    const char *key, *name;
    QnnHtpContext_GetPropertyOption_t property;
    QnnHtpMem_Type_t type;
} kinds[SESSION_BUFFERS] = {
    [SESSION_SPILL_FILL] = { "spill_fill_buffer", "spill-fill", QNN_HTP_CONTEXT_GET_PROP_MAX_SPILLFILL_BUFFER_SIZE,
                             QNN_HTP_MEM_SHARED_SPILLFILL_BUFFER },
    [SESSION_WEIGHTS] = { "weights_buffer", "weights", QNN_HTP_CONTEXT_GET_PROP_WEIGHTS_BUFFER_SIZE,
                          QNN_HTP_MEM_WEIGHTS_BUFFER },
};

static enum status size_of(const struct session *s, const struct kind *k, int64_t wanted, uint64_t *ret)
{
    QnnHtpContext_CustomProperty_t custom = { .option = k->property };
    QnnContext_Property_t property = { .option = QNN_CONTEXT_PROPERTY_OPTION_CUSTOM, .customProperty = &custom };
    QnnContext_Property_t *list[] = { &property, NULL };

    *ret = (uint64_t)wanted;
    if (wanted > 0)
        return ST_OK;

    Qnn_ErrorHandle_t error = s->backend.api.contextGetProperty(s->context, list);
    if (error != QNN_SUCCESS)
        return library_fail(&s->backend.api, error, "context_configs/%s: -1", k->key);
    *ret = custom.weightsBufferSize; /* all members of the union are such a number */
    return ST_OK;
}

static enum status register_buffer(struct session *s, const struct kind *k, int file, uint64_t bytes, Qnn_MemHandle_t *ret)
{
    QnnMemHtp_Descriptor_t custom = { .type = k->type, .size = bytes, .sharedBufferConfig = { file, 0 } };
    Qnn_MemDescriptor_t d = { .dataType = QNN_DATATYPE_UINT_8, .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &custom };

    Qnn_ErrorHandle_t error = s->backend.api.memRegister(s->context, &d, 1, ret);
    return error == QNN_SUCCESS
               ? ST_OK
               : library_fail(&s->backend.api, error,
                              "context_configs/%s: a buffer of %" PRIu64 " bytes could not be registered", k->key, bytes);
}

static enum status open_buffer(struct session *s, const struct kind *k, int64_t wanted, struct session_buffer *ret)
{
    uint64_t bytes;

    TRY(size_of(s, k, wanted, &bytes));
    if (!bytes) {
        tool_log(TOOL_INFO, "context_configs/%s: the graphs need none", k->key);
        return ST_OK;
    }
    ret->file = memfd_create(k->key, MFD_CLOEXEC);
    RETURN_IF(ret->file < 0 || ftruncate(ret->file, (off_t)bytes) != 0, ST_NO_MEMORY,
              "context_configs/%s: no shared memory of %" PRIu64 " bytes: %m", k->key, bytes);
    TRY(register_buffer(s, k, ret->file, bytes, &ret->handle));
    tool_log(TOOL_INFO, "a %s buffer of %" PRIu64 " bytes is registered with the context", k->name, bytes);
    return ST_OK;
}

enum status buffers_open(struct session *s)
{
    for (uint32_t i = 0; i < SESSION_BUFFERS; i++) {
        int64_t wanted = s->config.context.buffers[i];

        s->buffers[i].file = -1;
        if (!wanted || !s->opt.executes)
            continue;
        RETURN_IF(s->backend.id != QNN_BACKEND_ID_HTP, ST_NOT_SUPPORTED,
                  "context_configs/%s is for the HTP backend; \"%s\" has id %u: leave it out", kinds[i].key, s->opt.backend,
                  s->backend.id);
        TRY(open_buffer(s, &kinds[i], wanted, &s->buffers[i]));
    }
    return ST_OK;
}

void buffers_close(struct session *s)
{
    for (uint32_t i = 0; i < SESSION_BUFFERS; i++) {
        struct session_buffer *b = &s->buffers[i];

        if (b->handle && s->backend.api.memDeRegister(&b->handle, 1) != QNN_SUCCESS)
            tool_log(TOOL_WARN, "the %s buffer could not be deregistered", kinds[i].name);
        if (b->handle || b->file > 0)
            close(b->file);
        *b = (struct session_buffer){ .file = -1 };
    }
}
