#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Two guests: B serves, A writes. Each case runs in both, and they meet at
# barriers.
#
# shellcheck disable=SC2317 # cases are called by name

here=$(dirname "$0")
[ -e "$here/harness.sh" ] || here=$here/harness
[ ! -e "$here/harness.sh" ] || here=$here/harness.sh
# shellcheck source=harness.sh
. "$here"

cases file file_over_ipv6 refused killed_server killed_writer

is_b() { [ "$KV_ROLE" = B ]; }
port() { echo $((7500 + nr)); }

# serve ARGS...: at an address of ours
serve()
{
	kverbs serve "$@" >serve.log 2>&1 &
	server=$!
	soon test -s serve.log
	kv-sync "listening-$nr" >/dev/null
}

sha()
{
	sha256sum <"$1" | cut -d' ' -f1
}

# transfer PEER OWN: the checksums of what A sent and B stored meet on the cable.
transfer()
{
	if is_b; then
		serve "$2:$(port)" --size 16M --output stored --once
		soon is_gone "$server"
		wait "$server" || fail "the server failed: $(cat serve.log)"
		sent=$(kv-sync "sum-$nr" "$(sha stored)")
		[ "$sent" = "$(sha stored)" ] || fail "sent $sent, stored $(sha stored)"
	else
		head -c 12345678 /dev/urandom >source
		kv-sync "listening-$nr" >/dev/null
		expect 0 kverbs write "$1:$(port)" source
		says "$(sha source)" CONSUMED
		stored=$(kv-sync "sum-$nr" "$(sha source)")
		[ "$stored" = "$(sha source)" ] || fail "stored $stored, sent $(sha source)"
	fi
}

case_file()
{
	transfer "$KV_PEER" "$KV_ADDR"
}

case_file_over_ipv6()
{
	transfer "[$KV_PEER6]" "[$KV_ADDR6]"
}

case_refused()
{
	kv-sync "refused-$nr" >/dev/null
	is_b || {
		expect 4 kverbs write "$KV_PEER:$(port)" "$0"
		says "$KV_PEER:$(port)" "$KV_DEV" ECONNREFUSED
	}
	kv-sync "refused-end-$nr" >/dev/null
}

case_killed_server()
{
	if is_b; then
		serve "$KV_ADDR:$(port)" --size 64M
		soon grep -qi connected serve.log
		kill -KILL "$server"
	else
		truncate -s 60000000 source
		kv-sync "listening-$nr" >/dev/null
		status=0
		kverbs write --block 4K --depth 1 "$KV_PEER:$(port)" source >out 2>&1 ||
			status=$?
		cat out
		[ "$status" = 6 ] || [ "$status" = 5 ]
		says "$KV_PEER:$(port)"
	fi
	kv-sync "killed-$nr" >/dev/null
}

case_killed_writer()
{
	if is_b; then
		serve "$KV_ADDR:$(port)" --size 64M --output stored
		soon grep -qi connected serve.log
		kv-sync "connected-$nr" >/dev/null
		soon grep -qiE "vanished|closed|ECONNRESET" serve.log
		[ ! -e stored ]
		kill -INT "$server"
		soon is_gone "$server"
	else
		truncate -s 60000000 source
		kv-sync "listening-$nr" >/dev/null
		kverbs write --block 4K --depth 1 "$KV_PEER:$(port)" source >out 2>&1 &
		writer=$!
		kv-sync "connected-$nr" >/dev/null
		kill -KILL "$writer"
	fi
	kv-sync "killed-$nr" >/dev/null
}

run_cases "$@"
