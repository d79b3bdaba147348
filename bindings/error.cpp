// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"

#include "rooms.hpp"

namespace nb = nanobind;

namespace {

// A message may quote bytes of a damaged file that are no UTF-8.
nb::object text(const std::string &bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

} // namespace

void bind_error(nb::module_ &) {
    nb::register_exception_translator([](const std::exception_ptr &pending, void *) {
        try {
            std::rethrow_exception(pending);
        } catch (const rankwise::Error &error) {
            nb::object type = nb::module_::import_("rankwise.errors").attr("RankwiseError");
            nb::object hint = error.hint().empty() ? nb::none() : text(error.hint());
            PyErr_SetObject(type.ptr(), type(text(error.what()), hint).ptr());
        }
    });
}
