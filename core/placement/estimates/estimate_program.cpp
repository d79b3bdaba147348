// SPDX-License-Identifier: BSD-3-Clause
#include "placement/estimates/estimate_program.hpp"

#include <algorithm>
#include <unordered_map>

#include "replay/message_costs.hpp"

namespace rankwise::replay {
namespace {

/// Numbers things in the order in which they come first.
template <class Key> class Numbering {
  public:
    std::uint32_t operator()(std::uint64_t key, const Key &value) {
        if (key == last_key_ && !values_.empty())
            return last_;
        const auto [at, is_new] = number_.try_emplace(key, static_cast<std::uint32_t>(values_.size()));
        if (is_new)
            values_.push_back(value);
        last_key_ = key;
        return last_ = at->second;
    }
    std::vector<Key> take() { return std::move(values_); }

  private:
    std::unordered_map<std::uint64_t, std::uint32_t> number_;
    std::vector<Key> values_;
    std::uint64_t last_key_ = 0;
    std::uint32_t last_ = 0;
};

class Compiler {
  public:
    Compiler(const Schedule &schedule, const LargeArray<MatchedOperation> &steps,
             const machine::Machine &machine)
        : schedule_(schedule), steps_(steps), machine_(machine), costs_(machine) {
        program_.ranks = schedule.ranks();
        program_.cpus = schedule.cpus;
        program_.nics = schedule.nics;
        find_groups();
    }

    EstimateProgram run(const ServiceOrder &order) {
        number_messages();
        program_.instructions.reserve(order.entries.size());
        for (const std::uint32_t entry : order.entries) {
            const std::uint32_t op = entry >> ServiceOrder::part_bits;
            const MatchedOperation &step = steps_[op];
            switch (entry & ((1u << ServiceOrder::part_bits) - 1)) {
            case ServiceOrder::data:
                data(op, step);
                break;
            case ServiceOrder::post:
                tell_begin(op, step, Instruction::post);
                break;
            default:
                job(op, step);
            }
        }
        program_.cells = cells_;
        return std::move(program_);
    }

  private:
    /// Operations that wait for exactly the same.
    struct Group {
        std::uint32_t readers = 0;
        std::uint32_t cell = Instruction::nothing;
    };
    static constexpr std::uint32_t at_once = 0; ///< the group of what waits for nothing; its cell is always 0

    /// @brief Gives each operation its group: neighbours in a list of successors that wait for the same.
    ///
    /// What an operation waits for is compared by a sum of 64 mixed bits of each.
    void find_groups() {
        group_.assign(steps_.size(), Instruction::nothing);
        std::vector<std::uint64_t> waits_for(steps_.size());
        const auto each_edge = [&](const auto &call) {
            for (std::uint32_t op = 0; op < steps_.size(); ++op)
                for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e)
                    call(op, schedule_.successors[e]);
        };
        each_edge([&](std::uint32_t op, Successor to) {
            std::uint64_t bits = (std::uint64_t{op} * 2 + to.at_start() + 1) * 0x9E3779B97F4A7C15u;
            bits = (bits ^ bits >> 29) * 0xBF58476D1CE4E5B9u;
            waits_for[to.target()] += bits ^ bits >> 32;
        });
        groups_.push_back({0, new_cell()});
        std::uint32_t last_op = Instruction::nothing, last_target = 0;
        each_edge([&](std::uint32_t op, Successor to) {
            std::uint32_t &group = group_[to.target()];
            if (group != Instruction::nothing)
                return;
            if (last_op == op && waits_for[last_target] == waits_for[to.target()]) {
                group = group_[last_target];
            } else {
                group = static_cast<std::uint32_t>(groups_.size());
                groups_.emplace_back();
            }
            last_op = op;
            last_target = to.target();
        });
        for (std::uint32_t &group : group_) {
            group = group == Instruction::nothing ? at_once : group;
            ++groups_[group].readers;
        }
        ++groups_[at_once].readers; // never used again
    }

    void number_messages() {
        pair_.resize(steps_.size());
        cost_.resize(steps_.size());
        for (std::uint32_t op = 0; op < steps_.size(); ++op) {
            const MatchedOperation &step = steps_[op];
            if (step.kind() != Kind::send)
                continue;
            const std::uint64_t both = std::uint64_t{step.rank} << 32 | step.peer;
            pair_[op] = pairs_(both, {step.rank, step.peer});
            cost_[op] = sizes_(step.message(), step.message());
        }
        program_.pairs = pairs_.take();
        program_.sizes = sizes_.take();
        for (const std::uint64_t message : program_.sizes) {
            bool eager = true, free = true;
            for (std::size_t link = 0; link < machine_.link_classes.size(); ++link) {
                const MessageCost &cost = costs_.get(static_cast<std::uint8_t>(link), message);
                eager &= cost.eager;
                free &= cost.on_core == 0;
            }
            eager_.push_back(eager);
            free_.push_back(free);
        }
        value_.assign(steps_.size(), Instruction::nothing);
    }

