/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78; RFC 3720, appendix B.4), of writers and readers
 * alike. The processor's instruction for it where there is one.
 */
#ifndef RANKWISE_FORMATS_CRC32C_H
#define RANKWISE_FORMATS_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#define RW_CRC_BYTE(crc, byte) __asm__("crc32b %1, %0" : "+r"(crc) : "rm"(byte))
#define RW_CRC_WORD(crc, word) __asm__("crc32q %1, %0" : "+r"(crc) : "rm"(word))
#define RW_CRC_AVAILABLE() __builtin_cpu_supports("sse4.2")
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#define RW_CRC_BYTE(crc, byte)                                                                               \
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)(byte)))
#define RW_CRC_WORD(crc, word) __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word))
#define RW_CRC_AVAILABLE() (getauxval(AT_HWCAP) >> 7 & 1) /* HWCAP_CRC32 */
#endif

static inline uint32_t rw_crc32c_by_table(uint32_t crc, const unsigned char *at, size_t bytes) {
    uint32_t table[16]; /* of half bytes: made each time, so that nothing is shared */
    for (uint32_t half = 0; half < 16; half++) {
        table[half] = half;
        for (unsigned bit = 0; bit < 4; bit++)
            table[half] = table[half] >> 1 ^ (table[half] & 1 ? 0x82f63b78u : 0);
    }
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return crc;
}

#if defined(RW_CRC_WORD)
static inline uint32_t rw_crc32c_by_instruction(uint32_t before, const unsigned char *at, size_t bytes) {
    uint64_t crc = before;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        RW_CRC_WORD(crc, word);
    }
    for (; bytes; at++, bytes--)
        RW_CRC_BYTE(crc, *at);
    return (uint32_t)crc;
}
#endif

/**
 * @brief Continue a checksum over `bytes` more bytes.
 * @param before what it was so far, 0 at the start
 */
static inline uint32_t rw_crc32c(uint32_t before, const void *data, size_t bytes) {
    const unsigned char *const at = (const unsigned char *)data;
#if defined(RW_CRC_WORD)
    if (RW_CRC_AVAILABLE())
        return ~rw_crc32c_by_instruction(~before, at, bytes);
#endif
    return ~rw_crc32c_by_table(~before, at, bytes);
}

#endif
