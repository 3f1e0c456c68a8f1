/* SPDX-License-Identifier: Apache-2.0 */
/* Constants in fewer bytes, without loss, and quick to bring back: no symbol depends on the one before it.
 *
 *   nibbles   lowest value | two differences from it per byte
 *   sparse    most frequent value | a bit per byte: it is another one | the others
 *   groups    layout | block | block | …  | bytes that are no whole element
 *
 * A block is up to 4096 bytes of equal rank in their elements (of 16-bit floats the low ones, then the high ones):
 *
 *   center | width of each group of 16, 4 bits each | groups: 16 differences from the center of so many bits
 *
 * Differences are folded (0, -1, 1, -2, … become 0, 1, 2, 3, …), so that small ones have few bits whatever their sign. The
 * high byte of a float is turned by one bit first, which puts its sign behind its exponent. */
#include <string.h>

#include "binary/binary_format.h"

enum { BYTE = 8, NIBBLE = 4, GROUP = 16, BLOCK = 4096, SAMPLE = 1 << 16, VALUES = 256 };
enum { TURNED = 16, STRIDES = TURNED - 1 }; /* layout: bytes of an element, and whether the high one is turned */

/* ---- nibbles ---------------------------------------------------------------------------------------------------------- */

struct range {
    uint8_t lo, hi;
};

static struct range range_of(const uint8_t *data, uint64_t bytes, uint8_t flip)
{
    struct range r = { VALUES - 1, 0 };

    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t v = data[i] ^ flip;
        r.lo = v < r.lo ? v : r.lo;
        r.hi = v > r.hi ? v : r.hi;
    }
    return r;
}

/* The lowest value; signed ones may lie on both sides of 0. */
static bool nibble_base(const uint8_t *data, uint64_t bytes, uint8_t *ret)
{
    static const uint8_t flips[] = { 0, 0x80 };

    for (size_t i = 0; bytes && i < sizeof flips; i++) {
        struct range r = range_of(data, bytes, flips[i]);
        if (r.hi - r.lo < 1 << NIBBLE) {
            *ret = r.lo ^ flips[i];
            return true;
        }
    }
    return false;
}

static void put_nibbles(const uint8_t *data, uint64_t bytes, uint8_t base, uint8_t *ret)
{
    *ret++ = base;
    for (uint64_t i = 0; i < bytes; i += 2) {
        uint8_t low = (uint8_t)(data[i] - base);
        uint8_t high = i + 1 < bytes ? (uint8_t)(data[i + 1] - base) : 0;
        *ret++ = (uint8_t)(low | high << NIBBLE);
    }
}

static bool take_nibbles(const uint8_t *data, uint64_t stored, uint8_t *ret, uint64_t bytes)
{
    if (stored != 1 + (bytes + 1) / 2)
        return false;
    uint8_t base = *data++;

    for (uint64_t i = 0; i < bytes / 2; i++) {
        ret[2 * i] = (uint8_t)(base + (data[i] & 15));
        ret[2 * i + 1] = (uint8_t)(base + (data[i] >> NIBBLE));
    }
    if (bytes & 1)
        ret[bytes - 1] = (uint8_t)(base + (data[bytes / 2] & 15));
    return true;
}

/* ---- sparse ----------------------------------------------------------------------------------------------------------- */

static uint8_t most_frequent(const uint8_t *data, uint64_t bytes, uint64_t *ret_count)
{
    uint64_t counts[VALUES] = { 0 };
    uint32_t best = 0;

    for (uint64_t i = 0; i < bytes; i++)
        counts[data[i]]++;
    for (uint32_t v = 1; v < VALUES; v++)
        best = counts[v] > counts[best] ? v : best;
    *ret_count = counts[best];
    return (uint8_t)best;
}

static void put_sparse(const uint8_t *data, uint64_t bytes, uint8_t usual, uint8_t *ret)
{
    uint8_t *masks = ret + 1;
    uint8_t *values = masks + (bytes + BYTE - 1) / BYTE;

    *ret = usual;
    memset(masks, 0, (size_t)(values - masks));
    for (uint64_t i = 0; i < bytes; i++) {
        if (data[i] == usual)
            continue;
        masks[i / BYTE] |= (uint8_t)(1 << i % BYTE);
        *values++ = data[i];
    }
}

