// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "collective_names.hpp"
#include "error.hpp"
#include "matched_schedule.hpp"
#include "rooms.hpp"
#include "schedule/program_builder.hpp"

namespace nb = nanobind;
namespace coll = rankwise::collectives;
using namespace nb::literals;
using rankwise::replay::ProgramBuilder;

namespace {

using Sizes = std::vector<std::uint64_t>;

std::vector<std::uint32_t> collective(ProgramBuilder &builder, std::uint32_t rank, const std::string &name,
                                      std::uint32_t comm, std::uint32_t root, std::uint64_t bytes,
                                      std::uint32_t element_bytes, std::uint64_t total_bytes,
                                      const Sizes &sizes, const Sizes &receive_sizes, bool nonblocking) {
    coll::Operation operation;
    operation.collective = collective_of(name);
    operation.root = root;
    operation.bytes = bytes;
    operation.element_bytes = element_bytes;
    operation.total_bytes = total_bytes;
    operation.sizes = sizes;
    operation.receive_sizes = receive_sizes;
    operation.nonblocking = nonblocking;
    return builder.collective(rank, comm, operation);
}

} // namespace

void bind_programs(nb::module_ &module) {
    nb::module_ room = nb::cast<nb::module_>(module.attr("replay"));
    nb::class_<ProgramBuilder>(room, "ProgramBuilder")
        .def(
            "__init__",
            [](ProgramBuilder *self, std::uint32_t ranks, const std::string &library,
               const std::string &origin) {
                if (ranks == 0 || ranks >= (1u << 30))
                    throw rankwise::Error("a program of `" + std::to_string(ranks) + "` ranks");
                new (self) ProgramBuilder(ranks, library_of(library), origin);
            },
            "ranks"_a, "library"_a, "origin_word"_a)
        .def("communicator", &ProgramBuilder::communicator, "members"_a)
        .def("at", &ProgramBuilder::at, "rank"_a, "origin"_a)
        .def("compute", &ProgramBuilder::compute, "rank"_a, "picoseconds"_a)
        .def("send", &ProgramBuilder::send, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a,
             "synchronous"_a = false)
        .def("receive", &ProgramBuilder::receive, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a)
        .def("isend", &ProgramBuilder::isend, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a,
             "synchronous"_a = false)
        .def("ireceive", &ProgramBuilder::ireceive, "rank"_a, "peer"_a, "bytes"_a, "comm"_a, "tag"_a)
        .def("resolve", &ProgramBuilder::resolve, "rank"_a, "request"_a, "peer"_a, "comm"_a, "tag"_a)
        .def(
            "wait",
            [](ProgramBuilder &self, std::uint32_t rank, const std::vector<std::uint32_t> &requests) {
                self.wait(rank, requests);
            },
            "rank"_a, "requests"_a)
        .def("collective", &collective, "rank"_a, "name"_a, nb::kw_only(), "comm"_a = 0, "root"_a = 0,
             "bytes"_a = 0, "element_bytes"_a = 1, "total_bytes"_a = 0, "sizes"_a = Sizes{},
             "receive_sizes"_a = Sizes{}, "nonblocking"_a = false)
        .def("finish", [](ProgramBuilder &self) { return std::make_shared<MatchedSchedule>(self.finish()); });
}
