#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian packages that widen what the tests cover: its MPICH and Open MPI, Fortran, a browser, iproute2, LAMMPS, SimGrid,
# Slurm, and readers of what is exported.
set -eu
export DEBIAN_FRONTEND=noninteractive
packages="mpich libmpich-dev zsh fish jq mandoc openmpi-bin libopenmpi-dev gfortran chromium iproute2 lammps libsimgrid-dev slurmctld slurmd
    slurm-client munge otf2-tools metis"
for package in $packages; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="${missing:-} $package"
done
if [ -n "${missing:-}" ]; then
    apt-get update -qq
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
