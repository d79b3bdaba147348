// SPDX-License-Identifier: BSD-3-Clause
#include "act/journal.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>

#include "crc32c.h"
#include "error.hpp"
#include "proc/text.hpp"

namespace rankwise::tune {
namespace {

enum Kind : std::uint32_t { owner_kind = 1, thread_kind, interrupt_kind };

struct Frame {
    std::uint32_t checksum; ///< of what follows it
    std::uint32_t bytes;    ///< behind the frame
    std::uint32_t kind;
};

constexpr std::uint32_t most_bytes = 8 + 4 * (2 + sizeof(PuSet)) + 64;
constexpr std::size_t shorten_above = std::size_t{256} << 10U;

/// @brief Puts fields behind one another.
class Writer {
  public:
    explicit Writer(Kind kind) : kind_(kind) {}

    template <class Value> Writer &put(const Value &value) {
        fields_.append(reinterpret_cast<const char *>(&value), sizeof value);
        return *this;
    }
    Writer &put(const TaskId &id) { return put(id.number).put(id.start); }
    Writer &put(const PuSet &mask) { // without the zeros at its end
        std::size_t bytes = sizeof mask;
        const auto *const memory = reinterpret_cast<const char *>(&mask);
        while (bytes > 0 && memory[bytes - 1] == 0) {
            --bytes;
        }
        put(static_cast<std::uint16_t>(bytes));
        fields_.append(memory, bytes);
        return *this;
    }
    Writer &put(const std::string &text) {
        put(static_cast<std::uint16_t>(text.size()));
        fields_ += text;
        return *this;
    }

    std::string record() const {
        Frame frame{0, static_cast<std::uint32_t>(fields_.size()), kind_};
        constexpr auto head = sizeof frame.checksum;
        frame.checksum = rw_crc32c(0, reinterpret_cast<const char *>(&frame) + head, sizeof frame - head);
        frame.checksum = rw_crc32c(frame.checksum, fields_.data(), fields_.size());
        return std::string(reinterpret_cast<const char *>(&frame), sizeof frame) + fields_;
    }

  private:
    Kind kind_;
    std::string fields_;
};

/// @brief Takes them again; what is not there is zero, and `whole` false.
class Reader {
  public:
    explicit Reader(std::string_view fields) : fields_(fields) {}

    template <class Value> void take(Value &value) { copy(&value, sizeof value); }
    void take(TaskId &id) {
        take(id.number);
        take(id.start);
    }
    void take(PuSet &mask) {
        std::uint16_t bytes = 0;
        take(bytes);
        if (bytes > sizeof mask) {
            whole = false;
        } else {
            copy(&mask, bytes);
        }
    }
    void take(std::string &text) {
        std::uint16_t bytes = 0;
        take(bytes);
        text.resize(std::min<std::size_t>(bytes, fields_.size()));
        copy(text.data(), bytes);
    }

    bool whole = true;

  private:
    void copy(void *to, std::size_t bytes) {
        if (bytes > fields_.size()) {
            whole = false;
            fields_ = {};
            return;
        }
        std::memcpy(to, fields_.data(), bytes);
        fields_.remove_prefix(bytes);
    }

    std::string_view fields_;
};

std::string record_of(const ThreadEntry &entry) {
    return Writer(thread_kind)
        .put(entry.process)
        .put(entry.thread)
        .put(entry.original)
        .put(entry.before)
        .put(entry.after)
        .record();
}

std::string record_of(const InterruptEntry &entry) {
    return Writer(interrupt_kind)
        .put(entry.number)
        .put(entry.original)
        .put(entry.before)
        .put(entry.after)
        .record();
}

bool take_record(std::uint32_t kind, std::string_view fields, JournalContent &content) {
    Reader reader(fields);
    if (kind == owner_kind) {
        reader.take(content.owner);
        reader.take(content.boot);
    } else if (kind == thread_kind) {
        ThreadEntry entry;
        reader.take(entry.process);
        reader.take(entry.thread);
        reader.take(entry.original);
        reader.take(entry.before);
        reader.take(entry.after);
        if (reader.whole) {
            content.threads[entry.thread] = entry;
        }
    } else if (kind == interrupt_kind) {
        InterruptEntry entry;
        reader.take(entry.number);
        reader.take(entry.original);
        reader.take(entry.before);
        reader.take(entry.after);
        if (reader.whole) {
            content.interrupts[entry.number] = entry;
        }
    }
    return reader.whole;
}

} // namespace

JournalContent parse_journal(std::string_view bytes) {
    JournalContent content;
    while (bytes.size() >= sizeof(Frame)) {
        Frame frame{};
        std::memcpy(&frame, bytes.data(), sizeof frame);
        constexpr auto head = sizeof frame.checksum;
        if (frame.bytes > most_bytes || frame.bytes > bytes.size() - sizeof frame ||
            rw_crc32c(0, bytes.data() + head, sizeof frame - head + frame.bytes) != frame.checksum ||
            !take_record(frame.kind, bytes.substr(sizeof frame, frame.bytes), content)) {
            break;
        }
        bytes.remove_prefix(sizeof frame + frame.bytes);
    }
    return content;
}

Journal::Journal(std::string state, const TaskId &owner, std::string boot)
    : state_(std::move(state)), boot_(std::move(boot)), owner_(owner) {
    if (!begin("journal")) {
        throw Error("cannot write a journal in `" + state_ + "`: " + std::strerror(errno),
                    "without one nothing is changed");
    }
}

bool Journal::begin(const char *name) {
    const auto path = state_ + "/" + name;
    file_ = Descriptor(
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    bytes_ = 0;
    return file_ && write(Writer(owner_kind).put(owner_).put(boot_).record());
}

bool Journal::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(file_.number(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        bytes_ += static_cast<std::size_t>(count);
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

bool Journal::add(const std::vector<ThreadEntry> &threads, const std::vector<InterruptEntry> &interrupts) {
    std::string records;
    for (const auto &entry : threads) {
        records += record_of(entry);
    }
    for (const auto &entry : interrupts) {
        records += record_of(entry);
    }
    if (broken_ || (!file_ && !begin("journal"))) {
        return false;
    }
    const auto whole = bytes_;
    if (write(records) && fdatasync(file_.number()) == 0) {
        return true;
    }
    // A part of a record would hide those that are added behind it.
    broken_ = ftruncate(file_.number(), static_cast<off_t>(whole)) != 0;
    bytes_ = whole;
    return false;
}

void Journal::shorten(const JournalContent &content) {
    if (bytes_ < shorten_above) {
        return;
    }
    std::vector<ThreadEntry> threads;
    for (const auto &[id, entry] : content.threads) {
        threads.push_back(entry);
    }
    std::vector<InterruptEntry> interrupts;
    for (const auto &[number, entry] : content.interrupts) {
        interrupts.push_back(entry);
    }
    Descriptor old = std::move(file_);
    const auto old_bytes = bytes_;
    if (!begin("journal.new") || !add(threads, interrupts) ||
        rename((state_ + "/journal.new").c_str(), (state_ + "/journal").c_str()) != 0) {
        file_ = std::move(old);
        bytes_ = old_bytes;
    }
}

void Journal::remove() {
    unlink((state_ + "/journal").c_str());
    file_.reset();
    bytes_ = 0;
    broken_ = false;
}

std::string boot_id(const std::string &proc) {
    Text text;
    if (!text.read(proc + "/sys/kernel/random/boot_id")) {
        return {};
    }
    auto line = text.view();
    return std::string(next_word(line));
}

} // namespace rankwise::tune
