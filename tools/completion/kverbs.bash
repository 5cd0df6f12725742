# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Completion for kverbs(8). What there is to complete comes from the tool itself:
# `kverbs help --complete` prints one line for the tool and one for each verb: its
# name, its arguments and its options, tabs between. Words with a bar between them
# are to choose from; a file, a device or a verb is looked up; the rest is free.

# _kverbs_offer VALUE: what may stand at the cursor for it
_kverbs_offer()
{
	local words=''

	case $1 in
	*FILE)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	\[VERB\]) words=$(tail -n +2 <<<"$table" | cut -f1) ;;
	\[DEVICE\]) words=$(ls /sys/class/infiniband 2>/dev/null) ;;
	*\[*) ;;
	*\|*) words=${1//|/ } ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}

# The value that the option $1 takes; false if it is none, or takes none.
_kverbs_value()
{
	local row

	for row in "${options[@]}"; do
		[[ $row != "$1="* ]] || value=${row#*=}
	done
	[[ -n $value ]]
}

# Sets arguments and options to those of the verb on the line, if there is one yet,
# and place to the number of the argument at the cursor. An address and an option's
# value are cut up at ":" and "=".
_kverbs_place()
{
	local i value word verb=''
	local -a row

	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]} value=''
		if [[ $word == *[:=] ]]; then
			i=$((i + 1))
		elif _kverbs_value "$word"; then
			[[ ${COMP_WORDS[i + 1]} == = ]] || i=$((i + 1))
		elif [[ $word == -* ]]; then
			continue
		elif [[ -z $verb ]]; then
			verb=$word
			IFS=$'\t' read -ra row < <(grep "^$verb"$'\t' <<<"$table")
			read -ra arguments <<<"${row[1]:-}"
			options=("${row[@]:2}")
		else
			place=$((place + 1))
		fi
	done
}

_kverbs()
{
	local table value='' place=0 current=${COMP_WORDS[COMP_CWORD]}
	local option=${COMP_WORDS[COMP_CWORD - 1]}
	local -a arguments options

	COMPREPLY=()
	table=$(kverbs help --complete 2>/dev/null) || return
	IFS=$'\t' read -ra options <<<"${table%%$'\n'*}"
	arguments=("${options[1]}")
	options=("${options[@]:2}")
	_kverbs_place
	if [[ $current == = ]]; then
		current=''
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if _kverbs_value "$option"; then
		_kverbs_offer "$value"
	elif [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "${options[*]%%=*}" -- "$current")
	else
		_kverbs_offer "${arguments[place]:-}"
	fi
}

complete -F _kverbs kverbs
