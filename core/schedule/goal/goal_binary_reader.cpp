// SPDX-License-Identifier: BSD-3-Clause
#include "error.hpp"
#include "schedule/goal/goal.hpp"
#include "schedule/goal/goal_binary.hpp"

namespace rankwise::replay {
namespace {

namespace format = goal_binary;

std::uint64_t little_endian(std::string_view data, std::size_t at, std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;)
        value = value << 8 | static_cast<unsigned char>(data[at + i]);
    return value;
}

/// One rank's part of the file: nodes, and behind them the appendix with the numbers of their successors.
struct Block {
    std::size_t begin, end; ///< in the file
    std::uint64_t nodes, roots;

    std::size_t first_node() const { return begin + format::block_header + roots * format::root; }
    std::size_t appendix() const { return first_node() + nodes * format::node; }
    std::uint64_t edges() const { return (end - appendix()) / format::edge; }
};

class BinaryReader {
  public:
    BinaryReader(std::string_view data, const std::string &name) : data_(data), name_(name) {}

    Schedule read() {
        if (data_.size() < format::table)
            fail(data_.size(), "the file ends in its header");
        const std::uint64_t cookie = number(0, 8);
        if (cookie == format::used_up_cookie)
            throw Error("`" + name_ + "` was used up: LogGOPSim has replayed it with `--save-mem`",
                        "make it again with `txt2bin`, or take the GOAL text");
        if (cookie != format::cookie)
            fail(0, "not the cookie of binary GOAL");
        const std::uint64_t ranks = number(8, 4);
        if (ranks == 0 || ranks >= (1u << 30))
            fail(8, "`" + std::to_string(ranks) + "` ranks");
        if ((data_.size() - format::table) / format::table_entry < ranks)
            fail(data_.size(), "the file ends in its table of ranks");
        ranks_ = static_cast<std::uint32_t>(ranks);
        ScheduleBuilder builder(ranks_, "operation");
        std::uint64_t left = data_.size() - format::table - ranks * format::table_entry;
        for (std::uint32_t rank = 0; rank < ranks_; ++rank)
            read_rank(builder, rank, block(rank, left));
        return builder.finish();
    }

  private:
    std::uint64_t number(std::size_t at, std::size_t bytes) const { return little_endian(data_, at, bytes); }

    [[noreturn]] void fail(std::size_t at, const std::string &what) const {
        throw Error("`" + name_ + "` byte " + std::to_string(at) + ": " + what,
                    "formats/goal.md describes binary GOAL; make it again with `txt2bin`, or take the text");
    }

    /// @param[in,out] left bytes that blocks may still have: they do not overlap
    Block block(std::uint32_t rank, std::uint64_t &left) const {
        const std::size_t entry = format::table + rank * format::table_entry;
        const std::uint64_t begin = number(entry, 8), end = number(entry + 8, 8);
        const std::uint64_t size = data_.size() - format::origin;
        const std::string who = "rank `" + std::to_string(rank) + "`";
        if (begin > end || end > size || end - begin < format::block_header)
            fail(entry, who + " is said to be from byte " + std::to_string(begin) + " to " +
                            std::to_string(end) + " of " + std::to_string(size) + " behind the cookie");
        if (end - begin > left)
            fail(entry, who + " overlaps another rank");
        left -= end - begin;
        Block out{begin + format::origin, end + format::origin, number(begin + format::origin, 4),
                  number(begin + format::origin + 4, 4)};
        const std::uint64_t needed = out.nodes * format::node + out.roots * format::root;
        if (needed > end - begin - format::block_header)
            fail(out.begin, who + " is said to have " + std::to_string(out.nodes) +
                                " operations, for which its " + std::to_string(end - begin) +
                                " bytes are too few");
        return out;
    }

