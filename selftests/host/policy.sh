#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# swiftrdma policy on the host: files that are shipped, what is printed of them,
# exit statuses, and a simulation.

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=selftests/lib/ktap.sh
. selftests/lib/ktap.sh
PATH=$PWD/build/bin:$PATH
dir=$(mktemp -d /tmp/policy.XXXXXX)
trap 'rm -rf "$dir"' EXIT

# Examples in documents that are whole files, as files $dir/DOCUMENT-LINE.KIND, by their
# first line: policies begin with one of their sections, a scenario with its name.
examples() {
	awk -v dir="$dir" '
		function begin(line) {
			kind = ""
			if (line ~ /^(agent|criteria|levels|jobs|order|policies):/)
				kind = "yaml"
			else if (line ~ /^name: /)
				kind = "scenario"
			name = FILENAME
			sub(/.*\//, "", name)
			file = dir "/" name "-" FNR "." kind
		}
		function take(line) {
			if (kind)
				print line >file
		}
		FNR == 1 { inside = manual = 0; blank = 1 }
		/^\.(nf|EX)$/ { manual = inside = 1; at = FNR + 1; next }
		/^\.(fi|EE)$/ { inside = 0 }
		manual && inside { gsub(/\\-/, "-"); if (FNR == at) begin($0); take($0) }
		manual { next }
		/^    / { sub(/^    /, ""); if (blank && !inside) begin($0); inside = 1; take($0); next }
		/^$/ { blank = 1; if (inside) take(""); next }
		{ inside = blank = 0 }
	' "$@"
}

sound() {
	out=$(swiftrdma policy check "$2" 2>&1)
	point $? "$1 is sound"
	out=$(swiftrdma policy check "$2" on anywhere 2>&1)
	[ -z "$(grep -E 'warning|idle' <<<"$out")" ]
	point $? "... and all of it can run on a device that has it all"
}

ktap_begin
for file in user/policies/*.yaml user/sim/*.yaml selftests/bench/demo.yaml; do
	sound "$file" "$file"
	like "... whose work is bounded" "$out" 'work of a tick, at most, .*: .* us for each job; with 10,000 QPs of 100 jobs'
done

examples README.md Documentation/policy.rst Documentation/man/*.[578]
for file in "$dir"/*.yaml; do
	sound "the example ${file##*/}" "$file"
done
for file in "$dir"/*.scenario; do
	check "the example ${file##*/} is simulated" \
		swiftrdma policy simulate user/sim/policy.yaml scenario "$file"
done
like "policy.rst has examples that are whole files" "$(ls "$dir")" '^policy.rst-.*\.yaml$'
like "the manual of policies, too" "$(ls "$dir")" '^swiftrdma-policy.5-.*\.yaml$'
like "... and that of scenarios" "$(ls "$dir")" '^swiftrdma-scenario.5-.*\.scenario$'

# What each claims is held as a bound: policies and scenarios have namesakes, so a
# policy counts where it is the first thing named (fleet.yaml below).
shipped=$(grep -hoE '(run|the_port)\("[^"]*"' selftests/unit/test_sim_shipped.c)
scenarios=$(sed -n '/scenarios\[\] = {/,/}/p' selftests/unit/sim_rig.h)
for file in user/policies/*.yaml; do
	like "$file has a test" "$shipped" "\"$(basename "$file" .yaml)\""
done
for file in user/sim/scenarios/*.yaml; do
	[ "$file" = user/sim/scenarios/fleet.yaml ] ||
		like "$file has a test" "$scenarios" "\"$(basename "$file" .yaml)\""
done

# The editors' schema knows what the loader knows.
check "the shipped files fit the JSON Schema" selftests/host/schema_check.py \
	user/policies/*.yaml user/sim/*.yaml selftests/bench/demo.yaml user/agent/etc/policy.yaml
printf 'jobs:\n- {name: kv, class: latency, match: [{uid: 1}], slo: {p99: 5}}\npolicies:\n- {name: p, whom: job}\n' >"$dir/odd.yaml"
out=$(selftests/host/schema_check.py "$dir/odd.yaml")
is "... and a wrong one does not" $? 1
like "... for each of its mistakes" "$out" 'p99: 5 is no string'
like "... which are named" "$out" 'unknown key whom'
swiftrdma policy compile user/policies/order.yaml >"$dir/derived.yaml"
check "what is derived fits it too" selftests/host/schema_check.py "$dir/derived.yaml"

# The manual and the vocabulary: what can be asked, and what only the library can tell.
man=Documentation/man/swiftrdma-policy.5
words() { sed -nE "s/^\tX\(.*\"([a-z_]+\.[a-z0-9_]+)\".*$1\).*/\1/p" user/core/vocab.h; }
is "the manual has every signal" "$(sed -nE '/^.SH SIGNALS/,/^.PP/s/^\.BR ([a-z.0-9_]+) .*/\1/p' $man | sort)" \
	"$(words '' | sort)"
