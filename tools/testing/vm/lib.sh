# shellcheck shell=bash disable=SC2034 # used by those who source this
# SPDX-License-Identifier: GPL-2.0-only
#
# What every script of the test bed shares: where things are, how progress is
# said, and how a package this machine lacks is installed (by name, printed).

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
VM=$TOP/tools/testing/vm
BUILD=$TOP/build
CACHE=${KVERBS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kverbs}
JOBS=$(nproc)
# A make that called us has nothing to do with those that we call.
unset MAKEFLAGS MFLAGS MAKELEVEL
STARTED=${KV_STARTED:-$(date +%s)}
export KV_STARTED=$STARTED

# One line per event, with the seconds since the outermost script began. It goes
# to file descriptor KV_SAY if there is one, so that a caller can show progress
# at once and keep the rest for later.
say()
{
	printf '[%4d s] %s\n' $(($(date +%s) - STARTED)) "$*" >&"${KV_SAY:-1}"
}

die()
{
	KV_SAY=2 say "$*"
	exit 1
}

# The exit status of "this cannot be had here": the caller counts it as skipped.
skip()
{
	KV_SAY=2 say "$*"
	exit 77
}

# need FILE-OR-COMMAND=PACKAGE...: install the packages whose command (or
# absolute file) is missing.
need()
{
	local pair what missing=()

	for pair in "$@"; do
		what=${pair%%=*}
		case $what in
		/*) [ -e "$what" ] && continue ;;
		*) PATH=$PATH:/usr/sbin:/sbin command -v "$what" >/dev/null && continue ;;
		esac
		missing+=("${pair#*=}")
	done
	[ ${#missing[@]} -eq 0 ] && return 0
	[ "$(id -u)" = 0 ] ||
		die "missing packages; as root: apt-get install ${missing[*]}"
	say "apt-get install ${missing[*]}"
	mkdir -p "$CACHE"
	(
		flock 9
		apt_lists
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y \
			--no-install-recommends "${missing[@]}" \
			</dev/null >"$CACHE/apt-install.log" 2>&1
	) 9>"$CACHE/apt.lock" || {
		tail -20 "$CACHE/apt-install.log" >&2
		die "cannot install ${missing[*]}"
	}
}

# A fresh machine has no package lists yet; apt can then name no mirror either.
apt_lists()
{
	# shellcheck disable=SC2016 # apt, not the shell, fills it in
	[ -n "$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian')" ] ||
		apt-get -qq update </dev/null
}