    void read_rank(ScheduleBuilder &builder, std::uint32_t rank, const Block &block) {
        std::vector<std::uint32_t> waits_for(block.nodes);
        for (std::uint64_t i = 0; i < block.nodes; ++i)
            read_node(builder, rank, block.first_node() + i * format::node, i);
        for (std::uint64_t i = 0; i < block.nodes; ++i)
            read_edges(builder, rank, block, static_cast<std::uint32_t>(i), waits_for);
        std::uint64_t free = 0;
        for (std::uint64_t i = 0; i < block.nodes; ++i) {
            const std::size_t at = block.first_node() + i * format::node;
            if (number(at, 4) != waits_for[i])
                fail(at, "operation " + std::to_string(i) + " of rank `" + std::to_string(rank) +
                             "` waits for " + std::to_string(number(at, 4)) + " others, " +
                             std::to_string(waits_for[i]) + " name it");
            free += waits_for[i] == 0;
        }
        for (std::uint64_t i = 0; i < block.roots; ++i) {
            const std::size_t at = block.begin + format::block_header + i * format::root;
            if (const std::uint64_t root = number(at, 4); root >= block.nodes || waits_for[root] != 0)
                fail(at, "operation `" + std::to_string(root) + "` of rank `" + std::to_string(rank) +
                             "` is said to wait for nothing");
        }
        if (free != block.roots)
            fail(block.begin + 4, "`" + std::to_string(block.roots) + "` operations of rank `" +
                                      std::to_string(rank) + "` are said to wait for nothing, " +
                                      std::to_string(free) + " do");
    }

    void read_node(ScheduleBuilder &builder, std::uint32_t rank, std::size_t at, std::uint64_t i) const {
        const std::uint64_t kind = number(at + 4, 1), value = number(at + 9, 8);
        const auto peer = static_cast<std::uint32_t>(number(at + 5, 4));
        const auto tag = static_cast<std::uint32_t>(number(at + 17, 4));
        const Lane lane{static_cast<std::uint8_t>(number(at + 21, 1)),
                        static_cast<std::uint8_t>(number(at + 22, 1))};
        const auto origin = static_cast<std::uint32_t>(i);
        if (kind == static_cast<std::uint64_t>(Kind::calc)) {
            if (value > Operation::mask / (4 * picoseconds_per_nanosecond))
                fail(at + 9, "a computation of `" + std::to_string(value) + "` ns");
            builder.add(rank, Operation::calc(static_cast<Picoseconds>(value * picoseconds_per_nanosecond)),
                        lane, origin);
            return;
        }
        const bool is_send = kind == static_cast<std::uint64_t>(Kind::send);
        if (!is_send && kind != static_cast<std::uint64_t>(Kind::receive))
            fail(at + 4,
                 "an operation of kind `" + std::to_string(kind) + "`; 1 sends, 2 receives, 3 computes");
        if (value > Operation::mask / 4)
            fail(at + 9, "a message of `" + std::to_string(value) + "` bytes");
        if (peer >= ranks_ && (is_send || peer != format::any_number))
            fail(at + 5,
                 "rank `" + std::to_string(peer) + "`, but there are `" + std::to_string(ranks_) + "`");
        if (is_send && tag == format::any_number)
            fail(at + 17, "a send with any tag");
        builder.add(rank, is_send ? Operation::send(peer, value, tag) : Operation::receive(peer, value, tag),
                    lane, origin);
    }

    void read_edges(ScheduleBuilder &builder, std::uint32_t rank, const Block &block, std::uint32_t i,
                    std::vector<std::uint32_t> &waits_for) {
        const std::size_t at = block.first_node() + i * format::node;
        for (const bool at_start : {false, true}) {
            const std::size_t field = at + (at_start ? 31 : 23);
            const std::uint64_t count = number(field, 4), first = number(field + 4, 4);
            if (count > 0 && first + count > block.edges())
                fail(field, "successors " + std::to_string(first) + " to " + std::to_string(first + count) +
                                " of a list of " + std::to_string(block.edges()));
            for (std::uint64_t e = first; e < first + count; ++e) {
                const std::size_t where = block.appendix() + e * format::edge;
                const auto later = static_cast<std::uint32_t>(number(where, 4));
                if (later >= block.nodes)
                    fail(where, "operation `" + std::to_string(later) + "` of `" +
                                    std::to_string(block.nodes) + "` of rank `" + std::to_string(rank) + "`");
                if (++edges_ > data_.size() / format::edge)
                    fail(field, "more successors than the file has room for");
                builder.order(rank, later, i, at_start);
                ++waits_for[later];
            }
        }
    }

    std::string_view data_;
    const std::string &name_;
    std::uint32_t ranks_ = 0;
    std::uint64_t edges_ = 0; ///< lists that overlap could otherwise fill the memory
};

} // namespace

bool is_goal_binary(std::string_view data) {
    if (data.size() < format::origin)
        return false;
    const std::uint64_t cookie = little_endian(data, 0, 8);
    return cookie == format::cookie || cookie == format::used_up_cookie;
}

Schedule read_goal_binary(std::string_view data, const std::string &name) {
    return BinaryReader(data, name).read();
}

} // namespace rankwise::replay
