/* SPDX-License-Identifier: Apache-2.0 */
/* States of performance profiles, by a clock that the test sets: which votes are due when, for all nine profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "htp_extension/htp_power.h"

#define SECOND UINT64_C(1000000000)

static struct htp_power machine(const char *profile)
{
    struct htp_power p = { .profile = htp_profile_find(profile) };
    assert_non_null(p.profile);
    return p;
}

static void voted(const struct htp_power *p, const char *name)
{
    assert_string_equal(p->now->name, name);
}

/* The states as the public table has them; the last two columns are not in it for all profiles. */
static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t sleep, corner, polling;
        const char *idle;
        bool sustained;
    } rows[] = {
        { "burst", 40, 160, 9999, "RELAXED_POWER_STATE", true },
        { "sustained_high_performance", 100, 128, 9999, "RELAXED_POWER_STATE", true },
        { "high_performance", 100, 128, 9999, "RELAXED_POWER_STATE", false },
        { "balanced", 1000, 112, 0, "RELAXED_POWER_STATE", false },
        { "low_balanced", 1000, 96, 0, "RELAXED_POWER_STATE", false },
        { "high_power_saver", 1000, 80, 0, "RELEASED_POWER_STATE", false },
        { "power_saver", 1000, 64, 0, "RELEASED_POWER_STATE", false },
        { "low_power_saver", 1000, 48, 0, "RELEASED_POWER_STATE", false },
        { "extreme_power_saver", 1000, 16, 0, "RELEASED_POWER_STATE", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct htp_profile *p = htp_profile_find(rows[i].name);
        assert_non_null(p);
        assert_int_equal(p->sleep_us, rows[i].sleep);
        assert_int_equal(p->corner, rows[i].corner);
        assert_int_equal(p->polling_us, rows[i].polling);
        assert_string_equal(p->idle->name, rows[i].idle);
        assert_int_equal(p->sustained, rows[i].sustained);
    }
    const struct htp_profile *relaxed = htp_profile_find("burst")->idle, *released = htp_profile_find("power_saver")->idle;
    assert_true(relaxed->sleep_us == 2000 && relaxed->least == 48 && relaxed->corner == 64 && !relaxed->polling_us);
    assert_true(released->sleep_us == 65535 && released->least == 32 && released->corner == 32);
    assert_null(htp_profile_find("RELAXED_POWER_STATE")); /* no file can name it */
}

static void test_stages(void **state)
{
    (void)state;
    struct htp_power p = machine("high_performance");
    assert_true(htp_power_begin(&p, 1));
    voted(&p, "high_performance");
    assert_true(htp_power_end(&p, 2));
    voted(&p, "RELAXED_POWER_STATE");
    assert_false(htp_power_tick(&p, SECOND)); /* there is no timer */
    for (int i = 0; i < 3; i++) {
        assert_true(htp_power_begin(&p, SECOND));
        voted(&p, "high_performance");
        assert_true(htp_power_end(&p, SECOND));
        voted(&p, "RELAXED_POWER_STATE");
    }
    p = machine("power_saver");
    assert_true(htp_power_begin(&p, 1) && htp_power_end(&p, 2));
    voted(&p, "RELEASED_POWER_STATE");
}

/* Votes stay for as long as any inference is in progress. */
static void test_overlapping(void **state)
{
    (void)state;
    struct htp_power p = machine("high_performance");
    assert_true(htp_power_begin(&p, 1));
    assert_false(htp_power_begin(&p, 2));
    assert_false(htp_power_end(&p, 3));
    voted(&p, "high_performance");
    assert_true(htp_power_end(&p, 4));
    assert_false(htp_power_end(&p, 5)); /* one too many */
    assert_true(htp_power_begin(&p, 6));
    assert_true(htp_power_end(&p, 7));
}

/* A sustained profile keeps its votes for 300 ms behind the last inference, counted anew from each. */
static void test_timer(void **state)
{
    (void)state;
    struct htp_power p = machine("burst");
    uint64_t now = SECOND;
    assert_true(htp_power_begin(&p, now));
    for (int i = 0; i < 10; i++) {
        assert_false(htp_power_end(&p, now));
        now += HTP_SUSTAIN_NS - 1;
        assert_false(htp_power_tick(&p, now));
        assert_false(htp_power_begin(&p, now));
        voted(&p, "burst");
    }
    assert_false(htp_power_tick(&p, now + 100 * SECOND)); /* while something is done the timer does not run */
    assert_false(htp_power_end(&p, now));
    assert_true(htp_power_tick(&p, now + HTP_SUSTAIN_NS));
    voted(&p, "RELAXED_POWER_STATE");
    assert_false(htp_power_tick(&p, now + 2 * HTP_SUSTAIN_NS));
    assert_true(htp_power_begin(&p, now + 2 * HTP_SUSTAIN_NS));
    voted(&p, "burst");
}

/* A late inference finds lower votes, and votes anew. */
static void test_late(void **state)
{
    (void)state;
    struct htp_power p = machine("sustained_high_performance");
    assert_true(htp_power_begin(&p, 0));
    assert_false(htp_power_end(&p, 0));
    assert_true(htp_power_begin(&p, HTP_SUSTAIN_NS));
    voted(&p, "sustained_high_performance");
}

/* Profiles that leave the clocks alone have no lower state. */
static void test_no_clocks(void **state)
{
    (void)state;
    struct htp_power p = machine("system_settings");
    assert_true(htp_power_begin(&p, 1));
    assert_false(htp_power_end(&p, 2));
    voted(&p, "system_settings");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table), cmocka_unit_test(test_stages), cmocka_unit_test(test_overlapping),
        cmocka_unit_test(test_timer), cmocka_unit_test(test_late),   cmocka_unit_test(test_no_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
