// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>
#include <string>

namespace rankwise {

/// @brief Input that ends the command: one sentence, values in backticks, and what to do about it.
///
/// Programmers' errors are asserts instead. Becomes `rankwise.errors.RankwiseError` in Python.
class Error : public std::runtime_error {
  public:
    /// @param[in] message one sentence, lower case, no final full stop
    /// @param[in] hint    a way out, may be empty
    explicit Error(const std::string &message, std::string hint = {})
        : std::runtime_error(message), hint_(std::move(hint)) {}

    /// @return the way out, empty if there is none
    const std::string &hint() const noexcept { return hint_; }

  private:
    std::string hint_;
};

} // namespace rankwise
