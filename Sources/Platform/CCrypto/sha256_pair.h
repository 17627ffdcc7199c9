#pragma once
// SHA-256 (FIPS 180-4) of one or two messages with the processor's SHA instructions. Each instruction of a message waits
// for the one before it; those of a second message run in that time. Two messages of the same bytes share the schedule
// of the words as well, so the second one costs some twentieth of the first.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include "sha256_constants.h"

/// Returns true if this processor has SHA instructions.
static inline int dray_has_sha_instructions(void) {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    // CPUID leaf 7, EBX bit 29.
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1) && __builtin_cpu_supports("ssse3");
}

typedef int dray_sha256_words __attribute__((vector_size(16)));

// The states of `count` messages are adjacent, 8 words each. `count` is constant where this is inlined.
__attribute__((target("sha,ssse3"), always_inline)) static inline void dray_sha256_add(
    uint32_t *_Nonnull states, const int count, const uint8_t *_Nonnull bytes, size_t blocks)
{
    typedef uint8_t octets __attribute__((vector_size(16)));
    // The instructions' own order: words F, E, B and A, and H, G, D and C, the first one lowest.
    dray_sha256_words abef[2], cdgh[2];
    _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++) {
        dray_sha256_words low, high;
        memcpy(&low, states + 8 * i, sizeof low);
        memcpy(&high, states + 8 * i + 4, sizeof high);
        abef[i] = __builtin_shufflevector(low, high, 5, 4, 1, 0);
        cdgh[i] = __builtin_shufflevector(low, high, 7, 6, 3, 2);
    }
    for (; blocks > 0; blocks--, bytes += 64) {
        dray_sha256_words before[2][2], w[4];
        _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++) {
            before[i][0] = abef[i];
            before[i][1] = cdgh[i];
        }
        _Pragma("clang loop unroll(full)") for (int i = 0; i < 4; i++) {
            octets given;
            memcpy(&given, bytes + 16 * i, sizeof given);
            w[i] = (dray_sha256_words)__builtin_shufflevector(
                given, given, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
        }
        // Four rounds at a time.
        _Pragma("clang loop unroll(full)") for (int t = 0; t < 16; t++) {
            dray_sha256_words constants;
            memcpy(&constants, dray_sha256_constants + 4 * t, sizeof constants);
            const dray_sha256_words sum = w[t & 3] + constants;
            const dray_sha256_words upper = __builtin_shufflevector(sum, sum, 2, 3, 2, 3);
            _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++)
                cdgh[i] = __builtin_ia32_sha256rnds2(cdgh[i], abef[i], sum);
            _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++)
                abef[i] = __builtin_ia32_sha256rnds2(abef[i], cdgh[i], upper);
            if (t < 12) {
                const dray_sha256_words next = __builtin_ia32_sha256msg1(w[t & 3], w[(t + 1) & 3])
                    + __builtin_shufflevector(w[(t + 2) & 3], w[(t + 3) & 3], 1, 2, 3, 4);
                w[t & 3] = __builtin_ia32_sha256msg2(next, w[(t + 3) & 3]);
            }
        }
        _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++) {
            abef[i] += before[i][0];
            cdgh[i] += before[i][1];
        }
    }
    _Pragma("clang loop unroll(full)") for (int i = 0; i < count; i++) {
        const dray_sha256_words low = __builtin_shufflevector(abef[i], cdgh[i], 3, 2, 7, 6);
        const dray_sha256_words high = __builtin_shufflevector(abef[i], cdgh[i], 1, 0, 5, 4);
        memcpy(states + 8 * i, &low, sizeof low);
        memcpy(states + 8 * i + 4, &high, sizeof high);
    }
}

/// Adds blocks of 64 bytes to a message's state, 8 words.
__attribute__((target("sha,ssse3"))) static inline void dray_sha256_add_blocks(
    uint32_t *_Nonnull state, const uint8_t *_Nonnull bytes, size_t blocks)
{
    dray_sha256_add(state, 1, bytes, blocks);
}

/// Adds the same blocks to two messages' states, 16 words.
__attribute__((target("sha,ssse3"))) static inline void dray_sha256_add_blocks_to_both(
    uint32_t *_Nonnull states, const uint8_t *_Nonnull bytes, size_t blocks)
{
    dray_sha256_add(states, 2, bytes, blocks);
}
#else
static inline int dray_has_sha_instructions(void) { return 0; }

static inline void dray_sha256_add_blocks(
    uint32_t *_Nonnull state, const uint8_t *_Nonnull bytes, size_t blocks)
{
    (void)state, (void)bytes, (void)blocks;
}

static inline void dray_sha256_add_blocks_to_both(
    uint32_t *_Nonnull states, const uint8_t *_Nonnull bytes, size_t blocks)
{
    (void)states, (void)bytes, (void)blocks;
}
#endif
