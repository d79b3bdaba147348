#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# booted_systemd.sh DIRECTORY [KEPT]...: boots the systemd that is installed, in namespaces, on a copy of this machine's
# file system that is thrown away; it starts DIRECTORY/trial.service, and ends with it. DIRECTORY and the KEPT directories
# are those of this machine. Exit status 77: nothing could be booted. Root only.
set -eu

if [ "${1-}" != --inside ]; then
    groups=$(findmnt -n -l -t cgroup2 -o TARGET | head -n 1)
    [ -n "$groups" ] && [ -x /lib/systemd/systemd ] || exit 77
    # What systemd takes for the root of all control groups.
    group=$groups$(sed -n 's/^0:://p' /proc/self/cgroup)/rankwise-systemd-$$
    mkdir "$group" || exit 77
    trap 'find "$group" -depth -type d -exec rmdir {} +' EXIT
    (
        echo "$BASHPID" >"$group/cgroup.procs" &&
            exec timeout --kill-after=1 280 unshare --pid --mount --cgroup --ipc --uts --net --fork --kill-child "$0" --inside "$@"
    ) </dev/null || [ -e "$1/booted" ] || exit 77
    exit 0
fi
shift

mount --make-rprivate /
memory=$(mktemp -d)
mount -t tmpfs tmpfs "$memory"
root=$memory/root
mkdir "$memory/upper" "$memory/work" "$root"
mount -t overlay -o "lowerdir=/,upperdir=$memory/upper,workdir=$memory/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do cp -a "/dev/$name" "$root/dev/"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/sys/fs/cgroup"
umount "$root/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
directory=$1
for kept in "$@"; do
    mkdir -p "$root$kept"
    mount --bind "$kept" "$root$kept"
done

# Nothing of this machine is started.
units=$root/etc/systemd/system
rm -rf "$units" "$root/etc/fstab"
mkdir "$units"
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-kernel.socket systemd-udevd-control.socket \
    systemd-modules-load.service systemd-remount-fs.service systemd-sysctl.service systemd-random-seed.service \
    systemd-tmpfiles-setup-dev.service keyboard-setup.service console-setup.service apparmor.service \
    systemd-binfmt.service proc-sys-fs-binfmt_misc.automount dev-hugepages.mount dev-mqueue.mount \
    sys-kernel-debug.mount sys-kernel-tracing.mount; do
    ln -s /dev/null "$units/$unit"
done
cp "$directory"/*.service "$directory"/*.timer "$units/"
cat >"$units/trial.target" <<END
[Unit]
Requires=basic.target
Wants=trial.service
After=basic.target
END
for drop_in in "$directory"/*.d; do [ ! -d "$drop_in" ] || cp -r "$drop_in" "$units/"; done

cd "$root"
mkdir -p old
pivot_root . old
umount -l /old
touch "$directory/booted"
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=trial.target --log-target=null
