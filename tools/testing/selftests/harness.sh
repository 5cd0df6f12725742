# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0-only
#
# harness.h for test programs in shell: sourced by them, and no program itself,
# which is why it is not executable. A case NAME is a function case_NAME; it runs
# in a shell of its own, in a folder of its own, and the first command that fails
# ends it. What it printed is shown if it failed.
#
#	cases NAME...			says what there is
#	run_cases "$@"			--list, or runs those named, or all

cases()
{
	CASES=$*
}

fail()
{
	echo "$*"
	exit 1
}

skip()
{
	echo "$*"
	exit 77
}

# expect STATUS COMMAND...: its output is in ./out
expect()
{
	want=$1
	shift
	status=0
	timeout 100 "$@" >out 2>&1 </dev/null || status=$?
	[ $status = "$want" ] || {
		echo "'$*' gave exit status $status, not $want:"
		cat out
		exit 1
	}
}

# says TEXT...: each is in ./out
says()
{
	for text; do
		grep -qF -- "$text" out || {
			echo "nothing said of '$text':"
			cat out
			exit 1
		}
	done
}

# json FILE: it is one JSON object a line, or one in all.
json()
{
	awk '
	function bad(why) { print why " at: " substr(text, at, 40); exit 1 }
	function blank() { while (substr(text, at, 1) ~ /[ \t\n]/) at++ }
	function value(	c) {
		blank()
		c = substr(text, at, 1)
		if (c == "{") list("}", 1)
		else if (c == "[") list("]", 0)
		else if (c == "\"") string()
		else if (match(substr(text, at), /^(-?[0-9]+(\.[0-9]+)?|true|false|null)/))
			at += RLENGTH
		else bad("no value")
	}
	function string() {
		if (!match(substr(text, at), /^"([^"\\]|\\.)*"/)) bad("no string")
		at += RLENGTH
	}
	function list(end, keys) {
		at++
		blank()
		if (substr(text, at, 1) == end) { at++; return }
		for (;;) {
			blank()
			if (keys) {
				string()
				blank()
				if (substr(text, at++, 1) != ":") bad("no colon")
			}
			value()
			blank()
			if (substr(text, at, 1) == ",") { at++; continue }
			if (substr(text, at++, 1) == end) return
			bad("neither comma nor " end)
		}
	}
	{ text = text $0 "\n" }
	END {
		at = 1
		blank()
		if (substr(text, at, 1) != "{") bad("no object")
		for (; at <= length(text); blank()) value()
	}' "$1" || fail "not JSON: $(cat "$1")"
}

# soon COMMAND...: it succeeds within a while.
soon()
{
	end=$(($(date +%s) + 60))
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || fail "never true: $*"
		sleep 0.1
	done
}

is_gone()
{
	! kill -0 "$1" 2>/dev/null
}

# Never called as a condition: the shell would ignore set -e in all of it.
run_case()
{
	dir=$(mktemp -d /tmp/case.XXXXXX)
	(
		cd "$dir"
		set -eu
		"case_$1"
	) >"$dir.log" 2>&1 </dev/null
	status=$?
	[ $status = 0 ] || sed 's/^/# /' "$dir.log"
	case $status in
	0) echo "ok $nr - $1" ;;
	77) echo "ok $nr - $1 # SKIP $(tail -n1 "$dir.log")" ;;
	*) echo "not ok $nr - $1"; failed=1 ;;
	esac
	rm -rf "$dir" "$dir.log"
}

run_cases()
{
	if [ "${1-}" = --list ]; then
		for name in $CASES; do
			echo "$name"
		done
		exit 0
	fi
	[ $# -gt 0 ] || {
		# shellcheck disable=SC2086 # words
		set -- $CASES
	}
	# siw lets nothing end a TCP connect but TCP itself: soon, then.
	[ "$KV_PROVIDER" != siw ] || echo 1 >/proc/sys/net/ipv4/tcp_syn_retries
	echo "TAP version 13"
	echo "1..$#"
	nr=0 failed=0
	for name; do
		nr=$((nr + 1))
		run_case "$name"
	done
	exit $failed
}
