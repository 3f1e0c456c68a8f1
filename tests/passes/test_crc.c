/* SPDX-License-Identifier: Apache-2.0 */
/* The checksum of the format, computed in pieces as loaders do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "binary/binary.h"

/* Of any pieces, one after the other and each alone, it is that of zlib. */
static void test_crc_in_pieces(void **state)
{
    (void)state;
    static uint8_t data[70001];
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (size_t n = 0; n < sizeof data; n = n * 3 + 1) {
        uint32_t want = (uint32_t)crc32_z(0, data, n), running = 0, joined = 0;
        for (size_t at = 0, piece = 1; at < n; at += piece, piece = (piece * 7 + 5) % 9001 + 1) {
            piece = n - at < piece ? n - at : piece;
            running = binary_crc(running, data + at, piece);
            joined = binary_crc_join(joined, binary_crc(0, data + at, piece), piece);
        }
        assert_int_equal(running, want);
        assert_int_equal(joined, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crc_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
