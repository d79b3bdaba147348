// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>
#include <limits>
#include <string>

#include "error.hpp"
#include "placement/graph.hpp"

namespace rankwise::placement {
namespace {

constexpr auto form =
    "a METIS graph starts with `VERTICES EDGES [FORMAT [CONSTRAINTS]]`, then has a line a vertex with its "
    "neighbours, counted from 1";

class Lines {
  public:
    Lines(std::string_view text, std::string_view name) : text_(text), name_(name) {}

    // The next line that is no comment; false at the end.
    bool next() {
        do {
            if (start_ > text_.size() || (start_ == text_.size() && number_ > 0))
                return false;
            const auto end = std::min(text_.find('\n', start_), text_.size());
            rest_ = text_.substr(start_, end - start_);
            start_ = end + 1;
            ++number_;
        } while (!rest_.empty() && rest_.front() == '%');
        return true;
    }

    // The next whole number of the line; false at its end.
    bool number(std::int64_t &value) {
        std::size_t at = 0;
        while (at < rest_.size() && (rest_[at] == ' ' || rest_[at] == '\t' || rest_[at] == '\r'))
            ++at;
        rest_.remove_prefix(at);
        if (rest_.empty())
            return false;
        const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        const auto length = static_cast<std::size_t>(end - rest_.data());
        const bool ends =
            length == rest_.size() || rest_[length] == ' ' || rest_[length] == '\t' || rest_[length] == '\r';
        if (problem != std::errc() || !ends) {
            const auto word = rest_.substr(0, std::min(rest_.find_first_of(" \t\r"), std::size_t{40}));
            fail("`" + std::string(word) + "` is not a whole number");
        }
        rest_.remove_prefix(length);
        return true;
    }

    std::int64_t line() const { return number_; }

    [[noreturn]] void fail(const std::string &what, std::int64_t line = 0) const {
        throw Error(
            "`" + std::string(name_) + "` line " + std::to_string(line ? line : number_) + ": " + what, form);
    }

  private:
    std::string_view text_, name_, rest_;
    std::size_t start_ = 0;
    std::int64_t number_ = 0;
};

struct Header {
    std::int64_t vertices = 0, edges = 0, constraints = 0;
    bool sizes = false, edge_weights = false;
};

Header read_header(Lines &lines) {
    Header header;
    if (!lines.next() || !lines.number(header.vertices) || !lines.number(header.edges))
        lines.fail("the numbers of vertices and edges are missing");
    if (header.vertices < 1 || header.vertices > std::numeric_limits<Rank>::max() - 1)
        lines.fail("`" + std::to_string(header.vertices) + "` vertices");
    if (header.edges < 0)
        lines.fail("`" + std::to_string(header.edges) + "` edges");
    std::int64_t format = 0, more = 0;
    if (lines.number(format)) {
        if (format < 0 || format > 111 || format % 10 > 1 || format / 10 % 10 > 1)
            lines.fail("`" + std::to_string(format) + "` is not a format, which is three digits of 0 and 1");
        header.sizes = format / 100 == 1;
        header.constraints = format / 10 % 10;
        header.edge_weights = format % 10 == 1;
    }
    if (lines.number(more)) {
        if (more < 0 || more > 1000 || (more > 0 && header.constraints == 0))
            lines.fail("`" + std::to_string(more) + "` weights a vertex do not fit the format");
        header.constraints = header.constraints ? more : 0;
    }
    if (lines.number(more))
        lines.fail("`" + std::to_string(more) + "` is one number too many");
    return header;
}

} // namespace

Graph read_metis(std::string_view text, std::string_view name) {
    Lines lines(text, name);
    const Header header = read_header(lines);
    // A header is not believed further than the file could be true to it: an entry takes two characters at
    // least.
    if (header.edges > static_cast<std::int64_t>(text.size()) / 4 + 1 ||
        header.vertices > static_cast<std::int64_t>(text.size()) + 1)
        lines.fail("the file is too short for `" + std::to_string(header.vertices) + "` vertices and `" +
                   std::to_string(header.edges) + "` edges");
    std::vector<std::int64_t> offsets{0}, line_of;
    std::vector<Rank> neighbour;
    std::vector<Weight> weight;
    offsets.reserve(static_cast<std::size_t>(header.vertices) + 1);
    line_of.reserve(static_cast<std::size_t>(header.vertices));
    neighbour.reserve(static_cast<std::size_t>(header.edges) * 2);
    weight.reserve(static_cast<std::size_t>(header.edges) * 2);
    for (std::int64_t v = 0; v < header.vertices; ++v) {
        if (!lines.next())
            lines.fail("the file ends after `" + std::to_string(v) + "` of `" +
                       std::to_string(header.vertices) + "` vertices");
        line_of.push_back(lines.line());
        std::int64_t number = 0;
        for (std::int64_t skipped = 0; skipped < header.sizes + header.constraints; ++skipped)
            if (!lines.number(number) || number < 0)
                lines.fail("a weight of the vertex is missing or negative");
        while (lines.number(number)) {
            if (number < 1 || number > header.vertices)
                lines.fail("neighbour `" + std::to_string(number) + "` is not one of the vertices 1 to `" +
                           std::to_string(header.vertices) + "`");
            if (number == v + 1)
                lines.fail("vertex `" + std::to_string(number) + "` is its own neighbour");
            neighbour.push_back(static_cast<Rank>(number - 1));
            std::int64_t heavy = 1;
            if (header.edge_weights && !lines.number(heavy))
                lines.fail("neighbour `" + std::to_string(number) + "` has no weight");
            if (heavy < 0)
                lines.fail("neighbour `" + std::to_string(number) + "` has the weight `" +
                           std::to_string(heavy) + "`");
            weight.push_back(heavy);
        }
        offsets.push_back(static_cast<std::int64_t>(neighbour.size()));
    }
    std::int64_t more = 0;
    while (lines.next())
        if (lines.number(more))
            lines.fail("there are more lines than `" + std::to_string(header.vertices) + "` vertices");
    if (static_cast<std::int64_t>(neighbour.size()) != 2 * header.edges)
        lines.fail("the header says `" + std::to_string(header.edges) + "` edges, the lines have `" +
                       std::to_string(neighbour.size()) + "` neighbours, which should be twice as many",
                   1);
    return make_graph(offsets, neighbour, weight, {name, line_of, 1});
}

} // namespace rankwise::placement
