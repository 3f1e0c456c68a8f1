/* SPDX-License-Identifier: Apache-2.0 */
/* Loops of nothing but the instructions that kernels multiply with, and of nothing but loads and stores. */
#include "bench_peaks.h"

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { CHAINS = 12, LOOPS = 20000, TRIES = 60, MEMORY_TRIES = 8, MAX_THREADS = 256 };
static const uint64_t memory_bytes = 256u << 20; /* more than caches hold */

/* The empty asm keeps the compiler from hoisting the multiplication or joining the chains. */
#define PEAK(name, isa, V, ZERO, OP, lanes)                                            \
    __attribute__((target(isa), noinline)) static double name(void)                    \
    {                                                                                  \
        V acc[CHAINS];                                                                 \
        _Pragma("GCC unroll 16") for (int i = 0; i < CHAINS; i++)                      \
            acc[i] = ZERO;                                                             \
        V x = ZERO, y = ZERO;                                                          \
        __asm__ volatile("" : "+v"(x), "+v"(y));                                       \
        uint64_t start = clock_ns();                                                   \
        for (int k = 0; k < LOOPS; k++) {                                              \
            _Pragma("GCC unroll 64") for (int j = 0; j < 4 * CHAINS; j++) {            \
                const int i = j % CHAINS;                                              \
                acc[i] = OP;                                                           \
                __asm__ volatile("" : "+v"(acc[i]), "+v"(x));                          \
            }                                                                          \
        }                                                                              \
        return 2.0 * (lanes) * 4 * CHAINS * LOOPS / (double)(clock_ns() - start);      \
    }

PEAK(f32_avx2, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_fmadd_ps(x, y, acc[i]), 8)
PEAK(f32_avx512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_fmadd_ps(x, y, acc[i]), 16)
PEAK(f16_avx512, "avx512fp16", __m512h, _mm512_setzero_ph(), _mm512_fmadd_ph(x, y, acc[i]), 32)
/* Bytes have no exact product of their own in AVX2: vpmaddubsw saturates, so kernels widen to 16 bits. */
PEAK(i16_avx2, "avx2", __m256i, _mm256_setzero_si256(), _mm256_add_epi32(acc[i], _mm256_madd_epi16(x, y)), 16)
PEAK(i16_avxvnni, "avx2,avxvnni", __m256i, _mm256_setzero_si256(), _mm256_dpwssd_avx_epi32(acc[i], x, y), 16)
PEAK(i8_avxvnni, "avx2,avxvnni", __m256i, _mm256_setzero_si256(), _mm256_dpbusd_avx_epi32(acc[i], x, y), 32)
PEAK(i16_avx512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), _mm512_dpwssd_epi32(acc[i], x, y), 32)
PEAK(i8_avx512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), _mm512_dpbusd_epi32(acc[i], x, y), 64)

/* ---- AMX -------------------------------------------------------------------------------------------------------------- */

/* Static: compilers know only of the first bytes that ldtilecfg reads. Palette 1, whatever CPUID says of it: virtual
 * machines leave that out. */
static const struct {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} amx_shape = { 1, 0, { 0 }, { 64, 64, 64, 64, 64, 64, 64, 64 }, { 16, 16, 16, 16, 16, 16, 16, 16 } };

static bool amx_multiplies(void)
{
    static uint8_t ones[1024];
    static int32_t sums[256];
    memset(ones, 1, sizeof ones);
    __asm__ volatile("ldtilecfg %0\n\ttilezero %%tmm0\n\ttileloadd (%1,%3,1), %%tmm1\n\ttileloadd (%1,%3,1), %%tmm2\n\t"
                     "tdpbusd %%tmm2, %%tmm1, %%tmm0\n\ttilestored %%tmm0, (%2,%3,1)\n\ttilerelease"
                     ::"m"(amx_shape), "r"(ones), "r"(sums), "r"(64L) : "memory");
    bool right = true;
    for (int i = 0; i < 256; i++)
        right &= sums[i] == 64;
    return right;
}

