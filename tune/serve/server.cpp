// SPDX-License-Identifier: BSD-3-Clause
#include "serve/server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include "error.hpp"
#include "proc/clock.hpp"
#include "refused.hpp"
#include "serve/answers.hpp"

namespace rankwise::tune {

namespace {

constexpr std::size_t most_clients = 16;
constexpr std::size_t longest_line = 256;
constexpr std::size_t longest_http = 8192;
constexpr Seconds patience = 2;
constexpr int backlog = 16;

Seconds now() {
    return clock_s(CLOCK_MONOTONIC);
}

sockaddr_un address_of(const std::string &path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw Error("`" + path + "` is too long for a socket", "choose a shorter one");
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

[[noreturn]] void fail(const std::string &path) {
    throw Error("the socket `" + path + "` cannot be made: " + std::strerror(errno));
}

/// Whether somebody listens there.
bool is_answered(const sockaddr_un &address) {
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool answered = connect(file, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0 ||
                          errno == EAGAIN; // its queue is full
    close(file);
    return answered;
}

bool is_ours(int file) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

std::string http(std::string_view status, std::string_view body) {
    return std::string("HTTP/1.1 ")
        .append(status)
        .append("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nConnection: close\r\n")
        .append("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n")
        .append(body);
}

bool is_http(std::string_view asked) {
    return asked.find(" HTTP/1.") != std::string_view::npos;
}

} // namespace

Server::Server(std::string path, Identity identity) : path_(std::move(path)) {
    status_.identity = std::move(identity);
    if (path_.empty())
        return;
    poll_ = epoll_create1(EPOLL_CLOEXEC);
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    try {
        poll_for(timer_);
        listen();
    } catch (...) {
        for (const int file : {poll_, timer_, listening_})
            close(file);
        throw;
    }
}

void Server::listen() {
    const sockaddr_un address = address_of(path_);
    struct stat found{};
    if (lstat(path_.c_str(), &found) == 0) {
        if (!S_ISSOCK(found.st_mode))
            throw Error("`" + path_ + "` is there and is no socket", "remove it, or choose another one");
        if (is_answered(address))
            throw Refused("another tuner answers at `" + path_ + "`",
                          "ask it to end: `rankwise tune stop --socket " + path_ + "`");
        unlink(path_.c_str());
    }
    if (listening_ >= 0)
        close(listening_);
    listening_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    // Nobody else may connect between bind() and a chmod().
    const mode_t before = umask(0177);
    const int bound = bind(listening_, reinterpret_cast<const sockaddr *>(&address), sizeof address);
    umask(before);
    if (bound != 0 || ::listen(listening_, backlog) != 0 || lstat(path_.c_str(), &found) != 0) {
        const int problem = errno;
        if (bound == 0)
            unlink(path_.c_str()); // else it would be taken for one that is heard
        errno = problem;
        fail(path_);
    }
    device_ = found.st_dev;
    inode_ = found.st_ino;
    poll_for(listening_);
    hears_ = true;
}

bool Server::listen_again() {
    struct stat found{};
    // What is there may be another tuner's.
    if (path_.empty() || lstat(path_.c_str(), &found) == 0)
        return true;
    try {
        listen();
    } catch (const Error &) {
        return false;
    }
    return true;
}

void Server::poll_for(int file) const {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = file;
    if (epoll_ctl(poll_, EPOLL_CTL_ADD, file, &event) != 0)
        fail(path_);
}

Server::~Server() {
    if (path_.empty())
        return;
    while (!clients_.empty())
        leave(clients_.begin()->first);
    struct stat found{};
    // It may be another one's by now.
    if (lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_)
        unlink(path_.c_str());
    for (const int file : {poll_, timer_, listening_})
        close(file);
}

bool Server::handle() {
    std::array<epoll_event, most_clients + 2> events{};
    const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 0);
    bool welcomes = false;
    for (int at = 0; at < count; ++at) {
        const int file = events[static_cast<std::size_t>(at)].data.fd;
        welcomes |= file == listening_ || (file == timer_ && !hears_);
        const auto client = clients_.find(file);
        if (client == clients_.end())
            continue;
        if (!client->second.answer.empty()) {
            if (!write(file, client->second))
                leave(file);
        } else
            read(file, client->second);
    }
    const Seconds moment = now();
    std::vector<int> late;
    for (const auto &[file, client] : clients_)
        if (client.until < moment)
            late.push_back(file);
    for (const int file : late)
        leave(file);
    // New ones last: their files may have the numbers of those that just left.
    if (welcomes)
        welcome();
    watch_time();
    return stop_;
}

void Server::welcome() {
    for (int turn = 0; turn < backlog; ++turn) {
        const int file = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (file < 0)
            // Whoever waits is there still, and would wake this at once, again and again.
            return hear(errno == EAGAIN || errno == EINTR || errno == ECONNABORTED);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = file;
        if (clients_.size() >= most_clients || !is_ours(file) ||
            epoll_ctl(poll_, EPOLL_CTL_ADD, file, &event) != 0) {
            close(file);
            continue;
        }
        clients_[file].until = now() + patience;
    }
}

/// Whether to be woken by who wants to connect.
void Server::hear(bool hears) {
    if (hears == hears_)
        return;
    epoll_event event{};
    event.events = hears ? EPOLLIN : 0U;
    event.data.fd = listening_;
    if (epoll_ctl(poll_, EPOLL_CTL_MOD, listening_, &event) == 0)
        hears_ = hears;
}

void Server::read(int file, Client &client) {
    std::array<char, 1024> text{};
    const ssize_t size = recv(file, text.data(), text.size(), 0);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0)
        return leave(file);
    client.asked.append(text.data(), static_cast<std::size_t>(size));
    const std::size_t end = client.asked.find('\n');
    const bool as_http = end != std::string::npos && is_http(std::string_view(client.asked).substr(0, end));
    if (std::min(end, client.asked.size()) > longest_line || client.asked.size() > longest_http)
        return leave(file);
    if (end == std::string::npos)
        return;
    // Its headers are of no interest, but who still sends would get a reset instead of the answer.
    if (as_http && client.asked.find("\r\n\r\n") == std::string::npos &&
        client.asked.find("\n\n") == std::string::npos)
        return;
    answer(file, client);
}

void Server::answer(int file, Client &client) {
    std::string_view line(client.asked);
    line = line.substr(0, line.find_first_of("\r\n"));
    if (line == "status")
        client.answer = status_json(status_, now());
    else if (line == "metrics")
        client.answer = metrics_text(status_, now());
    else if (line == "stop") {
        client.asked_to_stop = stop_ = true;
        return;
    } else if (is_http(line)) {
        client.answer = http_answer(line);
    } else
        client.answer = "{\"error\": \"asked neither `status`, `metrics` nor `stop`\"}\n";
    epoll_event event{};
    event.events = EPOLLOUT;
    event.data.fd = file;
    if (!write(file, client) || epoll_ctl(poll_, EPOLL_CTL_MOD, file, &event) != 0)
        leave(file);
}

std::string Server::http_answer(std::string_view line) const {
    const bool head_only = line.starts_with("HEAD ");
    if (!head_only && !line.starts_with("GET "))
        return http("405 Method Not Allowed", "GET and HEAD only\n");
    line.remove_prefix(line.find(' ') + 1);
    const std::string_view path = line.substr(0, line.find_first_of(" ?"));
    std::string answer = path == "/metrics" ? http("200 OK", metrics_text(status_, now()))
                                            : http("404 Not Found", "/metrics is here\n");
    if (head_only)
        answer.resize(answer.find("\r\n\r\n") + 4);
    return answer;
}

void Server::end(std::size_t left, const std::string &said) {
    for (auto &[file, client] : clients_)
        if (client.asked_to_stop) {
            client.answer = stopped_json(left, said);
            write(file, client);
        }
}

/// @return whether there is more to write
bool Server::write(int file, Client &client) {
    while (client.written < client.answer.size()) {
        const ssize_t size = send(file, client.answer.data() + client.written,
                                  client.answer.size() - client.written, MSG_NOSIGNAL);
        if (size < 0)
            return errno == EAGAIN || errno == EINTR;
        client.written += static_cast<std::size_t>(size);
    }
    return false;
}

void Server::leave(int file) {
    clients_.erase(file);
    close(file);
}

/// So that who polls wakes up for clients that say nothing, and to listen again.
void Server::watch_time() {
    itimerspec time{};
    if (!clients_.empty() || !hears_)
        time.it_value.tv_sec = time.it_interval.tv_sec = 1;
    std::array<char, 8> expired{};
    while (::read(timer_, expired.data(), expired.size()) > 0) {
    }
    timerfd_settime(timer_, 0, &time, nullptr);
}

} // namespace rankwise::tune
