/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the API in any order with any arguments, on objects that all players share: some are free already, some belong
 * to another kind. What decides is the player's dice, so a seed, or the bytes of a fuzz input, says everything. */
#ifndef TESTS_RANDOM_CALLS_H
#define TESTS_RANDOM_CALLS_H

#include "random_args.h"

enum { PLAYER_KNOWN = 24, PLAYER_NETS = 4, PLAYER_BINARY_BYTES = 1 << 16 };

struct player {
    struct dice dice;
    struct known_tensor known[PLAYER_KNOWN];
    struct {
        void *graph;
        struct known_tensor x, y;
    } nets[PLAYER_NETS];
    uint8_t binary[PLAYER_BINARY_BYTES];
    uint64_t binary_bytes;
    unsigned serial, refused, accepted, silent; /* silent: a refusal without explanation */
};

void random_calls_begin(int file);                 /* no objects but a backend; `file`: a descriptor that memory may be of */
void player_init(struct player *p, uint64_t seed); /* all of it zero before; keeps the script of its dice */
Qnn_ErrorHandle_t random_call(struct player *p);
void random_calls_end(void); /* frees every object that is left */

#endif
