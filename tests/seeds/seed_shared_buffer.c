/* SPDX-License-Identifier: Apache-2.0 */
/* Shared buffers: one descriptor holds input and output; both are registered with an offset and used where they are. */
#include "seed_kit.h"

#include <QNN/LPAI/QnnLpaiMem.h>
#include <QNN/QnnMem.h>
#include <sys/mman.h>
#include <unistd.h>

enum { X_AT = 0, Y_AT = 4096, BYTES = 8192 };

static Qnn_MemHandle_t add(Qnn_ContextHandle_t context, int fd, uint32_t offset)
{
    static uint32_t dims[2] = { 1, SEED_IN };
    QnnLpaiMem_MemInfoCustom_t part = { fd, offset };
    Qnn_MemDescriptor_t d = QNN_MEM_DESCRIPTOR_INIT;
    d.memShape = (Qnn_MemShape_t){ 2, dims, NULL };
    d.dataType = QNN_DATATYPE_UFIXED_POINT_8;
    d.memType = QNN_MEM_TYPE_CUSTOM;
    d.customInfo = &part;
    Qnn_MemHandle_t handle = NULL;
    MUST(QnnMem_register(context, &d, 1, &handle));
    return handle;
}

int main(void)
{
    struct seed s = seed_open();
    uint32_t size = seed_size(s.graph, QNN_LPAI_GRAPH_GET_PROP_SCRATCH_MEM_SIZE);
    void *scratch = seed_alloc(64, 64, size);
    seed_give(s.graph, QNN_LPAI_GRAPH_SET_CFG_SCRATCH_MEM, scratch, size);
    MUST(QnnGraph_finalize(s.graph, NULL, NULL));
    int fd = memfd_create("shared", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, BYTES) == 0);
    uint8_t *mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(mine != MAP_FAILED);
    Qnn_MemHandle_t handles[2] = { add(s.context, fd, X_AT), add(s.context, fd, Y_AT) };
    Qnn_Tensor_t in = QNN_TENSOR_INIT, out = QNN_TENSOR_INIT;
    in.v1.id = 1;
    in.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    in.v1.memHandle = handles[0];
    out.v1.id = 3;
    out.v1.memType = QNN_TENSORMEMTYPE_MEMHANDLE;
    out.v1.memHandle = handles[1];
    for (int frame = 0; frame < 50; frame++) {
        memset(mine + X_AT, 10 + frame, SEED_IN);
        MUST(QnnGraph_execute(s.graph, &in, 1, &out, 1, NULL, NULL));
        CHECK(mine[Y_AT] == 10 + 2 * frame && mine[Y_AT + SEED_OUT - 1] == mine[Y_AT]);
    }
    MUST(QnnMem_deRegister(handles, 2));
    munmap(mine, BYTES);
    close(fd);
    seed_close(&s);
    free(scratch);
    return 0;
}
