// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "act/guard.hpp"
#include "act/state_lock.hpp"
#include "proc/descriptor.hpp"
#include "types.hpp"

namespace rankwise::tune {

/// @brief What was done to a thread: enough to give it back what it had, whether or not the last change of it
/// was carried out.
struct ThreadEntry {
    TaskId process, thread;
    Mask original; ///< before the first change
    Mask before;   ///< the last
    Mask after;
};

/// @brief What was done to an interrupt.
struct InterruptEntry {
    std::int32_t number = 0;
    PuSet original, before, after;
};

/// @brief What a journal says.
struct JournalContent {
    TaskId owner;
    std::string boot; ///< that its numbers of processes belong to
    std::map<TaskId, ThreadEntry> threads;
    std::map<std::int32_t, InterruptEntry> interrupts;
    bool damaged = false; ///< there is more in it than can be read, which is not what a kill leaves
    bool empty() const { return threads.empty() && interrupts.empty(); }
};

/// @brief Read a journal as far as it is whole: a record that was being written when its owner ended is left
/// out, and with it the change it was written ahead of.
JournalContent parse_journal(std::string_view bytes);

/// @brief Write a journal of its own, in place of one that may be there.
/// @return false if it is not on the disk: then what was there is there still
bool write_journal(const std::string &path, const JournalContent &content);

/// @brief STATE/journal: written and synced before what it says is done.
///
/// Records are {CRC-32C of what follows, bytes, kind, fields}, one behind another, in the byte order of the
/// node.
class Journal {
  public:
    /// @brief Begin an empty one.
    /// @param[in] guard that holds it; must outlive this, as the directory
    /// @throws Error where it cannot be made, or there is one
    Journal(StateDirectory &directory, Guard &guard, const TaskId &owner, std::string boot);

    /// @brief Write records, and wait until they are on the disk.
    /// @return false if they are not: what they say must not be done
    bool add(const std::vector<ThreadEntry> &threads, const std::vector<InterruptEntry> &interrupts);

    /// @brief Make its directory again where somebody has removed it: others look for this tuner there.
    /// @return false if it is not there
    bool keep_directory();

    /// @brief Write it again where somebody has removed it, or its directory.
    /// @param[in] content what is still to be restored
    /// @return false if there is none, and none can be
    bool keep(const JournalContent &content);

    /// @brief The same, and leave out what has ended, once it takes too much room.
    void renew(const JournalContent &content);

    /// @brief All is restored: there is no journal any more, until something is added.
    void remove();

    const std::string &state() const { return directory_.path(); }

  private:
    std::string path() const { return state() + "/journal"; }
    bool begin();
    bool is_there() const;
    bool replace(JournalContent content);

    StateDirectory &directory_;
    Guard &guard_;
    std::string boot_;
    TaskId owner_;
    Descriptor file_;
    std::size_t bytes_ = 0;
    bool broken_ = false; ///< nothing can be added behind what is in it
};

/// @return what identifies this boot of the node, empty if it is not known
std::string boot_id(const std::string &proc);

} // namespace rankwise::tune
