// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma probe: executes swiftrdma-probe, which links rdma-core's libraries. The command
 * itself needs none of them.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define STATUS_FAILED	3
#define PROGRAM		"swiftrdma-probe"

/* Beside this program where it was built, below the same prefix where it is installed. */
static bool find_program(const char *exe, char *path, size_t cap)
{
	char self[SNAP_PATH];
	ssize_t n = readlink(exe, self, sizeof(self) - 1);
	const char *dir;

	if (n <= 0)
		return false;
	self[n] = '\0';
	dir = dirname(self);
	if ((size_t)snprintf(path, cap, "%s/" PROGRAM, dir) < cap && !access(path, X_OK))
		return true;
	return (size_t)snprintf(path, cap, "%s/lib/swiftrdma/" PROGRAM, dirname(self)) < cap &&
	       !access(path, X_OK);
}

static int run_probe(struct cli *cli, struct args *args)
{
	char path[2 * SNAP_PATH];
	const char **argv = calloc((size_t)args->n + 6, sizeof(*argv));
	int n = 0;

	if (!argv) {
		cli_no_memory();
		return STATUS_FAILED;
	}
	argv[n++] = PROGRAM;
	if (cli->out.json)
		argv[n++] = "--json";
	if (cli->out.pretty)
		argv[n++] = "--pretty";
	if (cli->out.details)
		argv[n++] = "--details";
	if (cli->out.color)
		argv[n++] = "--color";
	while (args_left(args))
		argv[n++] = args_next(args);
	if (find_program("/proc/self/exe", path, sizeof(path)))
		execv(path, (char *const *)argv);
	else
		errno = ENOENT;
	if (errno == ENOENT)
		cli_fail("probe: " PROGRAM " is not installed; on Debian it is in the package " PROGRAM);
	else
		cli_fail("probe: %s: %s", path, strerror(errno));
	free(argv);
	return STATUS_FAILED;
}

static const struct verb verbs[] = {
	{ "", run_probe }, { 0 },
};

const struct noun noun_probe = {
	.name = "probe",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma probe DEV [ CHECK ... ] [ peer DEV ] [ ports NETDEV,NETDEV ]\n"
	"                       [ scale N ] [ fit FILE ]\n"
	"\n"
	"CHECK := { dbrec | module-count | uar-page | module-uar | wqe-counters | dscp |\n"
	"           dscp-counted | udp-sport | udp-sport-counted | lag-port |\n"
	"           lag-port-counted | sched-bind | sched-rate | sched-weight | congestion |\n"
	"           diag-counters | commands | registers | depth | qps }\n"
	"\n"
	"Tries on the NIC what SwiftRDMA assumes of it, on queue pairs and memory of its own,\n"
	"for some seconds, and prints what it found beside what is assumed. All checks run\n"
	"unless some are named. Nothing stays when it ends, even by kill -9. With peer, packets\n"
	"go to another port of this host, which some checks need. ports names the interfaces\n"
	"of a LAG's ports where no bond of this host has them. A simulated device is told by\n"
	"scale that it is N times slower than what it models. FILE gets a scenario for\n"
	"policy simulate, whose NIC has what was measured. -d has the figures and the source\n"
	"of each assumption; -j is a report. Exit status: 0 all as assumed, 1 some could not\n"
	"be tried, 2 some differ, 3 the probe could not run.\n",
};
