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
	file_missing file_too_large no_permission bad_arguments help complete \
	interrupted_server killed_server killed_writer once \
	bench_write bench_read bench_in_kernel bench_json bench_polls bench_threads \
	bench_registered bench_inline bench_delivered bench_duration bench_sizes bench_remote \
	bench_too_large bench_no_listener bench_killed_server bench_no_raw bench_bad_arguments \
	module_missing

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
	rm -f serve.log
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
	says devices serve write bench
	for verb in devices serve write bench; do
		expect 0 kverbs "$verb" --help
		says Usage: "--json"
		expect 0 kverbs help "$verb"
	done
}

# What a shell is offered is what there is: every verb, and each with its options.
case_complete()
{
	verbs=$(kverbs --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
	expect 0 kverbs help --complete
	[ "$(cut -f1 out | xargs)" = "$(echo kverbs "$verbs" | xargs)" ]
	says "write|read ADDR[:PORT]" "--poll=softirq|workqueue|unbound|direct"
	for verb in $verbs; do
		kverbs "$verb" --help | sed -n 's/^  -., --\([a-z-]*\).*/\1/p' >options
		[ -s options ]
		grep "^$verb	" out >offered
		while read -r option; do
			grep -qE "	--$option(	|=|$)" offered || fail "$verb: no --$option"
		done <options
	done
	expect 1 kverbs help --complete write
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

# Emulated processors write a thousand times a second.
count() { [ -n "${KV_SMALL-}" ] && echo 100 || echo 500; }

# bench ROWS ARGS...: to ourselves; each size has its row, verified. By default the
# warm-up is all of the depth, which is much of large items.
bench()
{
	rows=$1
	shift
	expect 0 kverbs bench --warmup 8 "$@" --self "$KV_ADDR"
	says "$KV_DEV" "both ends in this process"
	[ "$(grep -c 'verified$' out)" = "$rows" ] || fail "not $rows rows: $(cat out)"
}

case_bench_write()
{
	bench 4 write --size 1,63,4k,64k --count "$(count)" --batch 32
	says "bench write" "path ioctl" "batches of 32" "writes/s"
	bench 2 write --size 64,4k --count "$(count)" --depth 1
	[ "$(grep -cE "^ +(64|4096) .* $(count)  verified" out)" = 2 ]
}

case_bench_read()
{
	bench 4 read --size 1,63,4k,64k --count "$(count)" --batch 32
	says "bench read" "reads/s"
	bench 1 read --size 100000 --count 50 --depth 3
}

case_bench_in_kernel()
{
	for op in write read; do
		bench 4 "$op" --in-kernel --size 1,63,4k,64k --count "$(count)" --batch 32
		says "path in-kernel"
	done
}

case_bench_json()
{
	for args in "write -j" "read -p" "write -j --in-kernel"; do
		# shellcheck disable=SC2086 # words
		expect 0 kverbs bench $args --size 64,4k --count 64 --self "$KV_ADDR"
		json out
		tr -d ' \n' <out >flat
		for text in '"results":[{"size_bytes":64,' '{"size_bytes":4096,' \
			'"verified":true' '"latency_ns":{"samples":64,' '"items":64,'
		do
			grep -qF "$text" flat || fail "no $text: $(cat out)"
		done
	done
	expect 4 kverbs bench write -j "$(at)"
	json out
	says '"exit_code":4'
}

case_bench_polls()
{
	for poll in softirq workqueue unbound direct; do
		for op in write read; do
			bench 2 "$op" --poll "$poll" --size 64,64k --count 50 --batch 8
			says "completions by $poll"
		done
	done
	bench 1 write --poll workqueue --cpu 0 --size 64 --count 100
	says "vector of CPU 0"
}

case_bench_threads()
{
	for op in write read; do
		bench 2 "$op" --threads 2 --connections 3 --size 64,4k --count "$(count)" --batch 4
		says "connections 3, threads 2"
	done
	bench 1 write --in-kernel --threads 2 --size 4k --count 100
}

case_bench_registered()
{
	for op in write read; do
		bench 3 "$op" --reg --size 63,4k,64k --count 100 --batch 8
		says "a registration for each piece"
	done
}

# never EXPRESSION FILE: no line of it fits
never()
{
	! grep -iE "$1" "$2" || fail "$2 says that"
}

# Inline is asked for; what the device permits is said.
case_bench_inline()
{
	bench 3 write --inline --size 1,64,4k --count 100 --batch 4
	says "inline where it fits"
	never '^ +4096 .*inline' out
	[ "$KV_PROVIDER" != rxe ] || [ "$(grep -cE '^ +(1|64) .*inline, verified$' out)" = 2 ]
}

case_bench_delivered()
{
	bench 2 write --until delivered --size 64,64k --count 100 --batch 10
	says "until DELIVERED"
}

case_bench_duration()
{
	bench 1 write --duration 1 --size 64 --batch 16
	bench 1 read --duration 1 --size 4k --warmup 0
	bench 1 write --duration 1 --in-kernel --size 64 --batch 16
}

case_bench_sizes()
{
	bench 5 write --size 16-256 --count 32
	for size in 16 32 64 128 256; do
		grep -qE "^ +$size " out || fail "no row of $size: $(cat out)"
	done
	bench 4 write --count 32 --depth 4
}

case_bench_remote()
{
	serve --size 1M
	for op in write read; do
		expect 0 kverbs bench "$op" --size 63,64k,1m --count 16 --batch 4 --depth 8 \
			"$(at)"
		says "bench $op" " -> $(at)"
		[ "$(grep -c 'verified$' out)" = 3 ]
	done
	expect 0 kverbs bench write --connections 3 --size 4k --count 60 "$(at)"
	says verified
	expect 0 kverbs bench read --in-kernel --size 4k --count 60 --batch 5 "$(at)"
	says verified
	left() { [ "$(grep -c ' left$' serve.log)" = 6 ]; }
	soon left
	echo data >source
	expect 0 kverbs write "$(at)" source
	stop_server
	never "vanished|ECONNRESET" serve.log
}

case_bench_too_large()
{
	serve --size 64K
	expect 7 kverbs bench write --size 64k,65537 --count 1 "$(at)"
	says "the peer's region" "--size" "$(at)"
	expect 7 kverbs bench read -j --size 128k --count 1 "$(at)"
	json out
	says '"exit_code":7'
	expect 0 kverbs bench write --size 64k --count 10 "$(at)"
	says verified
	stop_server
}

case_bench_no_listener()
{
	expect 4 kverbs bench write --size 64 --count 1 "$(at)"
	says "$(at)" ECONNREFUSED "kverbs serve"
}

case_bench_killed_server()
{
	serve --size 1M
	kverbs bench write --duration 100 --size 4k --batch 4 "$(at)" >bench.log 2>&1 &
	writer=$!
	soon grep -qi connected serve.log
	kill -KILL "$server"
	soon is_gone "$writer"
	status=0
	wait "$writer" || status=$?
	cat bench.log
	[ "$status" = 6 ] || [ "$status" = 5 ]
	grep -qF "$(at)" bench.log
	never verified bench.log
}

case_bench_no_raw()
{
	[ ! -e /dev/kverbs_raw ]
	expect 2 kverbs bench write --raw --self --size 64 --count 10 "$KV_ADDR"
	says "the module kverbs_raw is not loaded" insmod
	expect 2 kverbs bench read -j --raw --self --size 64 --count 10 "$KV_ADDR"
	json out
}

case_bench_bad_arguments()
{
	for args in "" "write" "foo $KV_ADDR" "write $KV_ADDR read" "write $KV_ADDR --raw" \
		"read --self $KV_ADDR --inline" "read --self $KV_ADDR --until delivered" \
		"write --self $KV_ADDR --until consumed" "write --self $KV_ADDR --size 1m-64" \
		"write --self $KV_ADDR --size 0" "write --self $KV_ADDR --size 64," \
		"write --self $KV_ADDR --size 2g" "write --self $KV_ADDR --size x" \
		"write --self $KV_ADDR --count 1 --duration 1" \
		"write --self $KV_ADDR --count 0" "write --self $KV_ADDR --duration 0" \
		"write --self $KV_ADDR --batch 5000" "write --self $KV_ADDR --batch 0" \
		"write --self $KV_ADDR --depth 9000" "write --self $KV_ADDR --poll nobody" \
		"write --self $KV_ADDR --threads 2 --connections 1" \
		"write --self $KV_ADDR --threads 0" "write --self $KV_ADDR --cpu x" \
		"write --self $KV_ADDR --bh" "write --self $KV_ADDR --in-kernel --inline" \
		"write --self $KV_ADDR --in-kernel --connections 2" \
		"write --self $KV_ADDR --raw --reg" "write --self $KV_ADDR --raw --connections 2" \
		"write --self $KV_ADDR --raw --size 8m" "write --self 1.2.3.4:99999"
	do
		# shellcheck disable=SC2086 # words
		expect 1 kverbs bench $args
		says "kverbs: " "kverbs bench --help"
	done
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
		expect 2 kverbs bench write --self "$KV_ADDR" --count 1
		says "not loaded"
	) || status=1
	insmod "$KV_MODULE"
	soon test -c /dev/kverbs
	return "$status"
}

run_cases "$@"
