// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rankwise::trace {

/// @brief A file mapped for reading; its bytes stay where they are as long as this lives.
class MappedFile {
  public:
    /// @param[in] path file to map
    /// @throws Error if it cannot be opened or mapped
    explicit MappedFile(const std::string &path);
    ~MappedFile();
    MappedFile(MappedFile &&other) noexcept;
    MappedFile &operator=(MappedFile &&) = delete;
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;

    /// @return the whole file; empty for an empty file
    std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  private:
    const std::byte *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace rankwise::trace