static bool take_sparse(const uint8_t *data, uint64_t stored, uint8_t *ret, uint64_t bytes)
{
    uint64_t at = 1 + (bytes + BYTE - 1) / BYTE;
    if (stored < at)
        return false;

    memset(ret, data[0], bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t mask = data[1 + i / BYTE];
        if (!mask)
            i += BYTE - 1;
        if (!(mask >> i % BYTE & 1))
            continue;
        if (at >= stored)
            return false;
        ret[i] = data[at++];
    }
    return at == stored;
}

/* ---- groups: one block ------------------------------------------------------------------------------------------------ */

static uint8_t fold(uint8_t difference)
{
    return (uint8_t)(difference << 1 ^ -(difference >> (BYTE - 1)));
}

/* A whole group has a length that the compiler knows. */
static inline unsigned width_of(const uint8_t *v, uint32_t n, uint8_t center)
{
    uint8_t all = 0;

    for (uint32_t i = 0; i < GROUP && n >= GROUP; i++)
        all |= fold((uint8_t)(v[i] - center));
    for (uint32_t i = 0; i < n && n < GROUP; i++)
        all |= fold((uint8_t)(v[i] - center));
    return all ? 32 - (unsigned)__builtin_clz(all) : 0;
}

static uint32_t groups_of(uint32_t n)
{
    return (n + GROUP - 1) / GROUP;
}

static uint32_t head_bytes(uint32_t n)
{
    return 1 + (groups_of(n) + 1) / 2;
}

static uint32_t block_bytes(const uint8_t *v, uint32_t n, uint8_t center)
{
    uint32_t sum = head_bytes(n);

    for (uint32_t i = 0; i < n; i += GROUP)
        sum += 2 * width_of(v + i, n - i, center);
    return sum;
}

/* Of the values that differences can reasonably be counted from, the one that takes the fewest bytes. */
static uint8_t choose_center(const uint8_t *v, uint32_t n, uint32_t *ret_bytes)
{
    enum { SIGNED = 0x80 };
    uint64_t count;
    struct range plain = range_of(v, n, 0);
    struct range flipped = range_of(v, n, SIGNED);
    const uint8_t centers[] = { most_frequent(v, n, &count), 0, SIGNED, (uint8_t)((plain.lo + plain.hi + 1) / 2),
                                (uint8_t)((flipped.lo + flipped.hi + 1) / 2 ^ SIGNED) };
    uint8_t best = 0;

    *ret_bytes = UINT32_MAX;
    for (size_t i = 0; i < sizeof centers; i++) {
        uint32_t bytes = block_bytes(v, n, centers[i]);
        best = bytes < *ret_bytes ? centers[i] : best;
        *ret_bytes = bytes < *ret_bytes ? bytes : *ret_bytes;
    }
    return best;
}

/* 16 numbers of so many bits each are twice as many bytes; half of them go through one word. */
static void put_group(const uint8_t *v, uint32_t n, uint8_t center, unsigned width, uint8_t *ret)
{
    for (uint32_t half = 0; half < 2; half++, ret += width) {
        uint64_t word = 0;
        for (uint32_t i = 0; i < BYTE; i++) {
            uint32_t k = half * BYTE + i;
            uint64_t z = k < n ? fold((uint8_t)(v[k] - center)) : 0;
            word |= z << i * width;
        }
        memcpy(ret, &word, width);
    }
}

static void put_block(const uint8_t *v, uint32_t n, uint8_t center, uint8_t *ret)
{
    uint8_t *group = ret + head_bytes(n);

    memset(ret, 0, head_bytes(n));
    ret[0] = center;
    for (uint32_t i = 0; i < n; i += GROUP) {
        uint32_t some = n - i < GROUP ? n - i : GROUP;
        unsigned width = width_of(v + i, some, center);
        ret[1 + i / GROUP / 2] |= (uint8_t)(width << (i / GROUP % 2 ? NIBBLE : 0));
        put_group(v + i, some, center, width, group);
        group += 2 * width;
    }
}

