// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/algorithms/between_groups.hpp"

#include <algorithm>

namespace rankwise::collectives {
namespace {

/// Of what the other group sends only the message says how long it is.
constexpr std::uint64_t any_length = std::uint64_t{1} << 60;

/// MPICH's MPIR_CVAR_GATHER_INTER_SHORT_MSG_SIZE and that of scatter: bytes of all blocks together.
constexpr std::uint64_t mpich_short = 2048;

/// One rank's steps, phase after phase.
class BetweenGroups {
  public:
    BetweenGroups(Library library, const Operation &operation, std::uint32_t others, Part part,
                  Writer &writer)
        : library_(library), operation_(operation), others_(others), part_(part), writer_(writer) {}

    void write() {
        switch (operation_.collective) {
        case Collective::barrier:
            within(Collective::barrier, 0);
            exchange(0);
            within(Collective::bcast, 1);
            break;
        case Collective::bcast:
            down(Collective::bcast, operation_.bytes, operation_.bytes);
            break;
        case Collective::scatter:
            directly() ? to_each() : down(Collective::scatter, operation_.bytes, all_blocks());
            break;
        case Collective::reduce:
            up(Collective::reduce, operation_.bytes, operation_.bytes);
            break;
        case Collective::gather:
            directly() ? from_each() : up(Collective::gather, operation_.bytes, all_blocks());
            break;
        case Collective::scatterv:
            to_each();
            break;
        case Collective::gatherv:
            from_each();
            break;
        case Collective::allreduce:
            within(Collective::reduce, operation_.bytes);
            exchange(operation_.bytes);
            within(Collective::bcast, operation_.bytes);
            break;
        case Collective::allgather:
            within(Collective::gather, operation_.bytes);
            exchange(operation_.bytes * operation_.size);
            within(Collective::bcast, operation_.bytes * others_);
            break;
        case Collective::allgatherv:
            to_first_across(operation_.bytes);
            within(Collective::bcast, operation_.total_bytes);
            break;
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block: {
            const std::uint64_t total =
                operation_.total_bytes > 0 ? operation_.total_bytes : operation_.bytes * operation_.size;
            within(Collective::reduce, total);
            exchange(total);
            within(Collective::scatter, total / operation_.size);
            break;
        }
        default:
            to_all_across();
            break;
        }
    }

  private:
    std::uint32_t across(std::uint32_t rank) const { return operation_.size + rank; }
    std::uint32_t root() const { return across(operation_.root); }
    std::uint64_t all_blocks() const {
        return operation_.bytes * (part_ == Part::root ? others_ : operation_.size);
    }
    bool directly() const {
        return (library_ == Library::mpich || library_ == Library::cray) && all_blocks() >= mpich_short;
    }

    /// An operation of the own group, its first rank the root.
    void within(Collective collective, std::uint64_t bytes) {
        if (operation_.size == 1 || (bytes == 0 && collective != Collective::barrier))
            return;
        Operation inner = operation_;
        inner.collective = collective;
        inner.root = 0;
        inner.bytes = bytes;
        inner.total_bytes = 0;
        inner.in_place = false;
        inner.sizes = {};
        writer_.next();
        select(library_, inner).expand(inner, writer_);
        writer_.next();
    }
    /// The first ranks send each other what they have.
    void exchange(std::uint64_t bytes) {
        if (operation_.rank != 0)
            return;
        writer_.next();
        writer_.send(across(0), bytes, 0);
        writer_.receive(across(0), any_length, 0);
        writer_.next();
    }
    /// From the root to the other group.
    void down(Collective collective, std::uint64_t bytes, std::uint64_t all) {
        if (part_ == Part::root)
            writer_.send(across(0), all, 0);
        if (part_ != Part::across)
            return;
        if (operation_.rank == 0)
            writer_.receive(root(), all, 0);
        within(collective, bytes);
    }
    /// From the other group to the root.
    void up(Collective collective, std::uint64_t bytes, std::uint64_t all) {
        if (part_ == Part::root)
            writer_.receive(across(0), all, 0);
        if (part_ != Part::across)
            return;
        within(collective, bytes);
        if (operation_.rank == 0)
            writer_.send(root(), all, 0);
    }
    std::uint64_t block(std::uint32_t rank) const {
        return rank < operation_.sizes.size() ? operation_.sizes[rank] : operation_.bytes;
    }
    void to_each() {
        for (std::uint32_t rank = 0; rank < others_ && part_ == Part::root; ++rank)
            writer_.send(across(rank), block(rank), 0);
        if (part_ == Part::across)
            writer_.receive(root(), any_length, 0);
    }
    void from_each() {
        for (std::uint32_t rank = 0; rank < others_ && part_ == Part::root; ++rank)
            writer_.receive(across(rank), any_length, 0);
        if (part_ == Part::across)
            writer_.send(root(), operation_.bytes, 0);
    }
    void to_first_across(std::uint64_t bytes) {
        writer_.send(across(0), bytes, 0);
        for (std::uint32_t rank = 0; rank < others_ && operation_.rank == 0; ++rank)
            writer_.receive(across(rank), any_length, 0);
    }
    void to_all_across() {
        for (std::uint32_t k = 0; k < others_; ++k) {
            const std::uint32_t to = (operation_.rank + k) % others_;
            writer_.receive(across(to), any_length, no_offset);
            writer_.send(across(to), block(to), no_offset);
        }
    }

    Library library_;
    const Operation &operation_;
    std::uint32_t others_;
    Part part_;
    Writer &writer_;
};

} // namespace

void expand_between_groups(Library library, const Operation &operation, std::uint32_t others, Part part,
                           std::vector<CollectiveStep> &steps) {
    steps.clear();
    Writer writer(steps);
    BetweenGroups(library, operation, others, part, writer).write();
}

} // namespace rankwise::collectives
