// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/calls/program_builder.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/registry.hpp"
#include "error.hpp"
#include "schedule/collective_steps.hpp"

namespace rankwise::replay {

ProgramBuilder::ProgramBuilder(std::uint32_t ranks, collectives::Library library, std::string origin_word)
    : builder_(ranks, std::move(origin_word)), library_(library) {
    programs_.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        programs_.emplace_back(builder_, rank);
    communicators_.emplace_back(ranks);
    std::iota(communicators_.front().begin(), communicators_.front().end(), 0u);
}

RankProgram &ProgramBuilder::program(std::uint32_t rank) {
    if (rank >= programs_.size())
        throw Error("rank `" + std::to_string(rank) + "`, but there are `" +
                    std::to_string(programs_.size()) + "`");
    return programs_[rank];
}

const std::vector<std::uint32_t> &ProgramBuilder::members(std::uint32_t comm) const {
    if (comm >= communicators_.size())
        throw Error("communicator `" + std::to_string(comm) + "` was not described");
    return communicators_[comm];
}

std::uint32_t ProgramBuilder::communicator(std::vector<std::uint32_t> members) {
    for (const std::uint32_t member : members)
        program(member);
    communicators_.push_back(std::move(members));
    return static_cast<std::uint32_t>(communicators_.size() - 1);
}

void ProgramBuilder::place(std::span<const std::uint32_t> node) {
    if (node.size() != programs_.size())
        throw Error("nodes of `" + std::to_string(node.size()) + "` ranks for `" +
                    std::to_string(programs_.size()) + "`");
    nodes_.emplace(node);
}

Operation ProgramBuilder::message(bool is_send, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                                  std::int32_t tag, bool synchronous) {
    if (is_send || peer != any)
        program(peer);
    members(comm);
    if (bytes > Operation::mask / 4)
        throw Error("a message of `" + std::to_string(bytes) + "` bytes");
    const std::uint32_t number = tags_.number(comm, tag);
    return is_send ? Operation::send(peer, bytes, number, synchronous)
                   : Operation::receive(peer, bytes, number);
}

void ProgramBuilder::compute(std::uint32_t rank, Picoseconds time) {
    if (time < 0 || static_cast<std::uint64_t>(time) > Operation::mask / 4)
        throw Error("a computation of `" + std::to_string(time) + "` ps");
    if (time > 0)
        program(rank).then(Operation::calc(time));
}

void ProgramBuilder::send(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                          std::int32_t tag, bool synchronous) {
    program(rank).then(message(true, peer, bytes, comm, tag, synchronous));
}

void ProgramBuilder::receive(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes, std::uint32_t comm,
                             std::int32_t tag) {
    program(rank).then(message(false, peer, bytes, comm, tag));
}

std::uint32_t ProgramBuilder::isend(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes,
                                    std::uint32_t comm, std::int32_t tag, bool synchronous) {
    return program(rank).then_start(message(true, peer, bytes, comm, tag, synchronous));
}

std::uint32_t ProgramBuilder::ireceive(std::uint32_t rank, std::uint32_t peer, std::uint64_t bytes,
                                       std::uint32_t comm, std::int32_t tag) {
    return program(rank).beside(message(false, peer, bytes, comm, tag));
}

void ProgramBuilder::check_request(std::uint32_t rank, std::uint32_t request) const {
    if (request >= builder_.size(rank))
        throw Error("rank `" + std::to_string(rank) + "` waits for a request it does not have");
}

void ProgramBuilder::resolve(std::uint32_t rank, std::uint32_t request, std::uint32_t peer,
                             std::uint32_t comm, std::int32_t tag) {
    RankProgram &own = program(rank);
    program(peer);
    members(comm);
    check_request(rank, request);
    own.resolve(request, peer, tags_.number(comm, tag));
}

void ProgramBuilder::wait(std::uint32_t rank, std::span<const std::uint32_t> requests) {
    RankProgram &own = program(rank);
    for (const std::uint32_t request : requests)
        check_request(rank, request);
    own.wait_for(requests);
}

std::vector<std::uint32_t> ProgramBuilder::collective(std::uint32_t rank, std::uint32_t comm,
                                                      collectives::Operation operation,
                                                      const collectives::Algorithm *algorithm,
                                                      double combine_ps_per_byte) {
    RankProgram &own = program(rank);
    const std::vector<std::uint32_t> &group = members(comm);
    const auto found = comm == 0 ? group.begin() + rank : std::find(group.begin(), group.end(), rank);
    if (found == group.end())
        throw Error("rank `" + std::to_string(rank) + "` is not in the communicator of its collective call");
    operation.rank = static_cast<std::uint32_t>(found - group.begin());
    operation.size = static_cast<std::uint32_t>(group.size());
    if (operation.root >= operation.size)
        throw Error("root `" + std::to_string(operation.root) + "` of a communicator of `" +
                    std::to_string(operation.size) + "` ranks");
    const auto fits = [&](std::span<const std::uint64_t> sizes) {
        return sizes.empty() || sizes.size() == operation.size;
    };
    if (!fits(operation.sizes) || !fits(operation.receive_sizes))
        throw Error("sizes of `" + std::to_string(operation.sizes.size()) +
                    "` blocks in a communicator of `" + std::to_string(operation.size) + "` ranks");
    if (comm == 0 && nodes_)
        operation.nodes = &*nodes_;
    if (algorithm != nullptr && algorithm->collective != operation.collective)
        throw Error("algorithm `" + std::string(algorithm->name) + "` is one of another collective");
    collectives::expand(algorithm != nullptr ? *algorithm : collectives::select(library_, operation),
                        operation, steps_);
    return write_collective(own, steps_, group, tags_.collective(comm), combine_ps_per_byte);
}

} // namespace rankwise::replay
