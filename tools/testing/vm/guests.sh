# shellcheck shell=bash disable=SC2154,SC2153 # lane* and KV_* come from the caller
# SPDX-License-Identifier: GPL-2.0-only
#
# Putting guests together and booting them. Everything a guest gets lies in one
# folder, the stage; user-mode Linux sees it through the host's file system,
# QEMU as part of an initramfs. Used by `run` and by the demo, which set WORK
# to a folder for all of it.

GUEST_PIDS=()

# Copy programs and the shared libraries they need into a tree.
copy_with_libs()
{
	local tree=$1 program

	shift
	for program; do
		ldd "$program" 2>/dev/null | tr -s ' \t' '\n' | grep '^/' || true
	done | sort -u | while read -r program; do
		[ -e "$tree$program" ] || cp -L --parents "$program" "$tree"
	done
}

# The part of an initramfs that depends on the kernel alone: a shell, busybox,
# ip, rdma and the kernel modules for soft RDMA, unpacked. Made once per kernel.
base_archive()
{
	local out=$BUILD/$KV_KERNEL/base.cpio tree module tool path
	local tools=(/bin/dash)

	if [ "$out" -nt "$CACHE/kernels/$KV_KERNEL/env" ] &&
		[ "$out" -nt "$VM/guests.sh" ]; then
		return
	fi
	need busybox=busybox-static ip=iproute2 rdma=iproute2 kmod=kmod cpio=cpio \
		xz=xz-utils
	mkdir -p "$BUILD/$KV_KERNEL"
	tree=$WORK/base
	mkdir -p "$tree"/{bin,sbin,usr/bin,usr/sbin,proc,sys,dev,tmp,run,etc}
	cp "$(command -v busybox)" "$tree/bin/busybox"
	for tool in $(busybox --list); do
		[ "$tool" = busybox ] || ln -s busybox "$tree/bin/$tool"
	done
	# busybox's own shell would prefer its applets to ip and the like.
	cp --remove-destination -L /bin/dash "$tree/bin/sh"
	for tool in ip rdma; do
		path=$(PATH=$PATH:/usr/sbin:/sbin command -v $tool)
		cp -L "$path" "$tree/usr/sbin/$tool"
		tools+=("$path")
	done
	copy_with_libs "$tree" "${tools[@]}"
	for module in ${KV_ROOT:+virtio_pci virtio_net virtio_console dummy \
		crc32_generic rdma_rxe rdma_cm rdma_ucm ib_uverbs hmac sha256_generic}
	do
		modprobe -C /dev/null -d "$KV_ROOT" -S "$KV_RELEASE" --show-depends \
			"$module" 2>/dev/null || true
	done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u | while read -r path; do
		module=$tree/lib/modules/$KV_RELEASE/${path##*/"$KV_RELEASE"/}
		mkdir -p "$(dirname "$module")"
		case $path in
		*.xz) xz -dc "$path" >"${module%.xz}" ;;
		*) cp "$path" "$module" ;;
		esac
	done
	if [ -n "$KV_ROOT" ]; then
		cp "$KV_ROOT/lib/modules/$KV_RELEASE/"modules.{builtin,order}* \
			"$tree/lib/modules/$KV_RELEASE/"
		depmod -b "$tree" "$KV_RELEASE"
	fi
	(cd "$tree" && find . | cpio -o -H newc -R 0:0 --quiet) >"$out.tmp"
	mv "$out.tmp" "$out"
	rm -rf "$tree"
}

# stage DIR ROLE: what every guest gets. The caller adds plan and programs.
stage()
{
	local dir=$1 role=$2 small=${KV_SMALL-} file

	mkdir -p "$dir/bin" "$dir/tests"
	cp "$VM/guest/init" "$VM/guest/checks" "$dir/"
	cp "$VM/guest/kv-sync" "$dir/bin/"
	for file in "$BUILD/$KV_KERNEL/kverbs.ko" \
		"$BUILD/$KV_KERNEL/kunit/kverbs_kunit.ko"; do
		[ ! -e "$file" ] || cp "$file" "$dir/"
	done
	for file in "$BUILD/tools"/*; do
		[ ! -f "$file" ] || [ ! -x "$file" ] || cp "$file" "$dir/bin/"
	done
	for file in "$SELFTESTS"/*.sh; do
		[ ! -e "$file" ] || cp "$file" "$dir/tests/$(basename "$file" .sh)"
	done
	# Expressions for this lane, as grep takes them.
	sed '/^#/d; /^$/d; s/ *#.*//' "$VM/known-splats" |
		while read -r glob expression; do
			# shellcheck disable=SC2053 # a pattern
			[[ $lane != $glob ]] || echo "$expression"
		done >"$dir/known-splats"
	[ "${lane_counts-}" != small ] || small=1
	{
		echo "KV_ROLE=$role KV_PROVIDER=$lane_link KV_LANE=$lane"
		echo "KV_SMALL=$small KV_SEED=${KV_SEED-}"
	} >"$dir/env"
}

