/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of the generated abi_*.c files. Sizes, offsets, types and numbers fail at compile time;
 * strings and initializers cannot be constant expressions in C and are compared by main(). All of it works
 * in C11 and in C++17, so that abi_cxx.cpp can compile the same files again. */
#ifndef ABI_ASSERT_H
#define ABI_ASSERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
#include <type_traits>
#define ABI_STATIC(cond, what) static_assert(cond, what);
#define ABI_SAME(a, ...) std::is_same<a, __VA_ARGS__>::value
#define ABI_TYPEOF(expr) std::remove_reference<decltype((expr))>::type
#else
#define ABI_STATIC(cond, what) _Static_assert(cond, what);
#define ABI_SAME(a, ...) __builtin_types_compatible_p(a, __VA_ARGS__)
#define ABI_TYPEOF(expr) __typeof__(expr)
#endif

#define ABI_TEXT1(...) #__VA_ARGS__
#define ABI_TEXT(...) ABI_TEXT1(__VA_ARGS__)

/* Facts that hold at compile time: a number, an enum's size, a type, a struct, its fields, a function. */
#define VALUE(name, value) ABI_STATIC((long long)(name) == (value), #name)
#define ENUM(type, size) ABI_STATIC(sizeof(type) == (size), #type)
#define TYPE(name, ...) ABI_STATIC(ABI_SAME(name, __VA_ARGS__), #name)
#define STRUCT(type, size, align) \
    ABI_STATIC(sizeof(type) == (size) && __alignof__(type) == (align), #type)
#define FIELD(type, field, at, size, ...)                                                          \
    ABI_STATIC(offsetof(type, field) == (at) && sizeof(((type *)0)->field) == (size), #type "." #field) \
    ABI_STATIC(ABI_SAME(ABI_TYPEOF(((type *)0)->field), __VA_ARGS__), #type "." #field " type")
#define PLACE(type, field, at, size) \
    ABI_STATIC(offsetof(type, field) == (at) && sizeof(((type *)0)->field) == (size), #type "." #field)
#define FUNCTION(name, ...) ABI_STATIC(ABI_SAME(ABI_TYPEOF(&name), __VA_ARGS__), #name)

/* Facts that main() compares. */
#define STRING(name, text) abi_expect(strcmp((name), (text)) == 0, #name);
#define PREFIX(name, text) abi_expect(strncmp((name), (text), sizeof(text) - 1) == 0, #name);
#define EXPANDS(name, text) abi_expect(strcmp(ABI_TEXT(name), (text)) == 0, #name);
#define INIT(type, name, checks)           \
    {                                      \
        static const type abi_x = name;    \
        const char *abi_name = #name;      \
        checks                             \
    }
#define ZERO(path) abi_expect(!abi_x.path, abi_name);
#define IS(path, value) abi_expect((long long)abi_x.path == (value), abi_name);
#define REAL(path, value) abi_expect((double)abi_x.path == (value), abi_name);
#define SAYS(path, text) abi_expect(abi_x.path && strcmp(abi_x.path, (text)) == 0, abi_name);

static int abi_failures;
static int abi_checks;

static inline void abi_expect(bool holds, const char *what)
{
    abi_checks++;
    if (!holds) {
        abi_failures++;
        fprintf(stderr, "abi: %s differs\n", what);
    }
}

static inline int abi_result(const char *unit)
{
    printf("abi: %s: %d run-time checks, %d failed\n", unit, abi_checks, abi_failures);
    return abi_failures != 0;
}

#endif
