// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

/// @brief A numpy array that owns a vector: nothing is copied.
template <class T> nanobind::object to_numpy(std::vector<T> &&values) {
    auto *const kept = new std::vector<T>(std::move(values));
    nanobind::capsule owner(kept,
                            [](void *pointer) noexcept { delete static_cast<std::vector<T> *>(pointer); });
    return nanobind::cast(
        nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(kept->data(), {kept->size()}, owner));
}
