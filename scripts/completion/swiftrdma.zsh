#compdef swiftrdma
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# zsh completion for swiftrdma(8)

local -a candidates values
candidates=("${(@f)$(/usr/local/lib/swiftrdma/complete "${(@)words[2,CURRENT]}")}")
values=(${(M)candidates:#*=})
[[ ${candidates[-1]} != +files ]] || _files
candidates=(${${candidates:#*=}:#+files})
compadd -S '' -a values
compadd -a candidates
