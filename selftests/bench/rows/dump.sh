#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Three ways to ask after 10,000 connected QPs, each against its rival in the
# same guest. With --icount, so that ratios repeat:
#
#   qp_dump        whole commands: rdma res show qp, swiftrdma qp show
#   qp_dump_raw    one program's netlink dumps: RDMA core's, the module's
#   qp_dump_delta  the module's full dump, and that of what changed, 1 %

# shellcheck source=selftests/bench/rows/row.sh
. selftests/bench/rows/row.sh

# of KEY FIELD: of nldump's answer
of() { sed "s/.*\"$1\":{\([^}]*\)}.*/{\1}/" "$row_tmp/raw" | json_field "$2"; }

enough() { [ "$1" -ge "$row_qps" ] || row_die "$2: only $1 of $row_qps QPs"; }

srdma_loaded || srdma_load || row_die "insmod failed"
hold_qps --dev rxe0 --modify rts --change 1

# The change is made by the holder, which says when it is done.
changed() { grep -q ^changed "$row_tmp/hold"; }

theirs=$(took rdma res show qp)
enough "$(wc -l <"$row_tmp/out")" rdma
ours=$(took swiftrdma qp show)
enough "$(wc -l <"$row_tmp/out")" swiftrdma
row qp_dump "$ours" ms "$theirs" "$(quotient "$theirs" "$ours")" '>=' 10 qps "$row_qps"

nldump --dev rxe0 --what res,full,since --between \
	"kill -USR1 $held; until grep -q ^changed $row_tmp/hold; do sleep 0.05; done" \
	>"$row_tmp/raw" || row_die "nldump failed"
row_say "$(cat "$row_tmp/raw")"
enough "$(of res objects)" "RDMA core's dump"
enough "$(of full objects)" "the module's dump"
changed || row_die "nothing changed"
# As many as changed, and few more.
n=$(of since objects)
want=$((row_qps / 100))
if [ "$n" -lt "$want" ] || [ "$n" -gt $((2 * want)) ]; then
	row_die "$n QPs in the dump of $want that changed"
fi

res=$(of res median_ns) full=$(of full median_ns) since=$(of since median_ns)
row qp_dump_raw "$full" ns "$res" "$(quotient "$res" "$full")" '>=' 3 qps "$row_qps"
row qp_dump_delta "$since" ns "$full" "$(quotient "$full" "$since")" '>=' 20 \
	qps "$row_qps" changed "$want" listed "$n"