is "... and names those that only libswiftrdma can tell" \
	"$(grep -E '^qp\.[a-z_]+, ' $man | tr -d ' ' | sed 's/\.$//' | tr , '\n' | sort)" "$(words true | sort)"
is "... and every criterion" "$(sed -nE '/^.SS criteria/,/^.SS policies/s/^\.BR ([a-z_0-9]+) .*/\1/p' $man | sort)" \
	"$(sed -nE '/criteria_known\[\]/,/^};/s/^\t\{ "([a-z_0-9]+)", UNIT.*/\1/p' user/policy/criteria.c | sort)"

# The keys that the loader takes are the strings of its lists.
is "the manual has every key of a scenario" \
	"$(sed -nE '/^\.SH KEYS/,/^\.SH EXAMPLE/{/^\.B(R)? ("?[a-z_]+|[a-z])/{s/\([^)]*\)//g;p}}' Documentation/man/swiftrdma-scenario.5 |
		grep -oE '\b[a-z_]{2,}\b' | sort -u | grep -xFf <(sed -nE '/keys\[\] = \{/,/\};/p' user/sim/scenario.c | grep -oE '"[a-z_]+"' | tr -d '"'))" \
	"$(sed -nE '/keys\[\] = \{/,/\};/p' user/sim/scenario.c | grep -oE '"[a-z_]+"' | tr -d '"' | sort -u)"

file=user/policies/order.yaml
swiftrdma policy compile $file >"$dir/derived" 2>&1
point $? "policies are derived from jobs and order"
{ grep -v ^order: $file; cat "$dir/derived"; } >"$dir/whole.yaml"
is "... which say the same when they are read again" \
	"$(swiftrdma -j policy check "$dir/whole.yaml" on anywhere 2>&1 | jq -c '[.[] | [.policy, .do]]')" \
	"$(swiftrdma -j policy check $file on anywhere 2>&1 | jq -c '[.[] | [.policy, .do]]')"
out=$(swiftrdma policy explain $file kv)
point $? "what will happen to a job is explained"
like "... why" "$out" 'port-kv, because kv has p99 <= 50 us and goes before web'
like "... with the thresholds" "$out" 'criteria: port_busy = 80 %'
like "... by what it decides, where nobody tells p99" "$out" \
	'or else +port.util > port_busy and \(job.latency > job.slo_p99 \* slo_near or job.latency > job.latency_prev\)'
like "... and what decides where nothing tells that, either" "$out" 'or else +port.util > port_busy and job.qps > 0'
is "... wherever it is asked for" "$(swiftrdma policy explain $file kv on anywhere)" \
	"$(swiftrdma policy explain $file on anywhere job kv)"
like "... without what cannot run" "$(swiftrdma policy explain $file kv on anywhere)" '^checked for a device that measures and enforces everything$'
like "this machine is asked, or one assumed" "$(swiftrdma policy check $file)" \
	"^checked for (a ConnectX with swiftrdma_mlx5.ko, which is assumed, for this machine has no|this machine's )"
