// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdlib>
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
        const std::size_t bytes = count * sizeof(T);
        if (bytes < 2 * page)
            return static_cast<T *>(::operator new(bytes, alignment()));
        void *const memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
        if (memory == nullptr)
            throw std::bad_alloc();
        madvise(memory, bytes, MADV_HUGEPAGE); // a hint: without it the replay is slower and nothing else
        return static_cast<T *>(memory);
    }
    void deallocate(T *memory, std::size_t count) noexcept {
        if (count * sizeof(T) < 2 * page)
            ::operator delete(memory, alignment());
        else
            std::free(memory);
    }
    template <class U> bool operator==(const HugePageAllocator<U> &) const noexcept { return true; }

  private:
    static constexpr std::size_t page = std::size_t{1} << 21;
    static constexpr std::align_val_t alignment() {
        return std::align_val_t{alignof(T) < 64 ? std::size_t{64} : alignof(T)};
    }
};

template <class T> using LargeArray = std::vector<T, HugePageAllocator<T>>;

} // namespace rankwise
