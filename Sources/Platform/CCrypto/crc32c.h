#pragma once
// CRC32C (Castagnoli; RFC 3720, appendix B.4) by the processor's own instruction if it has one,
// else by a table of one byte. The running value is complemented, as the instruction requires: it
// starts at 0xffffffff, and the checksum is its complement.
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

static inline uint32_t dray_crc32c_by_table(
    uint32_t crc, const uint8_t *_Nonnull bytes, size_t count, const uint32_t *_Nonnull table)
{
    for (; count > 0; bytes++, count--) crc = crc >> 8 ^ table[(crc ^ *bytes) & 0xff];
    return crc;
}

#if defined(__x86_64__)
static inline int dray_crc32c_has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) static inline uint32_t dray_crc32c_by_instruction(
    uint32_t crc, const uint8_t *_Nonnull bytes, size_t count)
{
    uint64_t wide = crc;
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    crc = (uint32_t)wide;
    for (; count > 0; bytes++, count--) crc = __builtin_ia32_crc32qi(crc, *bytes);
    return crc;
}
#elif defined(__aarch64__)
// HWCAP_CRC32 of asm/hwcap.h.
static inline int dray_crc32c_has_instruction(void) { return (getauxval(AT_HWCAP) >> 7 & 1) != 0; }

__attribute__((target("crc"))) static inline uint32_t dray_crc32c_by_instruction(
    uint32_t crc, const uint8_t *_Nonnull bytes, size_t count)
{
    for (; count >= 8; bytes += 8, count -= 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        crc = __builtin_arm_crc32cd(crc, word);
    }
    for (; count > 0; bytes++, count--) crc = __builtin_arm_crc32cb(crc, *bytes);
    return crc;
}
#else
static inline int dray_crc32c_has_instruction(void) { return 0; }

static inline uint32_t dray_crc32c_by_instruction(
    uint32_t crc, const uint8_t *_Nonnull bytes, size_t count)
{
    (void)bytes;
    (void)count;
    return crc;
}
#endif
