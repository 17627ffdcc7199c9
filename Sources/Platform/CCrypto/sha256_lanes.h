#pragma once
// SHA-256 (FIPS 180-4) of several messages in parallel: each register has the same word of all
// messages, one per lane. libcrypto hashes one message after the other, which without SHA
// instructions uses only a fraction of the registers.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include "sha256_constants.h"
#include "sha256_pair.h"

/// The number of lanes that makes hashing several messages faster than one after the other: 16 or 8
/// by the width of the registers, 0 for none. A processor with SHA instructions gains nothing.
static inline int dray_sha256_lane_count(void) {
    if (dray_has_sha_instructions()) return 0;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return 16;
    return __builtin_cpu_supports("avx2") ? 8 : 0;
}

/// Returns true if this processor can run the function for so many lanes.
static inline int dray_sha256_has_lanes(int lanes) {
    if (lanes == 16) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    }
    return lanes == 8 && __builtin_cpu_supports("avx2");
}

// Transposes a square of words: for each stride 1, 2, 4, …, it swaps the off-diagonal words. `low`
// and `high` select the words of two rows with that distance for the new rows.
#define DRAY_SWAP(row, stride, count, low, high)                              \
    _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++) {      \
        if ((i & stride) == 0) {                                              \
            const __typeof__(row[0]) upper = row[i], lower = row[i + stride]; \
            row[i] = __builtin_shufflevector(upper, lower, low);              \
            row[i + stride] = __builtin_shufflevector(upper, lower, high);    \
        }                                                                     \
    }
#define DRAY_LIST(...) __VA_ARGS__
// Converts big-endian words to this processor's byte order.
#define DRAY_WORD(at) at + 3, at + 2, at + 1, at
#define DRAY_WORDS(at) DRAY_WORD(at), DRAY_WORD(at + 4), DRAY_WORD(at + 8), DRAY_WORD(at + 12)

#define DRAY_ROTATE(word, bits) (word >> bits | word << (32 - bits))

// The 64 rounds over `w`, a block of each lane, word by word.
#define DRAY_SHA256_ROUNDS(vector, s, w)                                                        \
    vector a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];      \
    _Pragma("clang loop unroll(full)") for (int t = 0; t < 64; t++) {                           \
        if (t >= 16) {                                                                          \
            const vector x = w[(t + 1) & 15], y = w[(t + 14) & 15];                             \
            w[t & 15] += (DRAY_ROTATE(x, 7) ^ DRAY_ROTATE(x, 18) ^ x >> 3) + w[(t + 9) & 15]    \
                + (DRAY_ROTATE(y, 17) ^ DRAY_ROTATE(y, 19) ^ y >> 10);                          \
        }                                                                                       \
        const vector first = h + (DRAY_ROTATE(e, 6) ^ DRAY_ROTATE(e, 11) ^ DRAY_ROTATE(e, 25))  \
            + ((e & f) ^ (~e & g)) + dray_sha256_constants[t] + w[t & 15];                      \
        const vector second = (DRAY_ROTATE(a, 2) ^ DRAY_ROTATE(a, 13) ^ DRAY_ROTATE(a, 22))     \
            + ((a & b) | (c & (a | b)));                                                        \
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;            \
    }                                                                                           \
    s[0] += a, s[1] += b, s[2] += c, s[3] += d, s[4] += e, s[5] += f, s[6] += g, s[7] += h;

// One function for each register width, for the processors that have it. The macros above are their
// common part. The rest differs everywhere: a register loads a block or half of one, and clang
// requires constants for the exchanged words.

