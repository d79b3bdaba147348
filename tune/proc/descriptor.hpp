// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>
#include <utility>

namespace rankwise::tune {

/// @brief An open file, closed when this ends.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor &&other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    Descriptor(const Descriptor &) = delete;
    Descriptor &operator=(const Descriptor &) = delete;
    ~Descriptor() { reset(); }

    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }
    void reset() {
        if (number_ >= 0) {
            close(number_);
        }
        number_ = -1;
    }

  private:
    int number_;
};

} // namespace rankwise::tune
