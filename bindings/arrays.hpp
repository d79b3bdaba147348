// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <utility>
#include <vector>

/// What Python gives: one dimension, contiguous, of exactly this type.
template <class T>
using Array = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T> std::vector<T> to_vector(const Array<T> &array) {
    return {array.data(), array.data() + array.size()};
}

/// What Python gets. An `ndarray` itself would be refused as a property, since it is not part of what has the
/// property.
template <class T> class NumpyArray : public nanobind::object {
  public:
    static constexpr bool nb_typed = true; // nanobind's caster of objects would hide the type
    using Typed = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;
    explicit NumpyArray(const Typed &array) : nanobind::object(nanobind::cast(array)) {}
};

template <class T> struct nanobind::detail::type_caster<NumpyArray<T>> {
    static constexpr auto Name = make_caster<typename NumpyArray<T>::Typed>::Name;
    static handle from_cpp(const NumpyArray<T> &array, rv_policy, cleanup_list *) { return array.inc_ref(); }
};

/// Columns of a table by name.
using Columns = nanobind::typed<nanobind::dict, nanobind::str, nanobind::ndarray<nanobind::numpy>>;

/// @brief A numpy array that owns a vector: nothing is copied.
template <class T> NumpyArray<T> to_numpy(std::vector<T> &&values) {
    auto *const kept = new std::vector<T>(std::move(values));
    nanobind::capsule owner(kept,
                            [](void *pointer) noexcept { delete static_cast<std::vector<T> *>(pointer); });
    return NumpyArray<T>(typename NumpyArray<T>::Typed(kept->data(), {kept->size()}, owner));
}

/// @brief What a function says of each item, as a numpy array.
template <class T, class Items, class Get> NumpyArray<T> column(const Items &items, Get get) {
    std::vector<T> out;
    out.reserve(items.size());
    for (const auto &item : items)
        out.push_back(static_cast<T>(get(item)));
    return to_numpy(std::move(out));
}
