# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# fish completion for swiftrdma(8)

function __swiftrdma_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	for word in (/usr/local/lib/swiftrdma/complete $words[2..-1] "$current")
		if test "$word" = +files
			__fish_complete_path "$current"
		else
			echo $word
		end
	end
end

complete -c swiftrdma -f -a '(__swiftrdma_complete)'
