// SPDX-License-Identifier: BSD-3-Clause
#include "act/journal.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <type_traits>

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
constexpr std::size_t renew_above = std::size_t{256} << 10U;

/// @brief Puts fields behind one another.
class Writer {
  public:
    explicit Writer(Kind kind) : kind_(kind) {}

    template <class Value>
        requires std::is_trivially_copyable_v<Value>
    Writer &put(const Value &value) {
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
    void take(Mask &mask) {
        PuSet set;
        take(set);
        mask = set;
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
        const auto behind = bytes.size() - sizeof frame;
        if (frame.bytes <= most_bytes && frame.bytes > behind) {
            break; // its owner was killed while it wrote this
        }
        if (frame.bytes > most_bytes ||
            rw_crc32c(0, bytes.data() + head, sizeof frame - head + frame.bytes) != frame.checksum ||
            !take_record(frame.kind, bytes.substr(sizeof frame, frame.bytes), content)) {
            content.damaged = true;
            break;
        }
        bytes.remove_prefix(sizeof frame + frame.bytes);
    }
    content.damaged = content.damaged || (content.owner.number == 0 && !content.empty());
    return content;
}

namespace {

bool write_whole(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = write(file, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
}

/// @return the new file, on the disk with all that is in it; none, and no file, if that cannot be
Descriptor make_file(const std::string &path, const JournalContent &content, std::size_t &bytes) {
    std::string records = Writer(owner_kind).put(content.owner).put(content.boot).record();
    for (const auto &[id, entry] : content.threads) {
        records += record_of(entry);
    }
    for (const auto &[number, entry] : content.interrupts) {
        records += record_of(entry);
    }
    constexpr int how = O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    Descriptor file(open(path.c_str(), how, 0600));
    if (file && (!write_whole(file.number(), records) || fdatasync(file.number()) != 0)) {
        const int problem = errno;
        unlink(path.c_str());
        file.reset();
        errno = problem;
    }
    bytes = records.size();
    return file;
}

/// @brief The same, in place of what has this name.
Descriptor replace_file(const std::string &path, const JournalContent &content, std::size_t &bytes) {
    const auto made = path + ".new";
    unlink(made.c_str());
    auto file = make_file(made, content, bytes);
    if (file && rename(made.c_str(), path.c_str()) != 0) {
        unlink(made.c_str());
        file.reset();
    }
    return file;
}

} // namespace

bool write_journal(const std::string &path, const JournalContent &content) {
    std::size_t bytes = 0;
    return static_cast<bool>(replace_file(path, content, bytes));
}

Journal::Journal(StateDirectory &directory, Guard &guard, const TaskId &owner, std::string boot)
    : directory_(directory), guard_(guard), boot_(std::move(boot)), owner_(owner) {
    if (!begin()) {
        throw Error("cannot write a journal in `" + state() + "`: " + std::strerror(errno),
                    "without one nothing is changed");
    }
}

bool Journal::begin() {
    if (!keep_directory()) {
        return false;
    }
    JournalContent nothing;
    nothing.owner = owner_;
    nothing.boot = boot_;
    file_ = make_file(path(), nothing, bytes_);
    if (file_) {
        guard_.keep_journal(file_);
    }
    return static_cast<bool>(file_);
}

bool Journal::is_there() const {
    return file_ && is_still_at(file_.number(), path());
}

bool Journal::keep_directory() {
    if (directory_.is_there()) {
        return true;
    }
    const bool is_made = directory_.make_again();
    if (is_made) {
        guard_.keep_lock();
    }
    return is_made;
}

bool Journal::add(const std::vector<ThreadEntry> &threads, const std::vector<InterruptEntry> &interrupts) {
    std::string records;
    for (const auto &entry : threads) {
        records += record_of(entry);
    }
    for (const auto &entry : interrupts) {
        records += record_of(entry);
    }
    if (broken_ || (!file_ && !begin()) || !is_there()) {
        return false;
    }
    if (write_whole(file_.number(), records) && fdatasync(file_.number()) == 0) {
        bytes_ += records.size();
        return true;
    }
    // A part of a record would hide those that are added behind it.
    broken_ = ftruncate(file_.number(), static_cast<off_t>(bytes_)) != 0;
    return false;
}

bool Journal::replace(JournalContent content) {
    struct stat status{};
    if (!is_there() && lstat(path().c_str(), &status) == 0) {
        return false; // of a tuner that was killed, and had the directory meanwhile
    }
    content.owner = owner_;
    content.boot = boot_;
    std::size_t bytes = 0;
    auto file = replace_file(path(), content, bytes);
    if (!file) {
        return false;
    }
    guard_.keep_journal(file);
    file_ = std::move(file);
    bytes_ = bytes;
    broken_ = false;
    return true;
}

bool Journal::keep(const JournalContent &content) {
    return keep_directory() && (is_there() || replace(content));
}

void Journal::renew(const JournalContent &content) {
    if (file_ && keep(content) && (bytes_ >= renew_above || broken_)) {
        replace(content);
    }
}

void Journal::remove() {
    // Whoever has it open, as the guard, finds nothing in it: first, as it may be killed behind it.
    static_cast<void>(file_ && ftruncate(file_.number(), 0) == 0);
    if (is_there()) {
        unlink(path().c_str());
    }
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
