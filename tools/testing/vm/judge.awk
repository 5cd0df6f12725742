# SPDX-License-Identifier: GPL-2.0-only
#
# Judges what came over the results channels of one or two guests.
#
#   awk -v lane=LANE -f judge.awk EXPECTED RESULTS-A [RESULTS-B]
#
# EXPECTED has a line "SUITE CASE" for everything that must be reported. A case
# passes only if every guest reports it, once, as ok. Prints one line a case:
#
#   STATUS <tab> FULL.NAME <tab> NAME-IN-EXPECTED <tab> REASON
#
# where STATUS is ok, bad or skip. A parametrised KUnit case counts once for
# every parameter. A program that breaks off, or whose plan is missing or does
# not add up, fails, even if all its cases were reported: as SUITE.tap.

# "-" is no suite: programs that run on the host are a lane of their own, and
# some checks are of the whole lane.
function key(suite, name)
{
	return suite == "-" ? lane "." name : lane "." suite "." name
}

function report(suite, name, parent, status, why,	k)
{
	k = key(suite, name)
	if ((guest, k) in got)
		status = "bad" SUBSEP "reported twice"
	got[guest, k] = status
	if (why != "")
		reason[guest, k] = why
	seen[guest, key(suite, parent)] = 1
	if (status ~ /^bad/)
		failed[guest, current] = 1
	if (!(k in parents)) {
		parents[k] = key(suite, parent)
		extra[++extras] = k
	}
}

# Splits "ok 3 - name # SKIP why" into name, status and why.
function result_line(text,	at)
{
	status = (text ~ /^not ok/) ? "bad" : "ok"
	sub(/^(not )?ok [0-9]*( - | )?/, "", text)
	why = ""
	if (match(text, / # /)) {
		why = substr(text, RSTART + 3)
		text = substr(text, 1, RSTART - 1)
		if (status == "ok" && why ~ /^[Ss][Kk][Ii][Pp]/) {
			status = "skip"
			sub(/^[Ss][Kk][Ii][Pp][: ]*/, "", why)
		}
	}
	sub(/[ \t]+$/, "", text)
	gsub(/[ \t]/, "_", text)
	name = text
}

# KTAP: suites at no indent, cases at 4, parameters at 8.
function ktap(line,	indent)
{
	match(line, /^ */)
	indent = RLENGTH
	line = substr(line, indent + 1)
	if (line ~ /^# Subtest: /) {
		sub(/^# Subtest: /, "", line)
		if (indent <= 4)
			ksuite = "kunit-" line
		leaves = 0
		return
	}
	if (line !~ /^(not )?ok /)
		return
	result_line(line)
	if (indent >= 8) {
		leaf[++leaves] = name SUBSEP status SUBSEP why
	} else if (indent == 4) {
		flush_case(name, status, why)
	}
}

function flush_case(parent, status, why,	i, part)
{
	if (!leaves)
		report(ksuite, parent, parent, status, why)
	for (i = 1; i <= leaves; i++) {
		split(leaf[i], part, SUBSEP)
		report(ksuite, parent "." part[1], parent, part[2], part[3])
	}
	leaves = 0
}

function tap(line)
{
	if (line ~ /^1\.\.[0-9]+/) {
		planned[guest, current] = substr(line, 4) + 0
		has_plan[guest, current] = 1
	} else if (line ~ /^Bail out!/) {
		broken[guest, current] = line
	} else if (line ~ /^(not )?ok( |$)/) {
		result_line(line)
		count[guest, current]++
		report(current, name, name, status, why)
	}
}

function harness(verb, what)
{
	if (verb == "begin") {
		current = what
	} else if (verb == "done") {
		ended[guest, current] = 1
		current = ""
	} else if (verb == "exit") {
		code[guest, current] = what
	} else if (verb == "good" || verb == "bad") {
		# A check's verdict is not the program's.
		at = failed[guest, current]
		report(current, what, what, verb == "good" ? "ok" : "bad", "")
		failed[guest, current] = at
	}
}

# What is wrong with how a program ended, if anything.
function flaw(g, suite)
{
	# The checks of a whole lane are no program.
	if (suite == "-" && !((g, suite) in code))
		return ""
	if (!((g, suite) in code))
		return "the guest ended during it"
	if ((g, suite) in broken)
		return broken[g, suite]
	if (code[g, suite] == "insmod")
		return "the module does not load"
	if (suite == "kunit")
		return ""
	if (code[g, suite] == 137)
		return "killed at its time limit"
	if (!((g, suite) in has_plan))
		return "no plan"
	if (planned[g, suite] != count[g, suite])
		return "plan says " planned[g, suite] ", reported " count[g, suite] + 0
	if (code[g, suite] != 0 && !failed[g, suite])
		return "exit status " code[g, suite] " without a failed case"
	return ""
}

function combine(k,	g, result, parts, text)
{
	result = "ok"
	text = ""
	for (g = 1; g <= guests; g++) {
		if (!((g, k) in got)) {
			result = "bad"
			text = "no result"
		} else if (got[g, k] ~ /^bad/) {
			result = "bad"
			split(got[g, k], parts, SUBSEP)
			text = parts[2]
		} else if (got[g, k] == "skip" && result == "ok") {
			result = "skip"
		}
		if ((g, k) in reason)
			text = reason[g, k]
		if (result == "bad" && guests > 1 && text !~ /guest/)
			text = text " (guest " substr("AB", g, 1) ")"
		if (result == "bad")
			break
	}
	print result "\t" k "\t" parents[k] "\t" text
}

BEGIN { guests = ARGC - 2 }
FNR == 1 { guest = (FILENAME == ARGV[2]) ? 1 : 2; current = "" }
{ sub(/\r$/, "") }
FILENAME == ARGV[1] {
	want[++wants] = key($1, $2)
	top = ($1 ~ /^kunit/) ? "kunit" : $1
	tops[top] = 1
	next
}
/^@kv / { harness($2, $3); next }
current == "kunit" { ktap($0); next }
current != "" { tap($0) }

END {
	for (i = 1; i <= wants; i++) {
		expected[want[i]] = 1
		found = 0
		for (g = 1; g <= guests; g++)
			found += ((g, want[i]) in seen)
		if (!found) {
			parents[want[i]] = want[i]
			combine(want[i])
		}
	}
	for (i = 1; i <= extras; i++) {
		if (!(parents[extra[i]] in expected))
			print "bad\t" extra[i] "\t" extra[i] "\tnot a case that was asked for"
		else
			combine(extra[i])
	}
	for (top in tops)
		for (g = 1; g <= guests; g++) {
			text = flaw(g, top)
			if (text == "")
				continue
			print "bad\t" key(top, "tap") "\t" key(top, "tap") "\t" text \
				(guests > 1 ? " (guest " substr("AB", g, 1) ")" : "")
			break
		}
}
