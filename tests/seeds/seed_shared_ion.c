/* SPDX-License-Identifier: Apache-2.0 */
/* One shared buffer per tensor: allocated with rpcmem, registered as ION memory by its descriptor, used in place. The result
 * has the same bits as with plain pointers. */
#include "seed_htp_kit.h"

static struct htp_seed seed;

int main(void)
{
    uint8_t *memory[SEED_TENSORS];
    htp_seed_open(&seed);
    for (int i = 0; i < SEED_TENSORS; i++) {
        Qnn_Tensor_t *t = &seed.tensors[i];
        memory[i] = seed.rpcmem_alloc(RPCMEM_HEAP_ID_SYSTEM, RPCMEM_DEFAULT_FLAGS, SEED_IN);
        CHECK(memory[i]);
        int fd = seed.rpcmem_to_fd(memory[i]);
        CHECK(fd != -1);
        Qnn_MemDescriptor_t descriptor = QNN_MEM_DESCRIPTOR_INIT;
        descriptor.memShape = (Qnn_MemShape_t){ t->v1.rank, t->v1.dimensions, NULL };
        descriptor.dataType = t->v1.dataType;
        descriptor.memType = QNN_MEM_TYPE_ION;
        descriptor.ionInfo.fd = fd;
        t->v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
        t->v1.memHandle = NULL;
        CHECK(seed.qnn.memRegister(seed.context, &descriptor, 1u, &t->v1.memHandle) == QNN_SUCCESS);
        if (i < 2)
            memcpy(memory[i], seed.data[i], SEED_IN);
    }
    for (int round = 0; round < 3; round++) {
        memset(memory[2], 0, SEED_IN);
        htp_seed_execute(&seed);
        CHECK(memcmp(memory[2], seed.data[2], SEED_IN) == 0);
    }
    for (int i = 0; i < SEED_TENSORS; i++) {
        CHECK(seed.qnn.memDeRegister(&seed.tensors[i].v1.memHandle, 1) == QNN_SUCCESS);
        seed.rpcmem_free(memory[i]);
    }
    htp_seed_close(&seed);
    return 0;
}
