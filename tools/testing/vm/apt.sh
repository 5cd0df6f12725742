# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Fetching packages of any suite without touching the system: each suite gets
# an apt root of its own (sources, lists, cache) under the cache folder. The
# mirror is the one the system already uses; only the suite is swapped.

KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
LIST_AGE=12	# hours until a suite's lists are fetched anew

# The mirror of the main archive, or of the security archive.
mirror()
{
	local want=$1

	apt_lists
	# shellcheck disable=SC2016 # apt, not the shell, fills these in
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Origin: Debian' |
	awk -v want="$want" '
		{ kind = ($2 ~ /-security$/) ? "security" : "main" }
		kind == "main" && !main { main = $1 }
		kind == want && !found { found = $1 }
		END {
			if (!found && want == "security") {
				found = main
				sub(/debian\/?$/, "debian-security/", found)
			}
			print found
		}'
}

# apt_in SUITE COMMAND...: run an apt tool inside that suite's private root.
apt_in()
{
	local root=$CACHE/apt/$1 tool=$2

	shift 2
	"$tool" -o Dir::State="$root/state" -o Dir::State::status="$root/status" \
		-o Dir::Cache="$root/cache" \
		-o Dir::Cache::pkgcache=pkgcache.bin \
		-o Dir::Cache::srcpkgcache=srcpkgcache.bin \
		-o Dir::Etc::sourcelist="$root/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferences=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User=root "$@" </dev/null
}

# Make the suite's root and bring its lists up to date.
apt_root()
{
	mkdir -p "$CACHE/apt"
	(flock 6 && apt_refresh "$1") 6>"$CACHE/apt/lock"
}

apt_refresh()
{
	local suite=$1 root=$CACHE/apt/$1 uri

	[ -z "$(find "$root/fresh" -mmin -$((LIST_AGE * 60)) 2>/dev/null)" ] ||
		return 0
	mkdir -p "$root/state/lists/partial" "$root/cache/archives/partial"
	touch "$root/status"
	case $suite in
	*-security) uri=$(mirror security) ;;
	*) uri=$(mirror main) ;;
	esac
	[ -n "$uri" ] || die "no Debian mirror in this system's apt sources"
	echo "deb [signed-by=$KEYRING] $uri $suite main" >"$root/sources.list"
	KV_SAY=2 say "package lists of $suite"
	apt_in "$suite" apt-get -qq update >"$root/update.log" 2>&1 || {
		tail -5 "$root/update.log" >&2
		return 1
	}
	touch "$root/fresh"
}

# One field of a package's entry in the index.
apt_field()
{
	apt_in "$1" apt-cache show --no-all-versions "$2" |
		sed -n "s/^$3: //p" | head -n1
}

# apt_depends SUITE PACKAGE REGEX: the first dependency that matches. It leads
# from a meta-package to the real one: linux-image-amd64 of bookworm depends on
# linux-image-6.1.0-…-amd64.
apt_depends()
{
	apt_field "$1" "$2" Depends | sed 's/[,|]/\n/g' |
		sed 's/(.*//; s/ //g' | grep -E -- "$3" | head -n1
}

# apt_get SUITE PACKAGE: download (checked by apt against the signed index,
# and again when taken from the cache); prints the .deb's path.
apt_get()
{
	local suite=$1 package=$2 debs=$CACHE/debs name deb sum

	name=$(basename "$(apt_field "$suite" "$package" Filename)")
	[ -n "$name" ] || return 1
	sum=$(apt_field "$suite" "$package" SHA256)
	deb=$debs/$name
	mkdir -p "$debs"
	if ! echo "$sum  $deb" | sha256sum --status -c 2>/dev/null; then
		KV_SAY=2 say "download $name"
		rm -rf "$debs/tmp.$package"
		mkdir "$debs/tmp.$package"
		(cd "$debs/tmp.$package" &&
			apt_in "$suite" apt-get -qq download "$package" >&2) || return 1
		mv "$debs/tmp.$package"/*.deb "$deb"
		rmdir "$debs/tmp.$package"
		echo "$sum  $deb" | sha256sum --status -c || return 1
	fi
	echo "$deb"
}
