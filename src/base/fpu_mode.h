/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point mode that docs/numerics.md is about: round to nearest even, denormals kept, no exceptions.
 *
 * Callers have other ones: audio hosts and programs linked with -ffast-math flush denormals, some set a rounding mode or
 * unmask exceptions. New threads inherit the mode of the one that starts them.
 *
 *     FPU_DEFAULT_MODE(scope);        until the scope ends; then the caller's mode and flags are back */
#ifndef BASE_FPU_MODE_H
#define BASE_FPU_MODE_H

#include <stdint.h>

#if defined(__x86_64__)
#include <xmmintrin.h>

enum { FPU_DEFAULT_WORD = 0x1f80, FPU_FLAGS = 0x3f };

static inline uint64_t fpu_word(void)
{
    return _mm_getcsr();
}

static inline void fpu_set_word(uint64_t word)
{
    _mm_setcsr((unsigned)word);
}
#elif defined(__aarch64__)
enum { FPU_DEFAULT_WORD = 0, FPU_FLAGS = 0 }; /* flags are in a register of their own */

static inline uint64_t fpu_word(void)
{
    return __builtin_aarch64_get_fpcr64();
}

static inline void fpu_set_word(uint64_t word)
{
    __builtin_aarch64_set_fpcr64(word);
}
#endif

struct fpu_mode {
    uint64_t former;
};

static inline struct fpu_mode fpu_enter(void)
{
    struct fpu_mode mode = { fpu_word() };

    if ((mode.former & ~(uint64_t)FPU_FLAGS) != FPU_DEFAULT_WORD)
        fpu_set_word(FPU_DEFAULT_WORD);
    return mode;
}

/* Flags that calculations raised are not the caller's business, and would be a trap where it unmasked exceptions. */
static inline void fpu_leave(const struct fpu_mode *mode)
{
    if (fpu_word() != mode->former)
        fpu_set_word(mode->former);
}

#define FPU_DEFAULT_MODE(scope) \
    __attribute__((cleanup(fpu_leave), unused)) const struct fpu_mode scope = fpu_enter()

#endif
