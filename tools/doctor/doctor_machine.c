/* SPDX-License-Identifier: Apache-2.0 */
/* The processor, the instruction set that kernels bind, and variables of openqnn. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/environment.h"
#include "base/str.h"
#include "doctor/doctor.h"

struct levels {
    bool has[ISA_COUNT];
    enum isa best;
};

/* cpu_isa() keeps its first answer, so the question without OPENQNN_ISA needs a process of its own. */
static void all_levels(const void *arg, void *ret)
{
    struct levels *levels = ret;

    (void)arg;
    unsetenv("OPENQNN_ISA");
    for (int i = 0; i < ISA_COUNT; i++)
        levels->has[i] = cpu_has((enum isa)i);
    levels->best = cpu_isa();
}

static void model_name(char *ret, size_t size)
{
    char line[512];
    FILE *file = fopen("/proc/cpuinfo", "re");

    snprintf(ret, size, "unknown processor");
    while (file && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');
        if (!str_starts(line, "model name") || !colon)
            continue;
        snprintf(ret, size, "%s", colon + 1 + strspn(colon + 1, " "));
        ret[strcspn(ret, "\n")] = 0;
        break;
    }
    if (file)
        fclose(file);
}

static void judge_isa(struct doctor *d, const struct levels *cpu)
{
    const char *wanted = getenv("OPENQNN_ISA");
    enum isa bound = cpu_isa();
    struct doctor_finding *f;

    if (bound < cpu->best) {
        f = doctor_add(d, DOCTOR_WARN, "kernels", "they bind %s, as OPENQNN_ISA=%s says; this processor has %s",
                       cpu_isa_name(bound), wanted, cpu_isa_name(cpu->best));
        doctor_advise(f, "unset OPENQNN_ISA for full speed; the numbers are the same");
    } else if (bound == ISA_REF) {
        f = doctor_add(d, DOCTOR_WARN, "kernels", "they bind ref: the processor or the system has no AVX2, FMA and F16C");
        doctor_advise(f, "everything runs, but slowly; in a virtual machine pass the processor through (-cpu host)");
    } else {
        doctor_add(d, DOCTOR_OK, "kernels", "they bind %s%s%s", cpu_isa_name(bound), wanted ? "; OPENQNN_ISA=" : "",
                   wanted ? wanted : "");
    }
}

static void look_at_processor(struct doctor *d)
{
    char name[256], why[DOCTOR_WHY_MAX], sets[128] = "";
    struct levels cpu = { 0 };

    model_name(name, sizeof(name));
    if (!doctor_in_child(all_levels, NULL, &cpu, sizeof(cpu), why)) {
        doctor_add(d, DOCTOR_FAIL, "processor", "%s: its features could not be read: %s", name, why);
        return;
    }
    for (int i = 0; i < ISA_COUNT; i++) {
        if (cpu.has[i])
            snprintf(sets + strlen(sets), sizeof(sets) - strlen(sets), " %s", cpu_isa_name((enum isa)i));
    }
    doctor_add(d, DOCTOR_OK, "processor", "%s, %u cores for this process; usable instruction sets:%s", name, cpu_cores(),
               sets);
    judge_isa(d, &cpu);
}

static void say_variable(void *arg, const char *sentence)
{
    struct doctor_finding *f = doctor_add(arg, DOCTOR_WARN, "environment", "%s", sentence);

    doctor_advise(f, "correct or unset it; README.md of openqnn lists the variables and their values");
}

static void look_at_environment(struct doctor *d)
{
    char set[DOCTOR_TEXT_MAX] = "";

    if (environment_check(say_variable, d))
        return;

    const struct environment_row *row;
    for (size_t i = 0; (row = environment_row(i)); i++) {
        const char *value = getenv(row->name);
        const size_t used = strlen(set);
        if (value && value[0])
            snprintf(set + used, sizeof(set) - used, "%s%s=%.100s", used ? ", " : "", row->name, value);
    }
    doctor_add(d, DOCTOR_OK, "environment", "%s%s",
               set[0] ? "set, and each means something: " : "no OPENQNN_ variable is set", set);
}

void doctor_machine(struct doctor *d)
{
    look_at_processor(d);
    look_at_environment(d);
}
