/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of sessions share: a link (in this process, or through a stub library), a small network in a context
 * binary, and a client that maps, loads, runs and checks it. */
#ifndef TESTS_RPC_KIT_H
#define TESTS_RPC_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "rpc/rpc.h"

enum { KIT_ROWS = 64, KIT_COLUMNS = 48, KIT_N = KIT_ROWS * KIT_COLUMNS, KIT_BYTES = KIT_N * 4, KIT_IO = 3 };

extern const struct rpc_link *kit_link; /* what the client below uses */
extern uint32_t kit_arch;
extern uint32_t kit_lanes; /* of sessions that are opened from now on */

/* The link of the stub library of `arch`, or NULL when sessions cannot have a process in this build (it says so). */
const struct rpc_link *kit_stub(uint32_t arch);

/* A context binary in a memfd: y = relu(x + c), z = transpose(x + c). The descriptor is open until the end of
 * the program. */
int kit_binary(uint64_t *ret_bytes);
/* The same without c and twice x, for any number of rows up to KIT_ROWS. */
int kit_dynamic_binary(uint64_t *ret_bytes);
/* As kit_binary, with x + c in the last bytes of a window of fast memory. The caller closes it. */
int kit_window_binary(uint64_t window, uint64_t *ret_bytes);

/* One client: a session, the binary, one buffer with x, y and z behind each other. */
struct kit_client {
    struct rpc_session *s;
    uint32_t binary, buffer, program;
    float *memory; /* from rpc_alloc */
    struct rpc_io io[KIT_IO];
};

struct rpc_session_opts kit_opts(void);
enum status kit_open(struct kit_client *c);  /* on failure nothing is left open */
void kit_io(struct kit_client *c);           /* io[] as of the buffer's start */
void kit_fill(struct kit_client *c, uint32_t seed);
enum status kit_run(struct kit_client *c, struct rpc_wait wait);
bool kit_right(const struct kit_client *c, uint32_t seed); /* y and z are what plain C says they are */
void kit_close(struct kit_client *c);

unsigned kit_fds(void);       /* open descriptors of this process */
unsigned kit_children(void);  /* child processes, zombies too */
unsigned kit_mappings(void);  /* lines of /proc/self/maps that are shared memory of sessions or buffers */

#endif
