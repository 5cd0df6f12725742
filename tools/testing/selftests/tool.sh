#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The tool, as a user meets it: files arrive whole, JSON is JSON, and every
# failure has its exit code and names step, peer, device, cause and what next.
#
# shellcheck disable=SC2317 # cases are called by name

here=$(dirname "$0")
[ -e "$here/harness.sh" ] || here=$here/harness
[ ! -e "$here/harness.sh" ] || here=$here/harness.sh
# shellcheck source=harness.sh
. "$here"

cases state devices json write_file write_json moments options several_writers \
	no_listener wrong_port no_answer no_device_on_route no_device \
	file_missing file_too_large no_permission bad_arguments help \
	interrupted_server killed_server killed_writer once module_missing

# One port a case: one that is still closing does not disturb the next.
port() { echo $((7500 + nr)); }
at() { echo "$KV_ADDR:$(port)"; }

serve()
{
	rm -f serve.log
	kverbs serve "$(at)" "$@" >serve.log 2>&1 &
	server=$!
	soon test -s serve.log
}

# The server ends by itself (--once), well.
served()
{
	soon is_gone "$server"
	wait "$server" || fail "the server failed: $(cat serve.log)"
}

stop_server()
{
	kill -INT "$server"
	served
}

# file NAME SIZE
file()
{
	head -c "$2" /dev/urandom >"$1"
	[ "$(stat -c %s "$1")" = "$2" ]
}

sha()
{
	sha256sum <"$1" | cut -d' ' -f1
}

case_state()
{
	expect 0 kverbs
	says "kverbs is loaded" "/dev/kverbs usable" "$KV_DEV" ACTIVE "$KV_NETDEV"
	expect 0 kverbs --version
}

case_devices()
{
	expect 0 kverbs devices
	says "$KV_DEV" "port 1" ACTIVE "GID 0" "$KV_NETDEV" "work requests a queue" \
		"software device"
	[ "$KV_PROVIDER" != rxe ] || says RoCE "::ffff:$KV_ADDR"
	expect 0 kverbs devices "$KV_DEV"
	says "$KV_DEV"
	expect 3 kverbs devices nosuch0
	says "no RDMA device nosuch0"
}

case_json()
{
	for args in -j "-p" "devices -j" "devices -p" "devices -j $KV_DEV"; do
		# shellcheck disable=SC2086 # words
		expect 0 kverbs $args
		json out
		says "$KV_DEV"
	done
	expect 3 kverbs devices -j nosuch0
	json out
	expect 4 kverbs write -j "$(at)" "$0"
	json out
	says '"exit_code":4' ECONNREFUSED
}

case_write_file()
{
	for size in 1 4095 1048577 3333333; do
		file source "$size"
		serve --size 4M --output stored --once
		expect 0 kverbs write "$(at)" source
		says "$(sha source)" COMPLETED CONSUMED "$KV_DEV"
		served
		cmp source stored
		grep -qF "$(sha source)" serve.log
	done
}

case_write_json()
{
	file source 100000
	serve --size 100000 --output stored --once -j
	expect 0 kverbs write -j "$(at)" source
	json out
	says "\"$(sha source)\"" '"connection":{' '"moments_us":{' '"qpn":'
	served
	json serve.log
	grep -qF "\"$(sha source)\"" serve.log
	cmp source stored
}

case_moments()
{
	file source 2000000
	serve --size 2M --output stored --persist
	for until in completed delivered consumed persisted; do
		expect 0 kverbs write --until "$until" "$(at)" source
	done
	says PERSISTED
	soon cmp source stored
	stop_server
	serve --size 2M
	expect 6 kverbs write --until persisted "$(at)" source
	says "--persist"
	stop_server
}

case_options()
{
	file source 3000001
	serve --size 3M --output stored
	expect 0 kverbs write --depth 1 --block 64K "$(at)" source
	cmp source stored
	expect 0 kverbs write --depth 1000 --poll workqueue --block 1G "$(at)" source
	cmp source stored
	expect 0 kverbs write --source "$KV_ADDR" --timeout 30 --block 12345 "$(at)" source
	cmp source stored
	stop_server
	kverbs serve "[$KV_ADDR6]:$(port)" --size 3M --output stored6 --once >serve.log 2>&1 &
	server=$!
	soon test -s serve.log
	expect 0 kverbs write "[$KV_ADDR6]:$(port)" source
	served
	cmp source stored6
}

case_several_writers()
{
	serve --size 4M
	writers=
	for i in 1 2 3; do
		file "source$i" 3000000
		kverbs write "$(at)" "source$i" >"log$i" 2>&1 &
		writers="$writers $!"
	done
	for writer in $writers; do
		wait "$writer" || fail "a writer failed: $(cat log?)"
	done
	for i in 1 2 3; do
		soon grep -qF "$(sha "source$i")" serve.log
	done
	stop_server
}

case_no_listener()
{
	expect 4 kverbs write "$(at)" "$0"
	says "$(at)" "$KV_DEV" ECONNREFUSED "kverbs serve"
	[ "$(wc -l <out)" = 2 ]
}

case_wrong_port()
{
	serve --size 1M
	expect 4 kverbs write "$KV_ADDR:4999" "$0"
	says "$KV_ADDR:4999" ECONNREFUSED
	expect 4 kverbs serve "$(at)" --size 1M
	says EADDRINUSE
	stop_server
}

case_no_answer()
{
	expect 4 kverbs write --timeout 1 "10.9.0.77:4999" "$0"
	says 10.9.0.77:4999 ETIMEDOUT
}

