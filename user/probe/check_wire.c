// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Whether a change of a connected QP's path shows on the wire: a DSCP in the port's counters of its
 * priorities, a UDP source port in a flow counter, a LAG port in the counters of the LAG's ports.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "probe/flow.h"
#include "probe/path.h"

#define MESSAGES	400
#define PRIOS		8

/* Writes %MESSAGES messages and waits for their completions. 0, or -EIO with @f filled. */
static int write_messages(struct nic_pair *pair, struct probe_finding *f)
{
	int err = 0;

	for (int i = 0; i < MESSAGES && !err; i++) {
		err = nic_wait(pair, PATH_DEPTH - 1);
		if (!err)
			err = nic_write(pair, 1, 8, false);
	}
	if (!err)
		err = nic_wait(pair, 0);
	if (!err)
		return 0;
	finding_nic(f);
	return -EIO;
}

/* --- DSCP ------------------------------------------------------------------------------- */

/* Writes the messages, and counts the frames of each priority that the port sends meanwhile. */
static int count_priorities(struct probe *p, struct probe_finding *f, struct nic_pair *pair,
			    uint64_t sent[PRIOS])
{
	uint64_t before[PRIOS], after[PRIOS];
	int err = probe_module_prios(p, before);

	if (!err && write_messages(pair, f))
		return -EIO;
	if (!err)
		err = probe_module_prios(p, after);
	if (err) {
		finding_cannot(f, "the module has no frames by priority of this port: is swiftrdma_mlx5 loaded, with detail=Y?");
		return err;
	}
	for (int i = 0; i < PRIOS; i++)
		sent[i] = after[i] - before[i];
	return 0;
}

static int busiest_prio(const uint64_t sent[PRIOS])
{
	int best = 0;

	for (int i = 1; i < PRIOS; i++)
		if (sent[i] > sent[best])
			best = i;
	return best;
}

static void compare_priorities(struct probe *p, struct probe_finding *f, struct nic_pair *pair)
{
	uint64_t was[PRIOS], is[PRIOS];
	struct prm_error e;
	int from, to;

	if (count_priorities(p, f, pair, was))
		return;
	if (prm_set_dscp(pair->a, PATH_DSCP, &e)) {
		finding_cannot(f, "the DSCP is not accepted: %s", prm_words(&e));
		return;
	}
	if (count_priorities(p, f, pair, is))
		return;
	from = busiest_prio(was);
	to = busiest_prio(is);
	finding_compare(f, PROBE_AT_LEAST, "frames", MESSAGES, (double)was[from],
			"in priority %d, DSCP 0", from);
	finding_compare(f, PROBE_AT_LEAST, "frames", MESSAGES, (double)is[to],
			"in priority %d, DSCP %d", to, PATH_DSCP);
	if (from == to)
		finding_differs(f, "%d messages of DSCP 0 and of DSCP %d left in the same priority %d; dcb app show tells whether the port maps both to it",
				MESSAGES, PATH_DSCP, to);
	else
		finding_say(f, "%d messages left in priority %d, and after the change in priority %d",
			    MESSAGES, from, to);
}

void check_dscp_counted(struct probe *p, struct probe_finding *f)
{
	struct nic_pair pair;

	if (!path_has_dscp(p, f) || !path_open_pair(p, f, &p->other, &pair))
		return;
	compare_priorities(p, f, &pair);
	nic_pair_close(&pair);
}

/* --- UDP source port ---------------------------------------------------------------------- */

/* Writes the messages, and counts the packets that match the rule of @c meanwhile. */
static int count_packets(struct probe_finding *f, struct nic_pair *pair, struct flow_count *c,
			 uint64_t *packets)
{
	struct prm_error e;
	uint64_t before;
	int err = flow_count_read(c, &before, &e);

	if (!err && write_messages(pair, f))
		return -EIO;
	if (!err)
		err = flow_count_read(c, packets, &e);
	if (err)
		finding_cannot(f, "QUERY_FLOW_COUNTER: %s", prm_words(&e));
	else
		*packets -= before;
	return err;
}

