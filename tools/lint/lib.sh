# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What every lint check shares. A check prints its findings, one a line, and
# ends with 0 (clean), 1 (findings) or 77 (cannot be had here; the last line
# says why). It runs in the top folder of the tree it looks at: this project,
# or the tree that KVERBS_LINT_TREE names (see self).

LINT=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../testing/vm/lib.sh
. "$LINT/../testing/vm/lib.sh"
TREE=${KVERBS_LINT_TREE:-$TOP}
# shellcheck disable=SC2034 # for the checks that build
BUILD=$TREE/build
cd "$TREE" || exit

# Every file of the project, committed or about to be; nothing that is ignored.
files()
{
	git ls-files -co --exclude-standard -- "$@" | sort -u |
	while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

c_files()
{
	files 'module/*.[ch]' 'kunit/*.[ch]' 'uapi/*.h' 'tools/*.[ch]'
}

# Cannot be had here: say why, in words for TAP's SKIP.
give_up()
{
	echo "$*"
	exit 77
}

# lint_need COMMAND=PACKAGE...: as need, but a package that cannot be had is
# a reason to skip this check, not to end the run.
lint_need()
{
	(need "$@") >&2 || give_up "cannot install one of: $*"
}

# kernel_env NAME: make that kernel available, and learn its KV_… variables.
kernel_env()
{
	local status=0

	"$VM/kernel" "$1" >&2 || status=$?
	[ $status != 77 ] || give_up "kernel $1 cannot be had here"
	[ $status = 0 ] || exit 1
	# shellcheck disable=SC1090 # made by the line above
	. "$CACHE/kernels/$1/env"
}

# The newest kernel's source, for the tools in it. No kernel is built for it.
source_tree()
{
	kernel_env source
	echo "$KV_SRC"
}
