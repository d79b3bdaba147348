// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"

#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "fault.hpp"
#include "rooms.hpp"

namespace nb = nanobind;

namespace {

// A message may quote bytes of a damaged file that are no UTF-8.
nb::object text(const std::string &bytes) {
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

} // namespace

void bind_error(nb::module_ &module) {
    using rankwise::Fault, rankwise::OperationAt;
    nb::class_<OperationAt>(module, "OperationAt",
                            "An operation, and where its input has it; `core/fault.hpp`.")
        .def_ro("rank", &OperationAt::rank)
        .def_ro("number", &OperationAt::number)
        .def_ro("unit", &OperationAt::unit)
        .def_ro("kind", &OperationAt::kind)
        .def_ro("bytes", &OperationAt::bytes)
        .def_ro("time_ps", &OperationAt::time_ps)
        .def_ro("peer", &OperationAt::peer)
        .def_ro("tag", &OperationAt::tag)
        .def_ro("synchronous", &OperationAt::synchronous);
    nb::class_<Fault>(module, "Fault", "What is wrong with a program as a whole; `core/fault.hpp`.")
        .def_prop_ro("kind", &Fault::name)
        .def_ro("operations", &Fault::operations)
        .def_ro("rank", &Fault::rank)
        .def_ro("count", &Fault::count)
        .def_ro("bytes", &Fault::bytes)
        .def_ro("call", &Fault::call);
    nb::register_exception_translator([](const std::exception_ptr &pending, void *) {
        try {
            std::rethrow_exception(pending);
        } catch (const rankwise::FaultError &error) {
            nb::object type = nb::module_::import_("rankwise.schedule.faults").attr("FaultError");
            PyErr_SetObject(type.ptr(), type(error.fault()).ptr());
        } catch (const rankwise::Error &error) {
            nb::object type = nb::module_::import_("rankwise.errors").attr("RankwiseError");
            nb::object hint = error.hint().empty() ? nb::none() : text(error.hint());
            PyErr_SetObject(type.ptr(), type(text(error.what()), hint).ptr());
        }
    });
}