static void compare_packets(struct probe_finding *f, struct nic_pair *pair, struct flow_count *c,
			    uint16_t sport)
{
	uint64_t before, after;
	struct prm_error e;
	struct prm_qp q;

	if (count_packets(f, pair, c, &before))
		return;
	if (path_set_sport(pair->a, sport, &e)) {
		finding_cannot(f, "the UDP source port is not accepted: %s", prm_words(&e));
		return;
	}
	if (prm_query_qp(pair->a, &q, &e) || q.udp_sport != sport) {
		finding_cannot(f, "QUERY_QP has another UDP source port than was set: see udp-sport");
		return;
	}
	if (count_packets(f, pair, c, &after))
		return;
	finding_compare(f, PROBE_EXACT, "packets", 0, (double)before,
			"with source port %u, before it is set", sport);
	finding_compare(f, PROBE_AT_LEAST, "packets", MESSAGES, (double)after,
			"with source port %u, after it is set", sport);
	finding_say(f, "%d messages made %llu packets with source port %u, and after the change %llu",
		    MESSAGES, (unsigned long long)before, sport, (unsigned long long)after);
}

void check_udp_sport_counted(struct probe *p, struct probe_finding *f)
{
	uint16_t sport = PATH_SPORT;
	struct flow_count count;
	struct nic_pair pair;
	struct prm_error e;
	struct prm_qp q;

	if (!path_open_pair(p, f, &p->other, &pair))
		return;
	if (prm_query_qp(pair.a, &q, &e)) {
		finding_cannot(f, "QUERY_QP: %s", prm_words(&e));
	} else {
		/* Choose a port that the QP does not have already. */
		sport += q.udp_sport == sport;
		if (flow_count_open(&count, p->nic.ctx, &p->other.gid, sport))
			finding_cannot(f, "%s", flow_count_words(&count));
		else
			compare_packets(f, &pair, &count, sport);
		flow_count_close(&count);
	}
	nic_pair_close(&pair);
}

/* --- LAG port --------------------------------------------------------------------------- */

/* The network interfaces of a LAG's ports. */
struct lag {
	char name[PATH_LAG_PORTS][SNAP_NAME];
};

/* The place of an interface on the bus: "0000:03:00.1". mlx5 numbers a LAG's ports by function. */
static void read_function(const char *netdev, char function[SNAP_NAME])
{
	char path[96], target[PATH_MAX];
	const char *last;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/net/%.31s/device", netdev);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	last = strrchr(target, '/');
	snprintf(function, SNAP_NAME, "%.31s", last ? last + 1 : "");
}

/* Finds the interfaces below the bond that the device belongs to. Returns how many there are. */
static size_t find_bonded(const char *dev, struct lag *lag)
{
	char function[PATH_LAG_PORTS][SNAP_NAME], name[SNAP_NAME];
	struct host host = { 0 };
	size_t n = 0;

	if (!io_host(&host)) {
		for (size_t i = 0; i < host.n_nets && n < PATH_LAG_PORTS; i++) {
			if (strcmp(host.devs[host.ports[host.nets[i].port].dev].name, dev))
				continue;
			memcpy(lag->name[n], host.nets[i].name, SNAP_NAME);
			read_function(lag->name[n], function[n]);
			n++;
		}
	}
	host_free(&host);
	if (n == PATH_LAG_PORTS && strcmp(function[0], function[1]) > 0) {
		memcpy(name, lag->name[0], SNAP_NAME);
		memcpy(lag->name[0], lag->name[1], SNAP_NAME);
		memcpy(lag->name[1], name, SNAP_NAME);
	}
	return n;
}

