// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <optional>
#include <unordered_map>

#include "error.hpp"
#include "schedule/goal/goal.hpp"

namespace rankwise::replay {
namespace {

constexpr std::string_view end_of_line = "\n";
/// Ranks without a block do nothing; more of them than the file has bytes are a damaged number.
constexpr std::uint32_t most_empty_ranks = 1u << 24;

/// Words, numbers with a `b` behind, `{`, `}`, `:` and ends of lines; comments are skipped.
class Scanner {
  public:
    Scanner(std::string_view text, const std::string &name) : text_(text), name_(name) { advance(); }

    std::string_view token() const { return token_; }
    bool at_end() const { return token_.empty(); }
    std::uint32_t line() const { return line_; }

    std::string_view take() {
        const std::string_view taken = token_;
        advance();
        return taken;
    }
    bool take_if(std::string_view word) {
        if (token_ != word)
            return false;
        advance();
        return true;
    }
    void expect(std::string_view word) {
        if (!take_if(word))
            fail("expected " +
                 (word == end_of_line ? std::string("the end of the line") : "`" + std::string(word) + "`"));
    }
    std::uint64_t number(std::string_view what, std::uint64_t most) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(token_.data(), token_.data() + token_.size(), value);
        if (error == std::errc::result_out_of_range || (error == std::errc{} && value > most))
            fail("expected " + std::string(what) + " of at most " + std::to_string(most));
        if (error != std::errc{} || end != token_.data() + token_.size())
            fail("expected " + std::string(what));
        advance();
        return value;
    }
    [[noreturn]] void fail(const std::string &what) const {
        const std::string found = at_end()                ? "the end of the file"
                                  : token_ == end_of_line ? "the end of the line"
                                                          : "`" + std::string(token_) + "`";
        fail_at(line_, what + ", found " + found);
    }
    [[noreturn]] void fail_at(std::uint32_t line, const std::string &what) const {
        throw Error("`" + name_ + "` line " + std::to_string(line) + ": " + what,
                    "formats/goal.md describes GOAL text");
    }

