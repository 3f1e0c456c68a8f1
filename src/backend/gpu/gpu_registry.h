/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of one QNN context: which programs its graphs use, and device binaries of them that came from a context binary
 * or from the repository, a file in a folder of the client's. */
#ifndef BACKEND_GPU_GPU_REGISTRY_H
#define BACKEND_GPU_GPU_REGISTRY_H

#include "backend/gpu/gpu_world.h"
#include "binary/binary.h"

struct gpu_registry {
    struct gpu_cache cache;
    bool used[GPU_SOURCE_COUNT][GPU_STORAGE_COUNT];
    char path[1152];      /* of the repository, "": none */
    struct gpu_builds {
        uint64_t ns;
        uint32_t compiled, from_bytes; /* programs */
    } builds;             /* since somebody asked */
    const struct binary *seen; /* the context binary whose bytes were read */
    void *bytes;          /* for a context binary, until the next ones */
};

/* `folder` "": no repository. What is in the repository is read; a file that is of no use is reported and written again
 * later. `fresh`: it is deleted. */
void gpu_registry_init(struct gpu_registry *r, const char *folder, bool fresh);
/* Writes the repository if there is something new. Programs are those of `h`. */
void gpu_registry_finish(struct gpu_registry *r, struct gpu_home *h);
/* The backend's bytes of a context binary, once each. Bytes that are of no use are reported: programs are compiled from text
 * then. */
void gpu_registry_read(struct gpu_registry *r, const struct binary *b);
/* Device binaries of all programs in use, for a context binary. */
enum status gpu_registry_write(struct gpu_registry *r, struct gpu_home *h, const void **ret, uint64_t *bytes);
/* NULL: there is none, or OPENQNN_GPU_BINARIES=off says that none shall be used; none are made then, either. */
const struct gpu_entry *gpu_registry_find(const struct gpu_registry *r, const struct gpu_key *key);

/* ---- programs (gpu_program.c) ----------------------------------------------------------------------------------------- */

/* A kernel of its own for one launch; its program is built when it is needed first, from a device binary of the registry or
 * from text. A failed build explains itself with the compiler's words. */
enum status gpu_home_kernel(struct gpu_home *h, struct gpu_registry *r, enum gpu_kernel kernel, enum gpu_storage storage,
                            cl_kernel *ret);
/* What a device binary depends on: text, options, device and driver. */
struct gpu_key gpu_program_key(const struct gpu_home *h, enum gpu_source source, enum gpu_storage storage);
const char *gpu_kernel_name(enum gpu_kernel kernel);
enum gpu_source gpu_kernel_source(enum gpu_kernel kernel);
struct gpu_key gpu_program_maker(void); /* all texts */
enum status gpu_program_bytes(struct gpu_home *h, enum gpu_source source, enum gpu_storage storage, void **ret,
                              uint64_t *bytes); /* free with mem_free */

#endif
