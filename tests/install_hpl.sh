#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compiles HPL for MPIs, as `xhpl` beside their `mpiexec`, where `rankwise lab validate` finds it. Its sources are those of
# Debian's hpcc, whose own program runs seconds of other tests as well. Needs Debian's apt-get and libblas3.
# Usage: tests/install_hpl.sh PREFIX...      for example .mpi/mpich-5.0.2 .mpi/openmpi-5.0.11
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
sources=$top/build/hpcc
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
if ! ls "$sources"/hpcc-*/hpl >/dev/null 2>&1; then
    mkdir -p "$sources/lists/partial"
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb-src [signed-by=$key] http://deb.debian.org/debian $release main" >"$sources/deb-src.list"
    apt() {
        apt-get -qq -o Dir::Etc::sourcelist="$sources/deb-src.list" -o Dir::Etc::sourceparts=/dev/null \
            -o Dir::State::lists="$sources/lists" "$@"
    }
    # In a shell of its own: the prefixes may be relative to this directory.
    (cd "$sources" && apt update && apt source --download-only --tar-only hpcc && tar -xzf hpcc_*.orig.tar.gz)
fi
hpl=$(echo "$sources"/hpcc-*/hpl)
# shellcheck disable=SC2046
for prefix in "$@"; do
    prefix=$(realpath "$prefix") # what is linked names it
    "$prefix/bin/mpicc" -O2 -w -DHPL_CALL_CBLAS -I"$hpl/include" -I"$hpl/../include" -o "$prefix/bin/xhpl" \
        "$top/tests/programs/hpl_main.c" $(find "$hpl/src" "$hpl/testing" -name '*.c') -l:libblas.so.3 -lm
done
