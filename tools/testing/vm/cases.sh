# shellcheck shell=bash disable=SC2034 # lane_* are used by those who source this
# SPDX-License-Identifier: GPL-2.0-only
#
# What can be run: lanes, the test programs of each, their cases, and whether
# TEST= asks for a case.
#
# A test program is an executable in build/tests/ or a script in
# tools/testing/selftests/ (its suite is its name without .sh). It answers
# --list with its cases, one a line, and runs those it is given, reporting TAP.

SELFTESTS=$TOP/tools/testing/selftests
CHECKS="rmmod dmesg resources"

# Does TEST= (a glob over full names; none = all) ask for this one?
wanted()
{
	[ -z "${TEST-}" ] && return
	# shellcheck disable=SC2053 # the right side is a pattern
	[[ $1 == $TEST ]]
}

all_lanes()
{
	grep -v '^#' "$TOP/tools/testing/lanes" | awk '{ print $1 }'
}

# Read a lane's row of the table into lane_*.
lane_row()
{
	local row

	row=$(awk -v lane="$1" '$1 == lane' "$TOP/tools/testing/lanes")
	[ -n "$row" ] || die "no lane '$1'; there are:" "$(all_lanes | xargs)"
	read -r lane lane_kernel lane_link lane_guests lane_minutes lane_limit \
		lane_counts lane_suites <<<"$row"
}

is_program() { [ -f "$1" ] && [ -x "$1" ]; }

test_program()
{
	local file

	for file in "$BUILD/tests/$1" "$SELFTESTS/$1.sh"; do
		is_program "$file" || continue
		echo "$file"
		return
	done
	return 1
}

# Every test program there is, by suite name. One that does not build is a
# failure of the build.
all_suites()
{
	local file name

	for file in "$SELFTESTS"/*.c "$SELFTESTS"/*.sh; do
		name=$(basename "$file")
		! test_program "${name%.*}" >/dev/null || echo "${name%.*}"
	done
}

# The suites of a lane, as the globs of its row say.
suites_of_lane()
{
	local suite glob take suites

	suites="kunit $(all_suites)"
	set -f
	for suite in $suites; do
		take=
		for glob in $lane_suites; do
			# shellcheck disable=SC2053 # patterns
			case $glob in
			-*) [[ $suite == ${glob#-} ]] && take= ;;
			kunit) [ "$suite" = kunit ] && take=1 ;;
			*) [ "$suite" != kunit ] && [[ $suite == $glob ]] && take=1 ;;
			esac
		done
		[ -z "$take" ] || echo "$suite"
	done
	set +f
}

# "SUITE CASE" of the KUnit module, from its sources: it can be asked only by
# loading it.
kunit_cases()
{
	cat "$TOP"/kunit/*.c 2>/dev/null | awk '
	/struct kunit_case [a-z0-9_]+\[\]/ {
		array = $0
		sub(/.*kunit_case /, "", array)
		sub(/\[.*/, "", array)
	}
	/KUNIT_CASE[A-Z_]*\(/ {
		line = $0
		while (match(line, /KUNIT_CASE[A-Z_]*\([a-z0-9_]+/)) {
			name = substr(line, RSTART, RLENGTH)
			sub(/.*\(/, "", name)
			cases[array] = cases[array] " " name
			line = substr(line, RSTART + RLENGTH)
		}
	}
	/struct kunit_suite / { suite = "" }
	/\.name *= *"/ { suite = $0; sub(/.*= *"/, "", suite); sub(/".*/, "", suite) }
	/\.test_cases *= */ {
		array = $0
		sub(/.*= */, "", array)
		sub(/[^a-z0-9_].*/, "", array)
		n = split(cases[array], list, " ")
		for (i = 1; i <= n; i++)
			print "kunit-" suite, list[i]
	}'
}

# "SUITE CASE" of one suite of a lane, without the checks after it.
suite_cases()
{
	local suite=$1 program

	if [ "$suite" = kunit ]; then
		kunit_cases
		return
	fi
	program=$(test_program "$suite") || die "no test program '$suite'"
	timeout 10 "$program" --list </dev/null | sed "s/^/$suite /"
}

# The checks after a suite, as "SUITE CASE".
suite_checks()
{
	local check

	for check in $CHECKS; do
		echo "$1 $check"
	done
}

# The check at the end of a lane, where the kernel has it. "-" is no suite: the
# full name is LANE.CASE.
lane_checks()
{
	case $lane_kernel in
	um | debug) echo "- kmemleak" ;;
	esac
}
