/* SPDX-License-Identifier: Apache-2.0 */
/* Several tensors in one shared buffer: one descriptor, an offset each. The result has the same bits as with
 * plain pointers. */
#include "seed_htp_kit.h"

#include <QNN/HTP/QnnHtpMem.h>

static struct htp_seed seed;

int main(void)
{
    uint64_t total = (uint64_t)SEED_TENSORS * SEED_IN, offset = 0;
    htp_seed_open(&seed);
    uint8_t *memory = seed.rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, (int)total);
    CHECK(memory);
    int fd = seed.rpcmem_to_fd(memory);
    CHECK(fd != -1);
    for (int i = 0; i < SEED_TENSORS; i++) {
        Qnn_Tensor_t *t = &seed.tensors[i];
        QnnMemHtp_Descriptor_t htp;
        htp.type = QNN_HTP_MEM_SHARED_BUFFER;
        htp.size = total; /* of the whole buffer */
        htp.sharedBufferConfig = (QnnHtpMem_SharedBufferConfig_t){ fd, offset };
        Qnn_MemDescriptor_t descriptor = { .memShape = { t->v1.rank, t->v1.dimensions, NULL }, .dataType = t->v1.dataType,
                                           .memType = QNN_MEM_TYPE_CUSTOM, .customInfo = &htp };
        t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        t->v1.memHandle = NULL;
        CHECK(seed.qnn.memRegister(seed.context, &descriptor, 1u, &t->v1.memHandle) == QNN_SUCCESS);
        if (i < 2)
            memcpy(memory + offset, seed.data[i], SEED_IN);
        offset += SEED_IN;
    }
    for (int round = 0; round < 3; round++) {
        memset(memory + 2 * SEED_IN, 0, SEED_IN);
        htp_seed_execute(&seed);
        CHECK(memcmp(memory + 2 * SEED_IN, seed.data[2], SEED_IN) == 0);
    }
    for (int i = 0; i < SEED_TENSORS; i++)
        CHECK(seed.qnn.memDeRegister(&seed.tensors[i].v1.memHandle, 1) == QNN_SUCCESS);
    seed.rpcmem_free(memory);
    htp_seed_close(&seed);
    return 0;
}