/* Eight numbers of `width` bits to a byte each: four and four, two and two, one and one move apart. */
static uint64_t spread(uint64_t word, unsigned width)
{
    const uint64_t fours = (UINT64_C(1) << 4 * width) - 1;
    const uint64_t twos = ((UINT64_C(1) << 2 * width) - 1) * 0x0000000100000001u;
    const uint64_t singles = ((UINT64_C(1) << width) - 1) * 0x0001000100010001u;

    word = (word & fours) | (word >> 4 * width & fours) << 32;
    word = (word & twos) | (word >> 2 * width & twos) << 16;
    return (word & singles) | (word >> width & singles) << 8;
}

/* Eight differences are unfolded and added at once, a byte each. At least 2 * width of the bytes are there. */
static void take_group(const uint8_t *data, uint64_t there, unsigned width, uint8_t center, uint8_t ret[GROUP])
{
    const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones, high = 0x80 * ones, c = center * ones;

    for (uint32_t half = 0; half < 2; half++) {
        uint64_t word = 0;
        if (there >= 2 * sizeof word)
            memcpy(&word, data + half * width, sizeof word); /* what is too much is masked */
        else
            memcpy(&word, data + half * width, width);
        uint64_t z = spread(word, width);
        uint64_t d = (z >> 1 & low) ^ (z & ones) * 0xff;
        uint64_t v = ((d & low) + (c & low)) ^ ((d ^ c) & high);
        memcpy(ret + half * BYTE, &v, BYTE);
    }
}

/* Returns the bytes that were read; 0: they are no block. */
static uint64_t take_block(const uint8_t *data, uint64_t stored, uint32_t n, uint8_t ret[BLOCK])
{
    uint64_t at = head_bytes(n);
    if (stored < at)
        return 0;

    for (uint32_t i = 0; i < n; i += GROUP) {
        unsigned width = data[1 + i / GROUP / 2] >> (i / GROUP % 2 ? NIBBLE : 0) & 15;
        if (width > BYTE || stored - at < 2 * width)
            return 0;
        take_group(data + at, stored - at, width, data[0], ret + i);
        at += 2 * width;
    }
    return at;
}

/* ---- groups: bytes of elements ---------------------------------------------------------------------------------------- */

static uint8_t turn(uint8_t v)
{
    return (uint8_t)(v << 1 | v >> (BYTE - 1));
}

static uint8_t turn_back(uint8_t v)
{
    return (uint8_t)(v >> 1 | v << (BYTE - 1));
}

/* Byte `rank` of n elements. */
static void gather(const uint8_t *data, uint32_t n, uint8_t layout, uint32_t rank, uint8_t ret[BLOCK])
{
    uint32_t stride = layout & STRIDES;
    bool turned = layout & TURNED && rank == stride - 1;

    for (uint32_t i = 0; i < n; i++)
        ret[i] = turned ? turn(data[(size_t)i * stride + rank]) : data[(size_t)i * stride + rank];
}

static void scatter(const uint8_t *block, uint32_t n, uint8_t layout, uint32_t rank, uint8_t *ret)
{
    uint32_t stride = layout & STRIDES;
    bool turned = layout & TURNED && rank == stride - 1;

    for (uint32_t i = 0; i < n; i++)
        ret[(size_t)i * stride + rank] = turned ? turn_back(block[i]) : block[i];
}

/* Bytes of all blocks; they are written where `ret` is not NULL. */
static uint64_t each_block(const uint8_t *data, uint64_t bytes, uint8_t layout, uint8_t *ret)
{
    uint32_t stride = layout & STRIDES;
    uint64_t elements = bytes / stride, sum = 0;
    uint8_t block[BLOCK];

    for (uint64_t e = 0; e < elements; e += BLOCK) {
        uint32_t n = elements - e < BLOCK ? (uint32_t)(elements - e) : BLOCK;
        for (uint32_t rank = 0; rank < stride; rank++) {
            uint32_t some;
            gather(data + e * stride, n, layout, rank, block);
            uint8_t center = choose_center(block, n, &some);
            if (ret)
                put_block(block, n, center, ret + sum);
            sum += some;
        }
    }
    if (ret)
        memcpy(ret + sum, data + elements * stride, bytes % stride);
    return sum + bytes % stride;
}