    std::uint32_t new_cell() {
        if (unused_.empty())
            return cells_++;
        const std::uint32_t cell = unused_.back();
        unused_.pop_back();
        return cell;
    }
    std::uint32_t processor(const MatchedOperation &step) const {
        return step.rank * program_.cpus + step.lane.cpu;
    }
    std::uint32_t ready(std::uint32_t op) const { return groups_[group_[op]].cell; }
    void was_read(std::uint32_t op) {
        Group &group = groups_[group_[op]];
        if (--group.readers == 0)
            unused_.push_back(group.cell);
    }

    /// Slots of what waits for an operation's begin or end.
    void find_out(Instruction &instruction, std::uint32_t op, bool at_start) {
        targets_.clear();
        std::uint32_t last = Instruction::nothing;
        for (std::uint32_t e = schedule_.edge_first[op]; e < schedule_.edge_first[op + 1]; ++e) {
            const Successor to = schedule_.successors[e];
            const std::uint32_t group = group_[to.target()];
            if (to.at_start() != at_start || group == last)
                continue;
            last = group;
            const bool first = groups_[group].cell == Instruction::nothing;
            if (first)
                groups_[group].cell = new_cell();
            targets_.push_back(groups_[group].cell << 1 | (first ? 1u : 0u));
        }
        instruction.out = Instruction::nothing;
        if (targets_.size() == 1) {
            instruction.out = targets_[0] >> 1;
            instruction.first = (targets_[0] & 1) != 0;
        } else if (!targets_.empty()) {
            instruction.many = true;
            instruction.out = static_cast<std::uint32_t>(program_.lists.size());
            program_.lists.push_back(static_cast<std::uint32_t>(targets_.size()));
            program_.lists.insert(program_.lists.end(), targets_.begin(), targets_.end());
        }
    }

    Instruction message(Instruction::What what, std::uint32_t send, const MatchedOperation &of) const {
        const MatchedOperation &step = steps_[send];
        Instruction instruction{};
        instruction.what = what;
        instruction.processor = processor(of);
        instruction.out = Instruction::nothing;
        instruction.message = {pair_[send], step.rank * program_.nics + step.lane.nic};
        instruction.cost = cost_[send];
        instruction.value = value_[send];
        return instruction;
    }

    void tell_begin(std::uint32_t op, const MatchedOperation &step, Instruction::What what) {
        if (step.release.count != Release::listed)
            return;
        Instruction instruction{};
        instruction.what = what;
        instruction.processor = processor(step);
        instruction.ready = ready(op);
        find_out(instruction, op, true);
        if (instruction.out != Instruction::nothing)
            program_.instructions.push_back(instruction);
    }

    void job(std::uint32_t op, const MatchedOperation &step) {
        if (step.kind() != Kind::receive)
            tell_begin(op, step, Instruction::begin);
        Instruction instruction{};
        if (step.kind() == Kind::calc) {
            instruction.what = Instruction::compute;
            instruction.processor = processor(step);
            instruction.time = static_cast<double>(step.time());
        } else if (step.kind() == Kind::send) {
            if (eager_[cost_[op]])
                return; // nothing else happens on the processor until its data leaves
            value_[op] = new_cell();
            instruction = message(Instruction::send, op, step);
        } else {
            const std::uint32_t send = step.partner;
            const auto what = free_[cost_[send]] ? Instruction::receive : Instruction::receive_bytes;
            instruction = message(what, send, step);
            unused_.push_back(value_[send]);
        }
        instruction.ready = ready(op);
        was_read(op);
        if (step.kind() != Kind::send)
            find_out(instruction, op, false);
        program_.instructions.push_back(instruction);
    }

    void data(std::uint32_t op, const MatchedOperation &step) {
        const bool eager = eager_[cost_[op]];
        if (eager)
            value_[op] = new_cell();
        Instruction instruction = message(eager ? Instruction::eager : Instruction::data, op, step);
        instruction.ready = ready(eager ? op : step.partner);
        if (instruction.ready == Instruction::nothing)
            instruction.ready = groups_[at_once].cell; // eager in the order's placement: nobody knows yet
        if (eager)
            was_read(op);
        find_out(instruction, op, false);
        program_.instructions.push_back(instruction);
    }

    const Schedule &schedule_;
    const LargeArray<MatchedOperation> &steps_;
    const machine::Machine &machine_;
    MessageCosts costs_;
    EstimateProgram program_;
    std::vector<std::uint32_t> group_; ///< of each operation
    std::vector<Group> groups_;
    Numbering<std::pair<std::uint32_t, std::uint32_t>> pairs_;
    Numbering<std::uint64_t> sizes_;
    std::vector<std::uint32_t> pair_, cost_; ///< of each send
    std::vector<std::uint8_t> eager_, free_; ///< of each size: on every link class
    std::vector<std::uint32_t> value_;       ///< cell of each send's message
    std::vector<std::uint32_t> unused_, targets_;
    std::uint32_t cells_ = 0;
};

} // namespace

EstimateProgram estimate_program(const Schedule &schedule, const LargeArray<MatchedOperation> &steps,
                                 const ServiceOrder &order, const machine::Machine &machine) {
    return Compiler(schedule, steps, machine).run(order);
}

} // namespace rankwise::replay
