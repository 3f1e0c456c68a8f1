/* SPDX-License-Identifier: Apache-2.0 */
/* What a context binary says about itself and a reader does not believe: its checksums, and how much memory it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <zlib.h>

#include "binary/binary_format.h"
#include "handmade.h"

/* The checksum is that of zlib, whatever instructions compute it. */
static void test_checksum(void **state)
{
    (void)state;
    enum { MOST = 700, STARTS = 16 };
    uint8_t bytes[MOST + STARTS];
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 2654435761u >> 21);

    for (uint32_t start = 0; start < STARTS; start++)
        for (uint32_t n = 0; n <= MOST; n++)
            assert_int_equal(bin_crc(bytes + start, n), crc32_z(0, bytes + start, n));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