# The kernel's own watchdogs shall catch what hangs, not a busy host.
WATCHDOGS=(rcupdate.rcu_cpu_stall_timeout=120 workqueue.watchdog_thresh=120)

# boot_um DIR: its console is the log, its results go through hostfs.
boot_um()
{
	local dir=$1

	ln -s stage/results "$dir/results"
	: >"$dir/results"
	setsid "$KV_BOOT" mem=768M root=/dev/root rootfstype=hostfs rootflags=/ ro \
		init="$dir/stage/init" KV="$dir/stage" uml_dir="$dir/uml/" \
		umid=guest con=null con0=fd:0,fd:1 loglevel=8 "${WATCHDOGS[@]}" \
		>"$dir/console.log" 2>&1 </dev/null &
	GUEST_PIDS+=($!)
}

# boot_qemu DIR ROLE: the console is the first serial port, results the second.
# GUEST_MEM (MiB), GUEST_CPUS, GUEST_QEMU (how it emulates) and GUEST_APPEND (to the
# kernel's command line) are the caller's wishes.
boot_qemu()
{
	local dir=$1 role=$2 tree=$1/tree append
	local server=on net cable mac wire=()

	base_archive
	mkdir -p "$tree"
	cp -r "$dir/stage" "$tree/kv"
	mkdir -p "$tree/bin"
	ln -s kv/init "$tree/init"
	copy_with_libs "$tree" "$tree"/kv/bin/* "$tree"/kv/tests/*
	(cd "$tree" && find . | cpio -o -H newc -R 0:0 --quiet) >"$dir/stage.cpio"
	cat "$BUILD/$KV_KERNEL/base.cpio" "$dir/stage.cpio" >"$dir/initrd"
	rm -rf "$tree" "$dir/stage.cpio"
	: >"$dir/results"
	append="console=ttyS0 panic=-1 mitigations=off cryptomgr.notests"
	append="$append ${WATCHDOGS[*]} quiet log_buf_len=4M KV=/kv ${GUEST_APPEND-}"
	[ "$KV_KERNEL" != debug ] || append="$append panic_on_warn=1"
	if [ "$role" != both ]; then
		[ "$role" = A ] || server=off
		# Guest A listens on both sockets, B connects.
		net="stream,id=net,server=$server,addr.type=unix"
		cable="socket,id=cable,path=$WORK/cable,server=$server"
		[ $server = off ] || cable=$cable,wait=off
		mac=52:54:00:00:00:0${role/B/2}
		wire=(-netdev "$net,addr.path=$WORK/net"
			-device "virtio-net-pci,netdev=net,host_mtu=4200,mac=${mac/A/1}"
			-device virtio-serial-pci -chardev "$cable"
			-device "virtserialport,chardev=cable")
	fi
	# shellcheck disable=SC2086 # words
	setsid qemu-system-x86_64 ${GUEST_QEMU:--accel tcg,thread=multi} -machine q35 \
		-cpu Nehalem -smp "${GUEST_CPUS:-2}" -m "${GUEST_MEM:-1024}" -nodefaults -no-reboot -display none \
		-kernel "$KV_BOOT" -initrd "$dir/initrd" -append "$append" \
		-serial "file:$dir/console.log" -serial "file:$dir/results" \
		"${wire[@]}" >"$dir/qemu.log" 2>&1 </dev/null &
	GUEST_PIDS+=($!)
}

guests_alive()
{
	local pid

	for pid in "${GUEST_PIDS[@]}"; do
		! kill -0 "$pid" 2>/dev/null || return 0
	done
	return 1
}

guests_kill()
{
	local pid

	for pid in "${GUEST_PIDS[@]}"; do
		kill -KILL -- "-$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	GUEST_PIDS=()
}

# guests_wait SECONDS FILE...: until all are off, or the time is up, which is a
# failure. Each new line of the files (one a guest, named by its folder) goes to
# the caller's function `progress ROLE LINE`.
guests_wait()
{
	local limit=$1 end alive=1 file line told

	shift
	declare -A told
	end=$(($(date +%s) + limit))
	while [ -n "$alive" ]; do
		guests_alive || alive=
		for file; do
			while IFS= read -r line; do
				told[$file]=$((${told[$file]:-0} + 1))
				progress "$(basename "$(dirname "$file")")" \
					"${line%$'\r'}"
			done < <(tail -n+$((${told[$file]:-0} + 1)) "$file")
		done
		if [ -n "$alive" ] && [ "$(date +%s)" -ge $end ]; then
			say "time limit of $limit s, ending the guests"
			guests_kill
			return 1
		fi
		sleep 0.3
	done
	guests_kill
}
