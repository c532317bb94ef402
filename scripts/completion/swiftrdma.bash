# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# bash completion for swiftrdma(8)
# shellcheck shell=bash

_swiftrdma() {
	local word

	COMPREPLY=()
	while IFS= read -r word; do
		case $word in
		+files) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$2") ;;
		*)
			[[ $word != *= ]] || compopt -o nospace 2>/dev/null
			COMPREPLY+=("$word") ;;
		esac
	done < <(/usr/local/lib/swiftrdma/complete "${COMP_WORDS[@]:1:COMP_CWORD}")
}

complete -F _swiftrdma swiftrdma
