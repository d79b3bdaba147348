// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"

#include "rooms.hpp"

namespace nb = nanobind;

void bind_error(nb::module_ &) {
    nb::register_exception_translator([](const std::exception_ptr &pending, void *) {
        try {
            std::rethrow_exception(pending);
        } catch (const rankwise::Error &error) {
            nb::object type = nb::module_::import_("rankwise.errors").attr("RankwiseError");
            nb::object hint = error.hint().empty() ? nb::none() : nb::object(nb::str(error.hint().c_str()));
            PyErr_SetObject(type.ptr(), type(nb::str(error.what()), hint).ptr());
        }
    });
}
