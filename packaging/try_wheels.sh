#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the wheels of a directory in a clean Debian that has no compiler; then records and reports a program with each
# of Debian's MPIs. With Debian's Python, and with Pythons of other directories, which must run on that Debian.
# Usage, as root: packaging/try_wheels.sh DIRECTORY SUITE [PREFIX...]    for example wheels bookworm ~/.pyenv/versions/3.12.1
# $DEBIAN is a mirror, if not Debian's own. What pip is told by its environment and by /etc/pip.conf holds there too. A
# Debian's own Python that is too old for Rankwise is left out: then give another.
set -eu
wheels=$(cd "$1" && pwd)
suite=$2
shift 2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

inside() {
    unshare --mount bash -c 'root=$1; shift
        mount -t proc proc "$root/proc"; mount --rbind /sys "$root/sys"; mount --rbind /dev "$root/dev"
        exec chroot "$root" "$@"' bash "$root" env PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}

# A suite that is younger than this debootstrap is laid out as sid is.
script=/usr/share/debootstrap/scripts/$suite
[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
debootstrap --variant=minbase "$suite" "$root" "${DEBIAN:-}" "$script" >/dev/null
# Beside Python, what Pythons of other directories load, as this Debian names it, and ip for `rankwise lab`.
libraries=$(inside apt-cache pkgnames lib |
    grep -xE 'lib(ssl1\.1|ssl3|ssl3t64|ffi7|ffi8|sqlite3-0|lzma5|bz2-1\.0|readline8|readline8t64)')
# shellcheck disable=SC2086
inside apt-get install -qq -y --no-install-recommends python3 python3-venv ca-certificates iproute2 $libraries >/dev/null
for file in /etc/resolv.conf /etc/pip.conf ${PIP_CERT:+"$PIP_CERT"}; do
    [ ! -f "$file" ] || cp -L --remove-destination --parents "$file" "$root"
done
# MPICH before 4.0 looks this host's own name up.
printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$root/etc/hosts"
for prefix in "$@"; do
    cp -r --parents "$prefix" "$root"
    ln -s "$prefix/bin/python3" "$root/usr/local/bin/python-$(basename "$prefix")"
done
mkdir "$root/wheels"
cp "$wheels"/*.whl "$root/wheels"

cat >"$root/install.sh" <<'INSTALL'
set -eu
for compiler in cc gcc clang tcc; do
    if command -v "$compiler"; then exit 1; fi
done
for python in /usr/bin/python3 /usr/local/bin/python-*; do
    [ -e "$python" ] || continue
    old=$("$python" -c 'import sys; print(sys.version_info < (3, 10))')
    [ "$old" = False ] || continue
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -m venv "/opt/$version"
    pip="/opt/$version/bin/pip --disable-pip-version-check -q"
    $pip download --no-index --find-links /wheels --no-deps --pre -d "/opt/$version/wheel" rankwise
    $pip install "/opt/$version/wheel"/*.whl
    echo "== Python $version: $(basename "/opt/$version/wheel"/*.whl)"
    "/opt/$version/bin/rankwise" --version
    for file in man/man1/rankwise-record.1 bash-completion/completions/rankwise zsh/site-functions/_rankwise \
        fish/vendor_completions.d/rankwise.fish; do
        test -s "/opt/$version/share/$file"
    done
done
ls -d /opt/3.* >/dev/null # one at least
ldd --version | head -1
INSTALL
inside bash /install.sh

inside apt-get install -qq -y --no-install-recommends gcc libc6-dev mpich libmpich-dev openmpi-bin libopenmpi-dev >/dev/null
cat >"$root/record.sh" <<'RECORD'
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe # the same, from Open MPI 5 on
for venv in /opt/3.*; do
    PATH=$venv/bin:$PATH
    for mpi in mpich openmpi; do
        echo "== Python ${venv##*/}, $mpi"
        program=$(rankwise workloads cg --launcher "mpiexec.$mpi")
        rankwise record --trace -o "/$mpi.rw" --force -- "mpiexec.$mpi" -n 4 "$program" --class S
        rankwise report "/$mpi.rw" | head -12
        test -s "/$mpi.report.html"
    done
done
RECORD
inside bash /record.sh