  private:
    /// Letters, digits, and what belongs to a character beyond ASCII, so that none is cut in a message.
    static bool is_word(char c) {
        return static_cast<unsigned char>(c) >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
    }
    void skip_blanks() {
        for (;; ++at_) {
            if (text_.substr(at_).starts_with("//")) {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (text_.substr(at_).starts_with("/*")) {
                const std::size_t end = text_.find("*/", at_ + 2);
                if (end == std::string_view::npos)
                    fail_at(next_line_, "a comment without end");
                for (; at_ < end + 1; ++at_)
                    next_line_ += text_[at_] == '\n';
                continue;
            }
            if (at_ >= text_.size() || (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r'))
                return;
        }
    }
    void advance() {
        skip_blanks();
        line_ = next_line_;
        if (at_ >= text_.size()) {
            token_ = {};
            return;
        }
        const std::size_t begin = at_++;
        if (is_word(text_[begin]))
            while (at_ < text_.size() && is_word(text_[at_]))
                ++at_;
        else if (text_[begin] == '\n')
            ++next_line_;
        token_ = text_.substr(begin, at_ - begin);
    }

    std::string_view text_, token_;
    std::string name_;
    std::size_t at_ = 0;
    std::uint32_t line_ = 1, next_line_ = 1;
};

class GoalReader {
  public:
    GoalReader(std::string_view text, const std::string &name) : in_(text, name), bytes_(text.size()) {}

    Schedule read() {
        skip_lines();
        in_.expect("num_ranks");
        ranks_ = static_cast<std::uint32_t>(in_.number("a number of ranks", (1u << 30) - 1));
        if (ranks_ == 0)
            in_.fail_at(in_.line(), "`num_ranks` is 0");
        if (ranks_ > most_empty_ranks && ranks_ > bytes_)
            in_.fail_at(in_.line(), "`" + std::to_string(ranks_) + "` ranks in a file of " +
                                        std::to_string(bytes_) + " bytes");
        ScheduleBuilder builder(ranks_, "line");
        std::vector<bool> seen(ranks_);
        for (skip_lines(); !in_.at_end(); skip_lines())
            read_rank(builder, seen);
        return builder.finish();
    }

  private:
    struct Dependency {
        std::string_view later, earlier;
        bool at_start;
        std::uint32_t line;
    };

    void skip_lines() {
        while (in_.take_if(end_of_line)) {
        }
    }

    void read_rank(ScheduleBuilder &builder, std::vector<bool> &seen) {
        in_.expect("rank");
        const std::uint32_t line = in_.line();
        rank_ = static_cast<std::uint32_t>(in_.number("a rank", any - 1));
        if (rank_ >= ranks_)
            in_.fail_at(line,
                        "rank `" + std::to_string(rank_) + "`, but `num_ranks` is " + std::to_string(ranks_));
        if (seen[rank_])
            in_.fail_at(line, "rank `" + std::to_string(rank_) + "` for the second time");
        seen[rank_] = true;
        skip_lines();
        in_.expect("{");
        labels_.clear();
        dependencies_.clear();
        for (skip_lines(); !in_.take_if("}"); skip_lines()) {
            if (in_.at_end())
                in_.fail("expected `}` at the end of rank `" + std::to_string(rank_) + "`");
            read_statement(builder);
            if (in_.token() != "}")
                in_.expect(end_of_line);
        }
        for (const Dependency &d : dependencies_)
            builder.order(rank_, labelled(d.later, d.line), labelled(d.earlier, d.line), d.at_start);
    }

    std::uint32_t labelled(std::string_view label, std::uint32_t line) const {
        const auto found = labels_.find(label);
        if (found == labels_.end())
            in_.fail_at(line, "label `" + std::string(label) + "` is not defined in rank `" +
                                  std::to_string(rank_) + "`");
        return found->second;
    }

    void read_statement(ScheduleBuilder &builder) {
        const std::uint32_t line = in_.line();
        const std::string_view word = in_.take();
        if (word == "send" || word == "recv" || word == "calc") {
            read_operation(builder, word, line);
        } else if (in_.take_if(":")) {
            if (!labels_.emplace(word, builder.size(rank_)).second)
                in_.fail_at(line, "label `" + std::string(word) + "` for the second time");
            read_operation(builder, in_.take(), line);
        } else if (const bool at_start = in_.token() == "irequires"; at_start || in_.token() == "requires") {
            in_.take();
            dependencies_.push_back({word, in_.take(), at_start, line});
        } else {
            in_.fail("expected `:`, `requires` or `irequires` after `" + std::string(word) + "`");
        }
    }

    void read_operation(ScheduleBuilder &builder, std::string_view word, std::uint32_t line) {
        if (word == "calc") {
            const auto time = in_.number("nanoseconds", Operation::mask / (4 * picoseconds_per_nanosecond));
            const Operation calc =
                Operation::calc(static_cast<Picoseconds>(time) * picoseconds_per_nanosecond);
            builder.add(rank_, calc, read_lane(nullptr), line);
            return;
        }
        const bool is_send = word == "send";
        if (!is_send && word != "recv")
            in_.fail_at(line, "expected `send`, `recv` or `calc`, found `" + std::string(word) + "`");
        const std::uint64_t bytes = read_bytes();
        in_.expect(is_send ? "to" : "from");
        const std::uint32_t peer_line = in_.line();
        const std::uint32_t peer = read_or_any("a rank", !is_send);
        if (peer >= ranks_ && peer != any)
            in_.fail_at(peer_line,
                        "rank `" + std::to_string(peer) + "`, but `num_ranks` is " + std::to_string(ranks_));
        std::uint32_t tag = 0;
        const Lane lane = read_lane(&tag);
        if (is_send && tag == any)
            in_.fail_at(line, "a send with any tag");
        builder.add(rank_, is_send ? Operation::send(peer, bytes, tag) : Operation::receive(peer, bytes, tag),
                    lane, line);
    }

    /// `10b` or `10 b`
    std::uint64_t read_bytes() {
        std::string_view token = in_.token();
        std::uint64_t bytes = 0;
        const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), bytes);
        const std::string_view rest = token.substr(static_cast<std::size_t>(end - token.data()));
        if (error != std::errc{} || (rest != "b" && !rest.empty()) || bytes > Operation::mask / 4)
            in_.fail("expected a number of bytes such as `10b`");
        in_.take();
        if (rest.empty())
            in_.expect("b");
        return bytes;
    }

    std::uint32_t read_or_any(std::string_view what, bool any_allowed) {
        if (any_allowed && in_.take_if("-1"))
            return any;
        return static_cast<std::uint32_t>(in_.number(what, any - 1));
    }

    Lane read_lane(std::uint32_t *tag) {
        Lane lane{0, 0};
        for (;;) {
            if (tag != nullptr && in_.take_if("tag"))
                *tag = read_or_any("a tag", true);
            else if (in_.take_if("cpu"))
                lane.cpu = static_cast<std::uint8_t>(in_.number("a processor number", 255));
            else if (in_.take_if("nic"))
                lane.nic = static_cast<std::uint8_t>(in_.number("an interface number", 255));
            else
                return lane;
        }
    }

    Scanner in_;
    std::size_t bytes_;
    std::uint32_t ranks_ = 0, rank_ = 0;
    std::unordered_map<std::string_view, std::uint32_t> labels_;
    std::vector<Dependency> dependencies_;
};

} // namespace

Schedule read_goal(std::string_view text, const std::string &name) {
    return GoalReader(text, name).read();
}

} // namespace rankwise::replay
