// SPDX-License-Identifier: BSD-3-Clause
// Reads every file named on the command line as far as it goes; built with sanitizers, it ends badly on any
// wrong access.
#include "error.hpp"
#include "trace/event_columns.hpp"
#include "trace/node_file.hpp"

int main(int argc, char **argv) {
    std::size_t events = 0;
    for (int i = 1; i < argc; ++i) {
        try {
            const rankwise::trace::NodeFile file(argv[i]);
            for (const auto &thread : file.threads()) {
                events += rankwise::trace::decode(thread.trace).kind.size();
            }
        } catch (const rankwise::Error &) {
            // Refused with a sentence: what a reader should do with what it cannot read.
        }
    }
    return events > 0 ? 0 : 1;
}
