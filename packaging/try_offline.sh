#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds and installs the source distribution where no network is. What pip needs is fetched before, into DIRECTORY: copy
# that to such a site. Then the build is repeated with headers of the site's own MPI, where they are named.
# Usage, as root or with user namespaces: packaging/try_offline.sh DIRECTORY PYTHON [MPI_INCLUDE [OPTION...]]
# for example                             packaging/try_offline.sh wheels python3 /opt/mpich/include
# DIRECTORY has the source distribution (build_wheels.sh writes it). Options are pip's.
set -eu
directory=$(cd "$1" && pwd)
python=$2
headers=${3:-}
shift $(($# < 3 ? $# : 3))
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sources=("$directory"/rankwise-*.tar.gz)
source=${sources[-1]}
stem=$(basename "$source" .tar.gz)
tar -xzf "$source" -C "$work" "$stem/pyproject.toml"

"$python" "$top/packaging/needed.py" offline "$work/$stem/pyproject.toml" >"$work/needed.txt"
"$python" -m pip --disable-pip-version-check download -q -c "$top/constraints.txt" \
    -d "$directory/needed" -r "$work/needed.txt"

offline() {
    unshare --map-root-user --net env -u PIP_FIND_LINKS PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 "$@"
}
if offline "$python" -m pip download -q --retries 0 --no-deps -d "$work/none" pip 2>/dev/null; then
    echo "there is a network: nothing was tried" >&2
    exit 1
fi
options=("$@")
install() { # VENV OPTION...
    local venv=$work/$1
    shift
    "$python" -m venv "$venv"
    offline "$venv/bin/pip" --disable-pip-version-check install -q --no-index --find-links "$directory/needed" \
        "${options[@]}" "$@" "$source"
    offline "$venv/bin/rankwise" --version
}
echo "== with the headers of the source distribution"
install plain
if [ -n "$headers" ]; then
    echo "== with the headers of $headers"
    install site --config-settings cmake.define.RANKWISE_MPI_INCLUDE="$headers"
fi
