/* SPDX-License-Identifier: Apache-2.0 */
/* Each backend runs a small graph in a child process; for libQnnHtp.so that starts a session, whose guards are read from its
 * log. The graph is the one of qnn-platform-validator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/environment.h"
#include "base/str.h"
#include "doctor/doctor.h"
#include "platform_validator/platform_check.h"

#define LOCKED "it is locked in by: "
#define DEVICE "GPU: OpenCL device "

static const struct backend_row {
    const char *area, *library;
    enum platform_test test;
    enum doctor_level without; /* when it does not work */
    const char *advice;
} backends[] = {
    { "CPU", "libQnnCpu.so", PLATFORM_TEST_FLOATS, DOCTOR_FAIL, "install openqnn again, or correct LD_LIBRARY_PATH" },
    { "HTP", "libQnnHtp.so", PLATFORM_TEST_FLOATS, DOCTOR_FAIL,
      "libQnnHtpPrepare.so, libQnnHtpV*Stub.so and libQnnHtpV*Skel.so beside libQnnHtp.so or in ADSP_LIBRARY_PATH must be "
      "of "
      "the same build; sessions start a process each" },
    { "LPAI", "libQnnLpai.so", PLATFORM_TEST_BYTES, DOCTOR_FAIL,
      "libQnnLpaiStub.so and libQnnLpaiSkel.so beside libQnnLpai.so or in ADSP_LIBRARY_PATH must be of the same build" },
    { "GPU", "libQnnGpu.so", PLATFORM_TEST_FLOATS, DOCTOR_WARN,
      "only for this backend: install an OpenCL loader and a driver (Debian: ocl-icd-libopencl1 and pocl-opencl-icd, or the "
      "driver of your GPU), or name the loader in OPENQNN_OPENCL_LIBRARY; build openqnn with opencl-headers" },
};

struct answer {
    struct platform_report report;
    char guards[256], device[256], warning[512];
};

static struct answer *listener; /* callbacks of logs have no argument of their own; one child, one answer */

static void keep_behind(const char *line, const char *mark, char *ret, size_t size)
{
    const char *found = strstr(line, mark);

    if (!found || ret[0])
        return;
    snprintf(ret, size, "%s", found + strlen(mark));
    ret[strcspn(ret, "\n")] = 0;
}

struct known {
    const char *line;
    bool said;
};

static void compare_sentence(void *arg, const char *sentence)
{
    struct known *known = arg;

    known->said |= strstr(known->line, sentence) != NULL;
}

/* Each library warns of variables that mean nothing; they have a finding of their own. */
static bool is_of_environment(const char *line)
{
    struct known known = { .line = line };

    environment_check(compare_sentence, &known);
    return known.said;
}

__attribute__((format(printf, 1, 0))) static void listen(const char *fmt, QnnLog_Level_t level, uint64_t time, va_list args)
{
    char line[1024];

    (void)time;
    vsnprintf(line, sizeof(line), fmt, args);
    keep_behind(line, LOCKED, listener->guards, sizeof(listener->guards));
    keep_behind(line, DEVICE, listener->device, sizeof(listener->device));
    if (level == QNN_LOG_LEVEL_WARN && !is_of_environment(line))
        keep_behind(line, "", listener->warning, sizeof(listener->warning));
}

static void ask(const void *arg, void *ret)
{
    const struct backend_row *row = arg;

    listener = ret;
    platform_check(row->library, row->test, listen, &listener->report);
}

/* Names of those that are not among the session's guards; false: all are. */
static bool missing_guards(const char *guards, char ret[DOCTOR_TEXT_MAX])
{
    static const char *const names[] = {
        "system call filter", "no capabilities", "no dumps", "user namespace",
        "network namespace",  "IPC namespace",   "Landlock",
    };

    ret[0] = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const size_t used = strlen(ret);
        if (!strstr(guards, names[i]))
            snprintf(ret + used, DOCTOR_TEXT_MAX - used, "%s%s", used ? ", " : "", names[i]);
    }
    return ret[0] != 0;
}

static void judge_session(struct doctor *d, const struct answer *a)
{
    const char *how = getenv("OPENQNN_SESSION");
    char missing[DOCTOR_TEXT_MAX];
    struct doctor_finding *f;

    if (str_eq(how, "inproc")) {
        f = doctor_add(d, DOCTOR_WARN, "session",
                       "OPENQNN_SESSION=inproc: sessions run inside of the client, without guards");
        doctor_advise(f, "unset OPENQNN_SESSION to have them in processes of their own");
    } else if (!a->guards[0]) {
        f = doctor_add(d, DOCTOR_WARN, "session", "libQnnHtp.so did not say in its log what the session is locked in by");
        doctor_advise(f, "this program and the library may be of different versions; see the search path");
    } else if (missing_guards(a->guards, missing)) {
        f = doctor_add(d, DOCTOR_WARN, "session", "started; locked in by: %s; not in force: %s", a->guards, missing);
        doctor_advise(f, "work goes on without them; containers and older kernels refuse some (docs/sessions.md)");
    } else {
        doctor_add(d, DOCTOR_OK, "session", "started in a process of its own; locked in by: %s", a->guards);
    }
}

static void look_at(struct doctor *d, const struct backend_row *row)
{
    struct answer a = { 0 };
    char ended[DOCTOR_WHY_MAX];
    bool whole = doctor_in_child(ask, row, &a, sizeof(a), ended);
    const struct platform_report *r = &a.report;

    if (whole && r->passed) {
        doctor_add(d, DOCTOR_OK, row->area, "%s %s, core API %s, runs a graph%s%s", row->library, r->version, r->core,
                   a.device[0] ? " on OpenCL device " : "", a.device);
    } else {
        /* A backend that starts and then gives wrong numbers is never fine. */
        enum doctor_level level = whole && r->supported ? DOCTOR_FAIL : row->without;
        struct doctor_finding *f = doctor_add(d, level, row->area, "%s: %s", row->library, whole ? r->why : ended);
        doctor_advise(f, "%s", row->advice);
    }
    if (r->passed && a.warning[0])
        doctor_advise(doctor_add(d, DOCTOR_WARN, row->area, "%s warned: %s", row->library, a.warning),
                      "it works all the same; the warning says what was left out");
    if (str_eq(row->area, "HTP") && r->passed)
        judge_session(d, &a);
}

void doctor_backends(struct doctor *d)
{
    for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
        look_at(d, &backends[i]);
}
