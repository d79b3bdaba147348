// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace rankwise {

/// @brief Allocates large arrays where the system may back them with huge pages.
///
/// The replay goes through arrays at as many places at once as there are ranks; with pages of 4 KiB nearly
/// each step would look up its page's address first.
template <class T> struct HugePageAllocator {
    using value_type = T;
    HugePageAllocator() = default;
    template <class U> HugePageAllocator(const HugePageAllocator<U> &) noexcept {}

    T *allocate(std::size_t count) {
        if (!is_large(count))
            return static_cast<T *>(::operator new(count * sizeof(T), alignment()));
        // Mapped, not allocated: memory that was in use before has small pages already.
        const std::size_t bytes = rounded(count);
        void *const mapped =
            mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED)
            throw std::bad_alloc();
        char *const begin = static_cast<char *>(mapped);
        const std::size_t before = (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
        if (before > 0)
            munmap(begin, before);
        munmap(begin + before + bytes, page - before);
        char *const memory = begin + before;
        madvise(memory, bytes, MADV_HUGEPAGE); // a hint: without it the replay is slower and nothing else
        return reinterpret_cast<T *>(memory);
    }
    void deallocate(T *memory, std::size_t count) noexcept {
        if (is_large(count))
            munmap(memory, rounded(count));
        else
            ::operator delete(memory, alignment());
    }
    template <class U> bool operator==(const HugePageAllocator<U> &) const noexcept { return true; }

  private:
    static constexpr std::size_t page = std::size_t{1} << 21;
    static constexpr bool is_large(std::size_t count) { return count * sizeof(T) >= 2 * page; }
    static constexpr std::size_t rounded(std::size_t count) {
        return (count * sizeof(T) + page - 1) / page * page;
    }
    static constexpr std::align_val_t alignment() {
        return std::align_val_t{alignof(T) < 64 ? std::size_t{64} : alignof(T)};
    }
};

template <class T> using LargeArray = std::vector<T, HugePageAllocator<T>>;

} // namespace rankwise