/* By the beginning of the constant. */
static uint8_t choose_layout(const uint8_t *data, uint64_t bytes)
{
    static const uint8_t layouts[] = { 1, 2, 2 | TURNED, 4, 4 | TURNED };
    uint64_t some = bytes < SAMPLE ? bytes : SAMPLE, least = UINT64_MAX;
    uint8_t best = 1;

    for (size_t i = 0; i < sizeof layouts; i++) {
        uint64_t sum = each_block(data, some, layouts[i], NULL);
        best = sum < least ? layouts[i] : best;
        least = sum < least ? sum : least;
    }
    return best;
}

static bool take_groups(const uint8_t *data, uint64_t stored, uint8_t *ret, uint64_t bytes)
{
    uint8_t layout = stored ? data[0] : 0;
    uint32_t stride = layout & STRIDES;
    uint64_t elements = stride ? bytes / stride : 0, at = 1;
    uint8_t block[BLOCK];

    if (stride != 1 && stride != 2 && stride != 4)
        return false;
    for (uint64_t e = 0; e < elements; e += BLOCK) {
        uint32_t n = elements - e < BLOCK ? (uint32_t)(elements - e) : BLOCK;
        for (uint32_t rank = 0; rank < stride; rank++) {
            uint64_t some = take_block(data + at, stored - at, n, block);
            if (!some)
                return false;
            scatter(block, n, layout, rank, ret + e * stride);
            at += some;
        }
    }
    if (stored - at != bytes % stride)
        return false;
    memcpy(ret + elements * stride, data + at, bytes % stride);
    return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------ */

uint64_t binary_stored_bytes(enum binary_storage storage, const uint8_t *data, uint64_t bytes)
{
    uint64_t stored = bytes, count;
    uint8_t base;

    if (storage == STORE_NIBBLES && nibble_base(data, bytes, &base))
        stored = 1 + (bytes + 1) / 2;
    if (storage == STORE_SPARSE) {
        most_frequent(data, bytes, &count);
        stored = 1 + (bytes + BYTE - 1) / BYTE + bytes - count;
    }
    if (storage == STORE_GROUPS)
        stored = 1 + each_block(data, bytes, choose_layout(data, bytes), NULL);
    return stored < bytes ? stored : bytes;
}

void bin_encode(enum binary_storage storage, const uint8_t *data, uint64_t bytes, uint8_t *ret)
{
    uint64_t count;
    uint8_t first;

    if (storage == STORE_NIBBLES && nibble_base(data, bytes, &first))
        put_nibbles(data, bytes, first, ret);
    if (storage == STORE_SPARSE)
        put_sparse(data, bytes, most_frequent(data, bytes, &count), ret);
    if (storage == STORE_GROUPS) {
        *ret = choose_layout(data, bytes);
        each_block(data, bytes, *ret, ret + 1);
    }
}

enum status bin_decode(enum binary_storage storage, const uint8_t *data, uint64_t stored, uint8_t *ret, uint64_t bytes)
{
    bool good = false;

    if (storage == STORE_PLAIN && stored == bytes) {
        memcpy(ret, data, bytes);
        good = true;
    }
    if (storage == STORE_NIBBLES)
        good = take_nibbles(data, stored, ret, bytes);
    if (storage == STORE_SPARSE)
        good = take_sparse(data, stored, ret, bytes);
    if (storage == STORE_GROUPS)
        good = take_groups(data, stored, ret, bytes);
    RETURN_IF(!good, ST_BAD_BINARY, "context binary: a packed constant of %llu bytes is damaged; prepare the model again",
              (unsigned long long)bytes);
    return ST_OK;
}