is "an explanation in JSON, by a bundle of options" \
	"$(swiftrdma -jp policy explain $file kv on anywhere | jq -c '[.[] | [.job, .slo_p99_ns, (.policies | map(.policy) | index("port-kv"))]]')" \
	'[["kv",50000,0]]'
is "what is derived, in JSON" \
	"$(swiftrdma -j policy compile $file | jq -c '.[0] | [.policy, .undo_when, .because]')" \
	'["port-kv","port.util < port_calm","kv has p99 <= 50 us and goes before web"]'
is "... with its fallbacks in their order, where there are several" \
	"$(swiftrdma -j policy compile $file | jq -c '[.[] | select(.policy == "port-kv" or .policy == "uar-kv") | [(.fallback | type), (.fallback | arrays | .[1])]]')" \
	'[["array","port.util > port_busy and job.qps > 0"],["string"]]'
like "... and of no other job" "$(grep -c '^[a-z].*:.*in the order' <<<"$out")" '^1$'

sed 's/port.util > 80%/port.utl > 80%/' user/policies/port.yaml >"$dir/bad.yaml"
out=$(swiftrdma policy check "$dir/bad.yaml" 2>&1)
is "a bad file is refused" $? 1
like "... with file, line, column and what would be right" "$out" \
	"bad.yaml:[0-9]+:11: unknown signal 'port.utl'; did you mean 'port.util'"
like "... and a caret below the line" "$(tail -n 1 <<<"$out")" '^ {14}\^$'
swiftrdma policy compile user/policies/port.yaml >/dev/null 2>&1
is "without an order nothing is derived" $? 1
swiftrdma policy simulate user/sim/policy.yaml >/dev/null 2>&1
is "a simulation needs a scenario" $? 2

swiftrdma -j policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml without csv "$dir/csv" >"$dir/sim" 2>&1
point $? "a scenario is simulated"
is "... with and without, and says that it is simulated" \
	"$(jq -c '[.[] | select(.job == "j2") | [.simulated, .policies, .slo_met > 0.9]]' "$dir/sim")" \
	'[[true,null,false],[true,true,true]]'
is "... with a line a tick and job in the CSV" "$(wc -l <"$dir/csv")" 241
swiftrdma policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml csv "$dir/it's" svg "$dir/it's.svg" >/dev/null 2>"$dir/err"
point $? "it is drawn"
like "... as SVG, with a curve of each job" "$(tr -d '\n' <"$dir/it's.svg")" '^<.xml.*<svg.*j1<.*j2<.*j3<'
like "... and of the knob that was turned" "$(cat "$dir/it's.svg")" 'j2 level'
is "... without a word of gnuplot's" "$(cat "$dir/err")" ""
swiftrdma policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml svg "$dir/none.svg" >/dev/null 2>&1
is "... only if there is a CSV" $? 2
out=$(swiftrdma policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml csv "$dir/csv2" svg "$dir/none/x.svg" 2>&1)
is "... and where a file can be" $? 1
like "... which is said" "$out" 'x.svg: No such file or directory'

fleet="scenario user/sim/scenarios/fleet.yaml hosts 30"
swiftrdma -j policy simulate user/sim/fleet.yaml $fleet against user/sim/fleet-web.yaml >"$dir/fleet" 2>&1
point $? "many hosts are simulated, under two orders"
is "... each job without policies, and under either" \
	"$(jq -c '[.[] | select(.job == "kv") | [.simulated, .hosts, .policies]]' "$dir/fleet")" \
	'[[true,30,null],[true,30,"fleet.yaml"],[true,30,"fleet-web.yaml"]]'
check "... of which the order decides who meets its target" jq -e \
	'[.[] | select(.job == "kv") | .hosts_met] | .[0] < 0.5 and .[1] >= 0.9 and .[1] - .[2] >= 0.1' "$dir/fleet"
check "... with what a tick costs" jq -e 'all(.[]; .signals_time > 0)' "$dir/fleet"
swiftrdma policy simulate user/sim/fleet.yaml $fleet csv "$dir/none" >/dev/null 2>&1
is "... of which there is no CSV" $? 2

