// SPDX-License-Identifier: BSD-3-Clause
#include "trace/symbol_name.hpp"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace rankwise::trace {

std::string readable_name(const std::string &symbol) {
    // Others would be read as types: `i` is `int`.
    if (!symbol.starts_with("_Z")) {
        return symbol;
    }
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
    return status == 0 ? name.get() : symbol;
}

} // namespace rankwise::trace