/// Adds `blocks` blocks of 64 bytes of each of 16 messages to their states. `state` has word 0 of
/// all lanes, then word 1 and so on, 128 in total; `messages` has the next byte of each message.
__attribute__((target("avx512f,avx512bw"))) static inline void dray_sha256_16_lanes(
    uint32_t *_Nonnull state, const uint8_t *_Nonnull const *_Nonnull messages, size_t blocks)
{
    typedef uint32_t words __attribute__((vector_size(64)));
    typedef uint8_t bytes __attribute__((vector_size(64)));
    words s[8];
    memcpy(s, state, sizeof s);
    for (size_t block = 0; block < blocks; block++) {
        words w[16];
        _Pragma("clang loop unroll(full)") for (int lane = 0; lane < 16; lane++) {
            bytes given;
            memcpy(&given, messages[lane] + 64 * block, sizeof given);
            w[lane] = (words)__builtin_shufflevector(
                given, given, DRAY_WORDS(0), DRAY_WORDS(16), DRAY_WORDS(32), DRAY_WORDS(48));
        }
        DRAY_SWAP(w, 1, 16, DRAY_LIST(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
            DRAY_LIST(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
        DRAY_SWAP(w, 2, 16, DRAY_LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
            DRAY_LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
        DRAY_SWAP(w, 4, 16, DRAY_LIST(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
            DRAY_LIST(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
        DRAY_SWAP(w, 8, 16, DRAY_LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
            DRAY_LIST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
        DRAY_SHA256_ROUNDS(words, s, w)
    }
    memcpy(state, s, sizeof s);
}

/// As `dray_sha256_16_lanes`, for 8 messages: 64 words of state.
__attribute__((target("avx2"))) static inline void dray_sha256_8_lanes(
    uint32_t *_Nonnull state, const uint8_t *_Nonnull const *_Nonnull messages, size_t blocks)
{
    typedef uint32_t words __attribute__((vector_size(32)));
    typedef uint8_t bytes __attribute__((vector_size(32)));
    words s[8];
    memcpy(s, state, sizeof s);
    for (size_t block = 0; block < blocks; block++) {
        words w[16];
        _Pragma("clang loop unroll(full)") for (int half = 0; half < 2; half++) {
            words *row = w + 8 * half;
            _Pragma("clang loop unroll(full)") for (int lane = 0; lane < 8; lane++) {
                bytes given;
                memcpy(&given, messages[lane] + 64 * block + 32 * half, sizeof given);
                row[lane] =
                    (words)__builtin_shufflevector(given, given, DRAY_WORDS(0), DRAY_WORDS(16));
            }
            DRAY_SWAP(row, 1, 8, DRAY_LIST(0, 8, 2, 10, 4, 12, 6, 14),
                DRAY_LIST(1, 9, 3, 11, 5, 13, 7, 15))
            DRAY_SWAP(row, 2, 8, DRAY_LIST(0, 1, 8, 9, 4, 5, 12, 13),
                DRAY_LIST(2, 3, 10, 11, 6, 7, 14, 15))
            DRAY_SWAP(row, 4, 8, DRAY_LIST(0, 1, 2, 3, 8, 9, 10, 11),
                DRAY_LIST(4, 5, 6, 7, 12, 13, 14, 15))
        }
        DRAY_SHA256_ROUNDS(words, s, w)
    }
    memcpy(state, s, sizeof s);
}

#undef DRAY_SWAP
#undef DRAY_LIST
#undef DRAY_WORD
#undef DRAY_WORDS
#undef DRAY_ROTATE
#undef DRAY_SHA256_ROUNDS
#else
static inline int dray_sha256_lane_count(void) { return 0; }

static inline int dray_sha256_has_lanes(int lanes) {
    (void)lanes;
    return 0;
}

static inline void dray_sha256_16_lanes(
    uint32_t *_Nonnull state, const uint8_t *_Nonnull const *_Nonnull messages, size_t blocks)
{
    (void)state, (void)messages, (void)blocks;
}

static inline void dray_sha256_8_lanes(
    uint32_t *_Nonnull state, const uint8_t *_Nonnull const *_Nonnull messages, size_t blocks)
{
    (void)state, (void)messages, (void)blocks;
}
#endif