swiftrdma policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml record "$dir/rec" >/dev/null 2>&1
sed 's/cgroup: .*kv.service/cgroup: \/j2/; s/cooldown: 500ms/cooldown: 1ms/' user/policies/port.yaml >"$dir/port.yaml"
out=$(swiftrdma policy simulate "$dir/port.yaml" replay "$dir/rec" 2>&1)
point $? "a recording is replayed"
like "... and says what would have been done" "$out" 'job j2: port: port sim0/1 util .* > 80 % and job j2 qps 2 > 0: level 0 -> 1'
like "... against what was in force then" "$out" 'would: job j2: .* \(in force: 1\)'
like "... and what was done" "$out" 'done:  job j3: level 1'
like "... knob by knob" "$out" 'j2 +job.level +3 +[0-9.]+us +3 +3 +[0-9.]+ms +3 +[0-9.]+%'
is "... with the mean latencies of a ConnectX" "$(grep -c '^latencies:' <<<"$out")" 0
like "... to the end" "$(tail -n 1 <<<"$out")" '^80 readings, 0 events, [1-9]'
swiftrdma policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml device rxe record "$dir/rec-rxe" >/dev/null 2>&1
like "... and of a recording of rxe, that it has none" "$(swiftrdma policy simulate "$dir/port.yaml" replay "$dir/rec-rxe" 2>&1)" \
	'latencies: this recording has none, neither p99 nor queue delay: no process had libswiftrdma'
swiftrdma -j policy simulate "$dir/port.yaml" replay "$dir/rec" >"$dir/replay" 2>/dev/null
is "... in JSON" "$(jq -c '[.readings, (.events | map(.event) | unique), (.knobs[] | select(.job == "j2") | [.knob, .would_acts, .would_value, .done_acts, .done_value, .agreed > 0.5])]' "$dir/replay")" \
	'[80,["done","would"],["job.level",3,3,3,3,true]]'
# The run itself decided as its replay does, at the same pace.
out=$(swiftrdma policy simulate user/sim/policy.yaml scenario user/sim/scenarios/port.yaml record "$dir/rec" log 2>/dev/null)
like "a run says how fast it took the file's times" "$out" 'replay a recording of this run with hurry 200'
swiftrdma -j policy simulate user/sim/policy.yaml replay "$dir/rec" hurry 200 >"$dir/replay" 2>/dev/null
is "... and its recording replays alike" \
	"$(jq -r '.events[] | select(.event == "would") | .reason' "$dir/replay" | cut -d'[' -f1)" \
	"$(sed -nE 's/^ +[0-9.]+ ms  job [a-z0-9]+: //p' <<<"$out")"
swiftrdma -j policy simulate user/sim/policy.yaml replay "$dir/rec" >"$dir/replay" 2>/dev/null
is "signals that a recording has none of are named, with who asked for them" \
	"$(jq -c '.absent[] | select(.signal == "qp.queue_delay") | .policies | index("hol-kv") != null' "$dir/replay")" true
head -c 3000 "$dir/rec" >"$dir/cut"
out=$(swiftrdma policy simulate "$dir/port.yaml" replay "$dir/cut" 2>&1)
point $? "one that was cut off is replayed as far as it goes"
like "... which is said" "$out" 'cut: byte [0-9]+: the last record is cut off; the records before it were read'
{ head -c 8 "$dir/rec"; printf '\007'; tail -c +10 "$dir/rec"; } >"$dir/old"
out=$(swiftrdma policy simulate "$dir/port.yaml" replay "$dir/old" 2>&1)
is "one of another version is refused" $? 1
like "... which is said" "$out" 'old: the recording has version 7, and this swiftrdma reads version 8 only; record anew, or replay it with the swiftrdma that wrote it'
out=$(swiftrdma policy simulate "$dir/port.yaml" replay "$dir/port.yaml" 2>&1)
is "what is no recording is refused" $? 1
like "... as such" "$out" 'not a recording of swiftrdma record'
ktap_end
