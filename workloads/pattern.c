/* SPDX-License-Identifier: BSD-3-Clause */
#include "pattern.h"

#include <string.h>

enum { WORD = 8, END_WORDS = 64 };

static const uint64_t step = 0x9e3779b97f4a7c15u; /* odd, so all words of a message differ */

uint64_t pattern_key(uint64_t from, uint64_t to, uint64_t channel, uint64_t sequence) {
    const uint64_t numbers[] = {from, to, channel, sequence};
    uint64_t key = 0;
    for (int i = 0; i < 4; i++) {
        key += step + numbers[i];
        key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
        key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
        key ^= key >> 31;
    }
    return key;
}

static void fill_words(unsigned char *bytes, size_t first, size_t behind, uint64_t key) {
    for (size_t i = first; i < behind; i++) {
        uint64_t word = key + i * step;
        memcpy(bytes + i * WORD, &word, WORD);
    }
}

static int words_match(const unsigned char *bytes, size_t first, size_t behind, uint64_t key) {
    uint64_t differences = 0;
    for (size_t i = first; i < behind; i++) {
        uint64_t word;
        memcpy(&word, bytes + i * WORD, WORD);
        differences |= word ^ (key + i * step);
    }
    return differences == 0;
}

void pattern_fill(void *buffer, size_t bytes, uint64_t key, enum pattern_extent extent) {
    size_t words = bytes / WORD;
    if (extent == PATTERN_FULL || words <= 2 * END_WORDS) {
        fill_words(buffer, 0, words, key);
    } else {
        fill_words(buffer, 0, END_WORDS, key);
        fill_words(buffer, words - END_WORDS, words, key);
    }
    uint64_t last = key + words * step;
    memcpy((unsigned char *)buffer + words * WORD, &last, bytes % WORD);
}

int pattern_matches(const void *buffer, size_t bytes, uint64_t key, enum pattern_extent extent) {
    size_t words = bytes / WORD;
    uint64_t last = key + words * step;
    if (memcmp((const unsigned char *)buffer + words * WORD, &last, bytes % WORD) != 0)
        return 0;
    if (extent == PATTERN_FULL || words <= 2 * END_WORDS)
        return words_match(buffer, 0, words, key);
    return words_match(buffer, 0, END_WORDS, key) && words_match(buffer, words - END_WORDS, words, key);
}
