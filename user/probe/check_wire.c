// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Whether a change of a connected QP's path shows on the wire, by counters: of a DSCP those of
 * the port's priorities, of a UDP source port a flow counter, of a LAG port those of the ports.
 */
#include <errno.h>
#include <string.h>

#include "probe/flow.h"
#include "probe/path.h"

#define MESSAGES	400
#define PRIOS		8

/* 0, or -EIO with @f filled. */
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

/* Frames of each priority that left meanwhile. */
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

static int busiest(const uint64_t sent[PRIOS])
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
	from = busiest(was);
	to = busiest(is);
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

/* Packets with the counter's port that left meanwhile. */
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

	if (count_packets(f, pair, c, &before))
		return;
	if (path_set_sport(pair->a, sport, &e)) {
		finding_cannot(f, "the UDP source port is not accepted: %s", prm_words(&e));
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
		/* Another port than the one that the QP has by chance. */
		sport += q.udp_sport == sport;
		if (flow_count_open(&count, p->nic.ctx, sport))
			finding_cannot(f, "%s", flow_count_words(&count));
		else
			compare_packets(f, &pair, &count, sport);
		flow_count_close(&count);
	}
	nic_pair_close(&pair);
}

/* --- LAG port --------------------------------------------------------------------------- */

/* Their names; false: there are not two, and @f says what to do. */
static bool find_lag_netdevs(struct probe *p, struct probe_finding *f,
			     char names[PATH_LAG_PORTS][SNAP_NAME])
{
	struct host host = { 0 };
	size_t n = 0;

	for (; n < PATH_LAG_PORTS && p->lag_netdev[n]; n++)
		snprintf(names[n], SNAP_NAME, "%s", p->lag_netdev[n]);
	if (!n && !io_host(&host)) {
		/* Those below the bond, in the order of their names, which is that of the functions. */
		for (size_t i = 0; i < host.n_nets && n < PATH_LAG_PORTS; i++)
			if (!strcmp(host.devs[host.ports[host.nets[i].port].dev].name, p->nic.name))
				snprintf(names[n++], SNAP_NAME, "%s", host.nets[i].name);
		host_free(&host);
	}
	if (n == PATH_LAG_PORTS)
		return true;
	finding_cannot(f, "no bond of this host has the interfaces of the LAG's ports; name them: ports NETDEV,NETDEV");
	return false;
}

static int read_lag_frames(struct probe_finding *f, char names[PATH_LAG_PORTS][SNAP_NAME],
			   uint64_t frames[PATH_LAG_PORTS])
{
	int err = 0;

	for (int i = 0; i < PATH_LAG_PORTS && !err; i++) {
		err = io_frames_sent(names[i], &frames[i]);
		if (err)
			finding_cannot(f, "%s: its driver tells no frames sent (ethtool -S %s --groups eth-mac): %s",
				       names[i], names[i], strerror(-err));
	}
	return err;
}

/* Writes through port @chosen, from 0, and compares what left by each. */
static bool compare_lag_frames(struct probe_finding *f, struct nic_pair *pair,
			       char names[PATH_LAG_PORTS][SNAP_NAME], int chosen)
{
	uint64_t before[PATH_LAG_PORTS], after[PATH_LAG_PORTS];
	struct prm_error e;

	if (path_set_lag_port(pair->a, (uint8_t)(chosen + 1), &e)) {
		finding_cannot(f, "LAG port %d is not accepted: %s", chosen + 1, prm_words(&e));
		return false;
	}
	if (read_lag_frames(f, names, before) || write_messages(pair, f) ||
	    read_lag_frames(f, names, after))
		return false;
	for (int i = 0; i < PATH_LAG_PORTS; i++) {
		double sent = (double)(after[i] - before[i]);

		if (i == chosen)
			finding_compare(f, PROBE_AT_LEAST, "frames", MESSAGES, sent,
					"by %s, LAG port %d set", names[i], chosen + 1);
		else
			finding_compare(f, PROBE_AT_MOST, "frames", MESSAGES / 2, sent,
					"by %s, LAG port %d set", names[i], chosen + 1);
	}
	return true;
}

void check_lag_port_counted(struct probe *p, struct probe_finding *f)
{
	char names[PATH_LAG_PORTS][SNAP_NAME];
	struct nic_pair pair;
	bool ok = true;

	if (!path_has_lag(p, f) || !find_lag_netdevs(p, f, names) ||
	    !path_open_pair(p, f, &p->other, &pair))
		return;
	for (int i = 0; i < PATH_LAG_PORTS && ok; i++)
		ok = compare_lag_frames(f, &pair, names, i);
	nic_pair_close(&pair);
	if (ok)
		finding_say(f, "%d messages with LAG port 1 and %d with LAG port 2 %s by %s and %s",
			    MESSAGES, MESSAGES,
			    f->verdict == PROBE_AS_ASSUMED ? "left" : "did not leave", names[0],
			    names[1]);
}
