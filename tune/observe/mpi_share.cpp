// SPDX-License-Identifier: BSD-3-Clause
#include "observe/mpi_share.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace rankwise::tune {
namespace {

constexpr std::uint64_t samples_per_s = 99; // no multiple of what programs do at whole rates
constexpr std::size_t data_pages = 2;       // 5 s of samples

constexpr std::array<std::string_view, 14> mpi_names{
    "libmpi",      "libpmpi",     "libucp",  "libuct",  "libucs",  "libucm",     "libfabric",
    "libopen-pal", "libopen-rte", "libpsm2", "libpsm3", "libmlx5", "libibverbs", "mca_"};
constexpr std::array<std::string_view, 5> shared_names{"libc.so", "libc-", "libpthread", "ld-linux",
                                                       "[vdso]"};

std::size_t page_bytes() {
    return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}
std::size_t ring_bytes() {
    return (1 + data_pages) * page_bytes();
}

bool begins_with_any(std::string_view name, const auto &names) {
    return std::ranges::any_of(names, [&](std::string_view each) { return name.starts_with(each); });
}

CodeRange::Kind kind_of(std::string_view path) {
    const auto slash = path.rfind('/');
    const auto name = slash == std::string_view::npos ? path : path.substr(slash + 1);
    return begins_with_any(name, mpi_names)      ? CodeRange::mpi
           : begins_with_any(name, shared_names) ? CodeRange::shared
                                                 : CodeRange::other;
}

bool read_hexadecimal(std::string_view &text, std::uint64_t &value) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return problem == std::errc{};
}

} // namespace

std::vector<CodeRange> parse_code_ranges(std::string_view maps) {
    std::vector<CodeRange> ranges;
    while (!maps.empty()) { // `7f00-7f10 r-xp 00000000 fe:00 1234   /usr/lib/libmpi.so.12`
        auto line = next_line(maps);
        CodeRange range{};
        if (!read_hexadecimal(line, range.begin) || !line.starts_with('-')) {
            continue;
        }
        line.remove_prefix(1);
        if (!read_hexadecimal(line, range.end)) {
            continue;
        }
        const auto rights = next_word(line);
        if (rights.size() < 3 || rights[2] != 'x' || range.end <= range.begin) {
            continue;
        }
        for (int column = 0; column < 3; ++column) {
            next_word(line);
        }
        range.kind = kind_of(line.substr(std::min(line.find_first_not_of(' '), line.size())));
        ranges.push_back(range);
    }
    std::ranges::sort(ranges, {}, &CodeRange::begin);
    return ranges;
}

std::optional<MpiShare> MpiShare::open(std::int32_t process) {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_SOFTWARE;
    attr.size = sizeof attr;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.freq = 1;
    attr.sample_freq = samples_per_s;
    attr.sample_type = PERF_SAMPLE_IP;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    Descriptor event(
        static_cast<int>(syscall(SYS_perf_event_open, &attr, process, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event) {
        return std::nullopt;
    }
    void *const ring = mmap(nullptr, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, event.number(), 0);
    if (ring == MAP_FAILED) {
        return std::nullopt;
    }
    return MpiShare(process, std::move(event), ring);
}

MpiShare::MpiShare(std::int32_t process, Descriptor event, void *ring)
    : process_(process), event_(std::move(event)), ring_(ring) {}

MpiShare::MpiShare(MpiShare &&other) noexcept
    : process_(other.process_), event_(std::move(other.event_)), ring_(std::exchange(other.ring_, nullptr)),
      ranges_(std::move(other.ranges_)), run_(other.run_), mpi_(other.mpi_), share_(other.share_) {}

MpiShare &MpiShare::operator=(MpiShare &&other) noexcept {
    std::swap(process_, other.process_);
    std::swap(event_, other.event_);
    std::swap(ring_, other.ring_);
    std::swap(ranges_, other.ranges_);
    std::swap(run_, other.run_);
    std::swap(mpi_, other.mpi_);
    std::swap(share_, other.share_);
    return *this;
}

MpiShare::~MpiShare() {
    if (ring_ != nullptr) {
        munmap(ring_, ring_bytes());
    }
}

const CodeRange *MpiShare::range_of(std::uint64_t address) const {
    const auto after = std::ranges::upper_bound(ranges_, address, {}, &CodeRange::begin);
    return after != ranges_.begin() && address < std::prev(after)->end ? &*std::prev(after) : nullptr;
}

Seconds MpiShare::read(Text &text, Seconds run) {
    auto *const head = static_cast<perf_event_mmap_page *>(ring_);
    const auto *const data = static_cast<const char *>(ring_) + page_bytes();
    const std::size_t size = data_pages * page_bytes();
    const std::uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
    std::array<std::uint64_t, 3> samples{};
    bool looked = false; // at its maps, for code that was not there before
    std::uint64_t at = head->data_tail;
    while (at < end) {
        // Records are multiples of 8 bytes, so that none of their words goes round the end.
        perf_event_header record{};
        std::memcpy(&record, data + at % size, sizeof record);
        if (record.size < sizeof record) {
            break;
        }
        if (record.type == PERF_RECORD_SAMPLE) {
            std::uint64_t address = 0;
            std::memcpy(&address, data + (at + sizeof record) % size, sizeof address);
            const auto *range = range_of(address);
            if (range == nullptr && !std::exchange(looked, true) &&
                text.read("/proc/" + std::to_string(process_) + "/maps", Text::most_of_users)) {
                ranges_ = parse_code_ranges(text.view());
                range = range_of(address);
            }
            ++samples.at(range != nullptr ? range->kind : CodeRange::other);
        }
        at += record.size;
    }
    __atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
    const auto known = samples[CodeRange::mpi] + samples[CodeRange::other];
    if (known > 0) {
        share_ = static_cast<double>(samples[CodeRange::mpi]) / static_cast<double>(known);
    }
    if (run_ >= 0) {
        mpi_ += share_ * std::max(run - run_, 0.0);
    }
    run_ = run;
    return mpi_;
}

} // namespace rankwise::tune