case_no_device_on_route()
{
	ip link add plain0 type dummy
	ip addr add 10.77.0.1/24 dev plain0
	ip link set plain0 up
	expect 3 kverbs write 10.77.0.2 "$0"
	says 10.77.0.2:7479 ENODEV
	expect 3 kverbs write 198.51.100.1 "$0"
	says 198.51.100.1:7479
	expect 3 kverbs serve 10.77.0.1 --size 1M
	says 10.77.0.1:7479 ENODEV
	ip link del plain0
}

case_no_device()
{
	rdma link delete "$KV_DEV"
	status=0
	(
		expect 3 kverbs
		expect 3 kverbs devices
		says "no RDMA device" "rdma link add"
		expect 3 kverbs write "$(at)" "$0"
		says "no RDMA device" "rdma link add"
		expect 3 kverbs serve "$(at)" --size 1M
		expect 3 kverbs devices -j
		json out
	) || status=1
	rdma link add "$KV_DEV" type "$KV_PROVIDER" netdev "$KV_NETDEV"
	[ "$KV_PROVIDER" = siw ] ||
		soon grep -qs ffff:0a "/sys/class/infiniband/$KV_DEV/ports/1/gids/"*
	return "$status"
}

case_file_missing()
{
	expect 7 kverbs write "$(at)" missing
	says missing "No such file"
	: >empty
	expect 7 kverbs write "$(at)" empty
	says empty
	expect 7 kverbs write "$(at)" /tmp
	says "not a regular file"
	serve --size 1M --output nowhere/stored
	echo data >source
	kverbs write --timeout 3 "$(at)" source >out 2>&1 && fail "nothing can be stored there"
	stop_server || true
}

case_file_too_large()
{
	file source 1048577
	serve --size 1M --output stored
	expect 7 kverbs write "$(at)" source
	says "larger than the peer's region" 1048577 1048576 "--size"
	truncate -s 1048576 source
	expect 0 kverbs write "$(at)" source
	cmp source stored
	stop_server
}

case_no_permission()
{
	[ -e /etc/passwd ] || echo "nobody:x:65534:65534::/:/bin/sh" >/etc/passwd
	expect 2 busybox su -s /bin/sh nobody -c kverbs
	says "no permission" "udev rule"
	expect 2 busybox su -s /bin/sh nobody -c "kverbs write $(at) $0"
	says "no permission" "udev rule"
}

case_bad_arguments()
{
	for args in nosuch "--nosuch" "write" "write $KV_ADDR" "write $KV_ADDR a b" \
		"write --until never $KV_ADDR $0" "write --depth 0 $KV_ADDR $0" \
		"write --depth 99999 $KV_ADDR $0" "write --depth -1 $KV_ADDR $0" \
		"write --poll nobody $KV_ADDR $0" "write --block 0 $KV_ADDR $0" \
		"write --block 2G $KV_ADDR $0" "write --block 1X $KV_ADDR $0" \
		"write --timeout x $KV_ADDR $0" "write 1.2.3.4:99999 $0" \
		"write --source fd00::1 $KV_ADDR $0" "write ::1:2:x $0" \
		"write --block" "serve" "serve $KV_ADDR" "serve $KV_ADDR --size 0" \
		"serve $KV_ADDR --size 99999999999999999999" "serve $KV_ADDR --size 1T" \
		"serve $KV_ADDR --size 1M --persist" "serve $KV_ADDR x --size 1M" \
		"devices a b"
	do
		# shellcheck disable=SC2086 # words
		expect 1 kverbs $args
		[ -s out ]
	done
}

case_help()
{
	expect 0 kverbs --help
	says devices serve write
	for verb in devices serve write; do
		expect 0 kverbs "$verb" --help
		says Usage: "--json"
		expect 0 kverbs help "$verb"
	done
}

case_interrupted_server()
{
	serve --size 1M
	stop_server
	serve --size 1M
	kill -TERM "$server"
	served
	expect 4 kverbs write "$(at)" "$0"
}

# A writer that is slow enough to be met: blocks of one page, and much of them.
writing()
{
	kverbs write --block 4K --depth 1 "$(at)" "$1" >write.log 2>&1 &
	writer=$!
	soon grep -qi connected serve.log
}

case_killed_server()
{
	truncate -s 30000000 source
	serve --size 30M
	writing source
	kill -KILL "$server"
	soon is_gone "$writer"
	status=0
	wait "$writer" || status=$?
	cat write.log
	[ "$status" = 6 ] || [ "$status" = 5 ]
	grep -qF "$(at)" write.log
}

case_killed_writer()
{
	truncate -s 30000000 source
	serve --size 30M --output stored
	writing source
	kill -KILL "$writer"
	soon grep -qiE "vanished|closed|ECONNRESET" serve.log
	[ ! -e stored ]
	truncate -s 100000 source
	expect 0 kverbs write "$(at)" source
	cmp source stored
	stop_server
}

# A writer that is told to end does; the server waits for one that does not. (In
# a script, what runs in the background does not get SIGINT.)
case_once()
{
	truncate -s 30000000 source
	serve --size 30M --output stored --once
	writing source
	kill -TERM "$writer"
	soon is_gone "$writer"
	truncate -s 100000 source
	expect 0 kverbs write "$(at)" source
	served
	cmp source stored
}

case_module_missing()
{
	rmmod kverbs
	status=0
	(
		expect 2 kverbs
		says "not loaded" "$KV_DEV"
		expect 0 kverbs devices
		says "$KV_DEV" "not loaded"
		expect 2 kverbs write "$(at)" "$0"
		says "not loaded" modprobe
		expect 2 kverbs serve -j "$(at)" --size 1M
		json out
	) || status=1
	insmod "$KV_MODULE"
	soon test -c /dev/kverbs
	return "$status"
}

run_cases "$@"