/* False: the names of the interfaces are not known, and @f says what to do. */
static bool find_lag(struct probe *p, struct probe_finding *f, struct lag *lag)
{
	if (p->lag_netdev[0]) {
		for (int i = 0; i < PATH_LAG_PORTS; i++)
			snprintf(lag->name[i], SNAP_NAME, "%s", p->lag_netdev[i]);
		return true;
	}
	if (find_bonded(p->nic.name, lag) == PATH_LAG_PORTS)
		return true;
	finding_cannot(f, "no bond of this host has the interfaces of the LAG's ports; name them: ports NETDEV,NETDEV");
	return false;
}

static int read_frames(struct probe_finding *f, const struct lag *lag,
		       uint64_t frames[PATH_LAG_PORTS])
{
	int err = 0;

	for (int i = 0; i < PATH_LAG_PORTS && !err; i++) {
		err = io_frames_sent(lag->name[i], &frames[i]);
		if (err == -ENODEV)
			finding_cannot(f, "%s: there is no such network interface", lag->name[i]);
		else if (err)
			finding_cannot(f, "%s: its driver or the kernel tells no frames sent (ethtool -S %s --groups eth-mac): %s",
				       lag->name[i], lag->name[i], strerror(-err));
	}
	return err;
}

/*
 * Writes the messages through LAG port @port, which begins at 1, and counts the frames that each
 * port sends meanwhile.
 */
static bool count_frames(struct probe_finding *f, struct nic_pair *pair, const struct lag *lag,
			 uint8_t port, uint64_t sent[PATH_LAG_PORTS])
{
	uint64_t before[PATH_LAG_PORTS];
	struct prm_error e;
	struct prm_qp q;

	if (path_set_lag_port(pair->a, port, &e)) {
		finding_cannot(f, "LAG port %u is not accepted: %s", port, prm_words(&e));
		return false;
	}
	if (prm_query_qp(pair->a, &q, &e) || q.lag_port != port) {
		finding_cannot(f, "QUERY_QP has another LAG port than was set: see lag-port");
		return false;
	}
	if (read_frames(f, lag, before) || write_messages(pair, f) || read_frames(f, lag, sent))
		return false;
	for (int i = 0; i < PATH_LAG_PORTS; i++)
		sent[i] -= before[i];
	return true;
}

/*
 * @with frames left by a port while it was the QP's LAG port, and @without while the other one was. Both
 * contain other traffic of the port, so the check looks at the difference.
 */
static void compare_frames(struct probe_finding *f, const char *name, uint64_t with,
			   uint64_t without)
{
	finding_compare(f, PROBE_AT_LEAST, "frames", MESSAGES / 2, (double)with - (double)without,
			"by %s, more with its LAG port", name);
}

void check_lag_port_counted(struct probe *p, struct probe_finding *f)
{
	uint64_t first[PATH_LAG_PORTS], second[PATH_LAG_PORTS];
	struct nic_pair pair;
	struct lag lag;
	bool ok;

	if (!path_has_lag(p, f) || !find_lag(p, f, &lag) ||
	    !path_open_pair(p, f, &p->other, &pair))
		return;
	ok = count_frames(f, &pair, &lag, 1, first) && count_frames(f, &pair, &lag, 2, second);
	nic_pair_close(&pair);
	if (!ok)
		return;
	compare_frames(f, lag.name[0], first[0], second[0]);
	compare_frames(f, lag.name[1], second[1], first[1]);
	finding_say(f, "of %d messages with LAG port 1, %llu frames left by %s and %llu by %s; with LAG port 2, %llu and %llu%s",
		    MESSAGES, (unsigned long long)first[0], lag.name[0],
		    (unsigned long long)first[1], lag.name[1], (unsigned long long)second[0],
		    (unsigned long long)second[1],
		    f->verdict == PROBE_AS_ASSUMED ? "" :
		    "; a bond with one active port, or a port that is down, sends all by the other; ports NETDEV,NETDEV gives their order");
}
