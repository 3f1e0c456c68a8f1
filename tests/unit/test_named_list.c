/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of named values: what was packed is read again, and whatever else the bytes are is refused or read within them. */
#include "unit.h"

#include <string.h>

#include "base/named_list.h"

static const float gain = 0.5f;
static const int64_t big = -5;
static const struct named_value list[] = { { "gain", 11, false, sizeof gain, &gain },
                                           { "a longer name", 22, false, 6, "hello" },
                                           { "table", 11, true, 0, NULL },
                                           { "b", 4, false, sizeof big, &big },
                                           { "nothing", 5, false, 0, "" } };
enum { MOST = 8 };

static void kept(void **state)
{
    (void)state;
    uint8_t bytes[256];
    struct named_value got[MOST];
    uint32_t n = 0, size = named_list_size(list, COUNT(list));
    assert_true(size % 8 == 0 && size <= sizeof bytes);
    memset(bytes, 0xFF, sizeof bytes);
    named_list_pack(list, COUNT(list), bytes);
    assert_true(size == sizeof bytes || bytes[size] == 0xFF);
    assert_null(named_list_read(bytes, size, got, MOST, &n));
    assert_int_equal(n, COUNT(list));
    for (uint32_t i = 0; i < n; i++) {
        assert_string_equal(got[i].name, list[i].name);
        assert_true(got[i].type == list[i].type && got[i].elsewhere == list[i].elsewhere && got[i].bytes == list[i].bytes);
        if (list[i].bytes)
            assert_memory_equal(got[i].data, list[i].data, list[i].bytes);
    }
    assert_null(named_list_read(NULL, 0, got, MOST, &n));
    assert_int_equal(n, 0);
    assert_non_null(named_list_read(bytes, size, got, COUNT(list) - 1, &n)); /* too many */
}

/* Every beginning of a list, at the end of its memory, and every value of every byte. */
static void anything(void **state)
{
    (void)state;
    uint8_t bytes[256], broken[256];
    struct named_value got[MOST];
    uint32_t n = 0, size = named_list_size(list, COUNT(list));
    named_list_pack(list, COUNT(list), bytes);
    for (uint32_t cut = 1; cut < size; cut++) {
        uint8_t *from = broken + sizeof broken - cut;
        memcpy(from, bytes, cut);
        if (!named_list_read(from, cut, got, MOST, &n))
            assert_true(n > 0 && n < COUNT(list));
    }
    for (uint32_t at = 0; at < size; at++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(broken, bytes, size);
            broken[at] = (uint8_t)value;
            if (named_list_read(broken, size, got, MOST, &n))
                continue;
            for (uint32_t i = 0; i < n; i++) {
                const uint8_t *name = (const uint8_t *)got[i].name, *data = got[i].data;
                assert_true(name >= broken && name + strlen(got[i].name) < broken + size);
                assert_true(got[i].elsewhere || (data >= broken && data + got[i].bytes <= broken + size));
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(kept), cmocka_unit_test(anything) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
