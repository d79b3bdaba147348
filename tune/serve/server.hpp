// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "serve/status.hpp"

namespace rankwise::tune {

/// @brief Answers on a socket of its user (AF_UNIX, mode 0600): one line asked, one answer, and it is closed.
///
/// `status` (JSON), `metrics` (Prometheus' text format), `GET /metrics HTTP/1.x` as well; and `stop`, which
/// is answered at the end. Only this user and root are answered. Nothing here blocks: who is slow or asks too
/// much is left alone.
class Server {
  public:
    /// @param[in] path the socket; one that is left of a tuner that has ended is replaced. Empty: no server
    /// @throws Error if something else is there, or somebody listens there
    explicit Server(std::string path, Identity identity = {});
    ~Server();
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    /// @return a file to poll for reading
    int poll_file() const { return poll_; }

    /// @brief Serve whoever can be served now.
    /// @return true once `stop` was asked for
    bool handle();

    /// @brief Listen anew where its socket was removed with its directory.
    /// @return false while that is not there again, or it cannot for another reason: to be tried again
    bool listen_again();

    /// @brief Answer those who asked to stop.
    /// @param[in] left threads and interrupts that could not be given back
    /// @param[in] said what became of all, a sentence; may be empty
    void end(std::size_t left, const std::string &said);

    /// @brief Count an event. @param[in] line the event as JSON; empty: it is not among the recent ones
    void add(const Event &event, std::string line = {}) { status_.add(event, std::move(line)); }

    /// @brief Say from now on what holds the node back.
    void see(const Limits &limits) { status_.limits = limits; }

    /// @brief Say from now on what these ranks' threads did.
    void see(const std::vector<RankSample> &ranks) { status_.see(ranks); }

    /// @brief Count this process' time as the tuner's.
    void see_guard(std::int32_t process) { status_.guard = process; }

  private:
    struct Client {
        Seconds until = 0;
        std::string asked, answer;
        std::size_t written = 0;
        bool asked_to_stop = false;
    };

    void listen();
    void poll_for(int file) const;
    void welcome();
    void hear(bool hears);
    void read(int file, Client &client);
    void answer(int file, Client &client);
    std::string http_answer(std::string_view line) const;
    bool write(int file, Client &client);
    void leave(int file);
    void watch_time();

    std::string path_;
    Status status_;
    int poll_ = -1, listening_ = -1, timer_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::map<int, Client> clients_;
    bool stop_ = false, hears_ = true;
};

} // namespace rankwise::tune