/* In a process of its own: where the instructions are promised but do not work, only that one ends. */
static bool amx_works(void)
{
    int status = 1;
    pid_t pid = cpu_isa() >= ISA_AMX ? fork() : -1;
    if (pid == 0)
        _exit(amx_multiplies() ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Four sums, as kernels have them. Tiles that are not zero heat the unit so much that the clock may fall. */
static double tiles_multiply(const uint8_t *content)
{
    __asm__ volatile("ldtilecfg %0" ::"m"(amx_shape));
    if (content)
        __asm__ volatile("tileloadd (%0,%1,1), %%tmm4\n\ttileloadd (%0,%1,1), %%tmm5\n\t"
                         "tileloadd (%0,%1,1), %%tmm6\n\ttileloadd (%0,%1,1), %%tmm7" ::"r"(content),
                         "r"(64L)
                         : "memory");
    uint64_t start = clock_ns();
    for (int k = 0; k < LOOPS; k++)
        __asm__ volatile("tdpbusd %%tmm6, %%tmm4, %%tmm0\n\ttdpbusd %%tmm7, %%tmm4, %%tmm1\n\t"
                         "tdpbusd %%tmm6, %%tmm5, %%tmm2\n\ttdpbusd %%tmm7, %%tmm5, %%tmm3" ::);
    uint64_t took = clock_ns() - start;
    __asm__ volatile("tilerelease" ::);
    return 2.0 * 16 * 16 * 64 * 4 * LOOPS / (double)took;
}

static double i8_amx(void)
{
    return tiles_multiply(NULL);
}

static double bytes_amx(void)
{
    uint8_t bytes[1024];
    uint32_t state = 1;
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(state >> 24);
    }
    return tiles_multiply(bytes);
}

/* 16-bit activations by AMX are two products, of their high and their low bytes. */
static double i16_amx(void)
{
    return i8_amx() / 2;
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static void *memory(void)
{
    static __thread char *p;
    if (!p && !posix_memalign((void **)&p, 4096, memory_bytes))
        memset(p, 1, memory_bytes);
    return p;
}

static double memory_read(void)
{
    const __m128i *p = memory();
    if (!p)
        return 0;
    __m128i sum[8] = { 0 };
    uint64_t start = clock_ns();
    for (uint64_t i = 0; i < memory_bytes / 16; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] = _mm_xor_si128(sum[k], _mm_load_si128(p + i + k));
    uint64_t took = clock_ns() - start;
    for (int k = 0; k < 8; k++)
        __asm__ volatile("" ::"x"(sum[k]));
    return (double)memory_bytes / (double)took;
}

/* Bytes read and bytes written count both. */
static double memory_copy(void)
{
    char *p = memory();
    if (!p)
        return 0;
    uint64_t start = clock_ns();
    memcpy(p, p + memory_bytes / 2, memory_bytes / 2);
    return (double)memory_bytes / (double)(clock_ns() - start);
}

/* ---- table ------------------------------------------------------------------------------------------------------------ */

static const struct peak {
    const char *name;
    double (*run)(void);
} peaks[PEAK_KINDS][ISA_COUNT] = {
    [PEAK_INT8] = { [ISA_AVX2] = { "int8 AVX2 vpmaddwd", i16_avx2 },
                    [ISA_AVXVNNI] = { "int8 AVX-VNNI vpdpbusd", i8_avxvnni },
                    [ISA_AVX512] = { "int8 VNNI vpdpbusd", i8_avx512 },
                    [ISA_AMX] = { "int8 AMX tdpbusd", i8_amx } },
    [PEAK_BYTES] = { [ISA_AMX] = { "the same, ordinary bytes", bytes_amx } },
    [PEAK_INT16] = { [ISA_AVX2] = { "int16 AVX2 vpmaddwd", i16_avx2 },
                     [ISA_AVXVNNI] = { "int16 AVX-VNNI vpdpwssd", i16_avxvnni },
                     [ISA_AVX512] = { "int16 VNNI vpdpwssd", i16_avx512 },
                     [ISA_AMX] = { "int16 AMX, two tdpbusd", i16_amx } },
    [PEAK_F32] = { [ISA_AVX2] = { "f32 AVX2 FMA", f32_avx2 }, [ISA_AVX512] = { "f32 AVX-512 FMA", f32_avx512 } },
    [PEAK_F16] = { [ISA_AVX512] = { "f16 AVX512-FP16 FMA", f16_avx512 } },
    [PEAK_READ] = { [ISA_REF] = { "memory read", memory_read } },
    [PEAK_COPY] = { [ISA_REF] = { "memory copy", memory_copy } },
};

static bool has(enum peak_kind kind, enum isa level)
{
    uint32_t a, b, c, d;
    if (!cpu_has(level))
        return false;
    if (kind == PEAK_F16)
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1);
    return level < ISA_AMX || amx_works();
}

struct runner {
    pthread_t thread;
    pthread_barrier_t *start;
    double (*run)(void);
    int tries;
    double best;
};

static void *runner_main(void *arg)
{
    struct runner *r = arg;
    r->run();
    for (int i = 0; i < r->tries; i++) {
        pthread_barrier_wait(r->start);
        double v = r->run();
        r->best = v > r->best ? v : r->best;
    }
    return NULL;
}

static double measure(const struct peak *p, int tries, unsigned threads)
{
    struct runner r[MAX_THREADS];
    pthread_barrier_t start;
    double sum = 0;
    if (threads > MAX_THREADS || pthread_barrier_init(&start, NULL, threads))
        return 0;
    for (unsigned i = 0; i < threads; i++) {
        r[i] = (struct runner){ .start = &start, .run = p->run, .tries = tries };
        if (pthread_create(&r[i].thread, NULL, runner_main, &r[i]))
            exit(1);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(r[i].thread, NULL);
        sum += r[i].best;
    }
    pthread_barrier_destroy(&start);
    return sum;
}

/* Levels without instructions of their own compute as the level below. */
static enum isa level_of(enum peak_kind kind, enum isa level)
{
    while (level > ISA_REF && !peaks[kind][level].name)
        level--;
    return level;
}

double peak_of(enum peak_kind kind, enum isa level, unsigned threads)
{
    static double known[PEAK_KINDS][ISA_COUNT][MAX_THREADS];
    level = level_of(kind, level);
    const struct peak *p = &peaks[kind][level];
    if (!p->name || !threads || threads >= MAX_THREADS)
        return 0;
    double *k = &known[kind][level][threads];
    if (*k == 0 && has(kind, level))
        *k = measure(p, kind >= PEAK_READ ? MEMORY_TRIES : TRIES, threads);
    return *k;
}

const char *peak_name(enum peak_kind kind, enum isa level)
{
    return peaks[kind][level].name;
}
