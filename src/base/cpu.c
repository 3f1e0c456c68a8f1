/* SPDX-License-Identifier: Apache-2.0 */
/* CPU features by CPUID, operating-system support by XGETBV, and for AMX the permission Linux wants to be asked for. */
#include "base/cpu.h"

#include <cpuid.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"

enum { EAX, EBX, ECX, EDX };
enum { REQ_XCOMP_PERM = 0x1023, XCOMP_TILE_DATA = 18 }; /* arch_prctl request and the state component it is for */

static const char *const isa_names[ISA_COUNT] = { "ref", "avx2", "avxvnni", "avx512", "amx" };

/* The bits of CPUID that each level needs beyond the level below. */
static const struct feature {
    uint8_t level, leaf, part, reg, bit;
} features[] = {
    { ISA_AVX2, 1, 0, ECX, 12 },                                  /* FMA */
    { ISA_AVX2, 1, 0, ECX, 28 },                                  /* AVX */
    { ISA_AVX2, 1, 0, ECX, 29 },                                  /* F16C */
    { ISA_AVX2, 7, 0, EBX, 5 },                                   /* AVX2 */
    { ISA_AVXVNNI, 7, 1, EAX, 4 }, { ISA_AVX512, 7, 0, EBX, 16 }, /* F */
    { ISA_AVX512, 7, 0, EBX, 17 },                                /* DQ */
    { ISA_AVX512, 7, 0, EBX, 30 },                                /* BW */
    { ISA_AVX512, 7, 0, EBX, 31 },                                /* VL */
    { ISA_AVX512, 7, 0, ECX, 11 },                                /* VNNI */
    { ISA_AMX, 7, 0, ECX, 1 },                                    /* VBMI: no CPU with AMX lacks it */
    { ISA_AMX, 7, 0, EDX, 24 },                                   /* AMX-TILE */
    { ISA_AMX, 7, 0, EDX, 25 },                                   /* AMX-INT8 */
};

/* Register state that the operating system must save for each level (bits of XCR0). */
static const uint64_t xcr0_needed[ISA_COUNT] = { 0, 0x6, 0x6, 0xe6, 0x600e6 };

static uint64_t xcr0(void)
{
    uint32_t leaf1[4] = { 0 };
    if (!__get_cpuid(1, &leaf1[EAX], &leaf1[EBX], &leaf1[ECX], &leaf1[EDX]) || !(leaf1[ECX] >> 27 & 1))
        return 0; /* no XGETBV */
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

static bool has_features(enum isa level)
{
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        const struct feature *f = &features[i];
        uint32_t reg[4] = { 0 };
        if (f->level != level)
            continue;
        if (!__get_cpuid_count(f->leaf, f->part, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]) || !(reg[f->reg] >> f->bit & 1))
            return false;
    }
    return true;
}

static bool usable(enum isa level, uint64_t os_state)
{
    if ((os_state & xcr0_needed[level]) != xcr0_needed[level] || !has_features(level))
        return false;
    /* Granted to the whole process, threads to come included. Asked only when AMX would be used. */
    return level != ISA_AMX || syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XCOMP_TILE_DATA) == 0;
}

/* The level OPENQNN_ISA allows; a value that is no level name does not limit. */
static enum isa allowed(void)
{
    const char *wanted = getenv("OPENQNN_ISA");
    for (int i = 0; i < ISA_COUNT; i++)
        if (str_eq(wanted, isa_names[i]))
            return (enum isa)i;
    return ISA_COUNT - 1;
}

/* Bit i: level i is usable. */
static uint32_t levels(void)
{
    static _Atomic uint32_t known;
    uint32_t mask = atomic_load_explicit(&known, memory_order_relaxed), first = 0;
    if (mask)
        return mask;

    uint64_t os_state = xcr0();
    enum isa top = allowed();
    mask = 1u << ISA_REF;
    for (int next = ISA_AVX2; next <= (int)top; next++)
        if (usable((enum isa)next, os_state))
            mask |= 1u << next;
        else if (next != ISA_AVXVNNI)
            break;
    /* Threads that come here together must all get the first answer. */
    return atomic_compare_exchange_strong(&known, &first, mask) ? mask : first;
}

enum isa cpu_isa(void)
{
    return (enum isa)(31 - __builtin_clz(levels()));
}

bool cpu_has(enum isa level)
{
    return levels() >> level & 1;
}

bool cpu_permutes_bytes(void)
{
    uint32_t reg[4] = { 0 };
    return cpu_isa() >= ISA_AVX512 && __get_cpuid_count(7, 0, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]) &&
           (reg[ECX] >> 1 & 1);
}

const char *cpu_isa_name(enum isa level)
{
    return (unsigned)level < ISA_COUNT ? isa_names[level] : "unknown";
}

unsigned cpu_cores(void)
{
    /* The kernel refuses a mask smaller than its own; machines with more CPUs than one cpu_set_t holds are rare but real. */
    cpu_set_t sets[8] = {};
    int n = sched_getaffinity(0, sizeof(sets), sets) == 0 ? CPU_COUNT_S(sizeof(sets), sets) : 1;
    return n > 0 ? (unsigned)n : 1;
}
