// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <unordered_map>

#include "pu_set.hpp"

namespace rankwise::tune {

/// @brief A set of units that is kept for many threads, most of which have equal ones: once for all of these.
/// For one thread of the program, as the tuner is.
class Mask {
  public:
    Mask() : set_(none()) {}
    Mask(const PuSet &set) : set_(shared(set)) {} // NOLINT(google-explicit-constructor): it is one

    const PuSet &operator*() const { return *set_; }
    operator const PuSet &() const { return *set_; } // NOLINT(google-explicit-constructor)

    friend bool operator==(const Mask &one, const Mask &other) { return one.set_ == other.set_; }
    friend bool operator==(const Mask &one, const PuSet &other) { return *one.set_ == other; }

  private:
    using Shared = std::shared_ptr<const PuSet>;

    static const Shared &none() {
        static const Shared set = shared({});
        return set;
    }

    static Shared shared(const PuSet &set) {
        // Never destroyed: there may be masks that are destroyed later.
        static auto &sets = *new std::unordered_map<PuSet, std::weak_ptr<const PuSet>>;
        auto &[kept, users] = *sets.try_emplace(set).first;
        auto user = users.lock();
        if (!user) {
            user = Shared(&kept, [](const PuSet *last) { sets.erase(sets.find(*last)); });
            users = user;
        }
        return user;
    }

    Shared set_; ///< that of all with equal ones
};

} // namespace rankwise::tune
