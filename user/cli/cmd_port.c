// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define PORT(member)		MEMBER(struct snap_port, member)
#define PORT_HAS(member, bits)	MEMBER_HAS(struct snap_port, member, bits)
#define PRIO(member)		MEMBER(struct snap_prio, member)

/* The speed that UTIL is relative to. The policy file overrides the device. */
GETTER(speed)
{
	const struct snap_port *port = row;
	const struct snap_dev *dev = view_dev(cli, port->dev);
	const struct signal_opts opts = config_signal_opts(&cli->running.cfg);
	double speed;

	if (signals_port_speed(port, dev ? dev->name : "", &opts, &speed))
		cell_u64(c, (uint64_t)speed);
}

GETTER(state)
{
	/* IBA 14.2.5.6, as enum ib_port_state */
	static const char *const names[] = {
		"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};
	const struct snap_port *port = row;

	if (!snap_has(port, SNAP_STATE))
		return;
	c->tone = port->state == 4 ? TONE_GOOD : TONE_WARN;
	if (port->state < sizeof(names) / sizeof(names[0]))
		cell_str(c, names[port->state]);
	else
		cell_u64(c, port->state);
}

GETTER(link)
{
	const struct snap_port *port = row;

	if (port->link_layer == 1)
		cell_str(c, "infiniband");
	else if (port->link_layer == 2)
		cell_str(c, "ethernet");
}

static const struct column prio_columns[] = {
	{ "prio", "PRIO", 0, 0, PRIO(index) },
	{ "tx_bytes", "TX", SHOW_BYTES, 0, PRIO(tx_bytes) },
	{ "rx_bytes", "RX", SHOW_BYTES, 0, PRIO(rx_bytes) },
	{ "tx_packets", "TX-PACKETS", 0, 0, PRIO(tx_packets) },
	{ "rx_packets", "RX-PACKETS", 0, 0, PRIO(rx_packets) },
	{ "tx_pauses", "TX-PAUSES", 0, 0, PRIO(tx_pauses) },
	{ "rx_pauses", "RX-PAUSES", 0, 0, PRIO(rx_pauses) },
	{ "tx_pause_time", "TX-PAUSED", SHOW_TIME, 0, PRIO(tx_pause_time) },
	{ "rx_pause_time", "RX-PAUSED", SHOW_TIME, 0, PRIO(rx_pause_time) },
};

GETTER(prios)
{
	const struct snap_port *port = row;
	const struct snapshot *snap = &cli->snap;
	size_t from = 0, n = 0;

	while (from < snap->n_prios &&
	       (snap->prios[from].dev != port->dev || snap->prios[from].port != port->index))
		from++;
	while (from + n < snap->n_prios &&
	       snap->prios[from + n].dev == port->dev &&
	       snap->prios[from + n].port == port->index)
		n++;
	if (n)
		cell_table(c, ROWS(prio_columns, &snap->prios[from], n));
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, DEV_NAME(struct snap_port) },
	{ "port", "PORT", 0, 0, PORT(index) },
	{ "state", "STATE", 0, COL_LEFT, .get = get_state },
	{ "link_layer", "LINK", 0, COL_LEFT, .get = get_link },
	{ "netdev", "NETDEV", 0, COL_LEFT, PORT_HAS(netdev, SNAP_NETDEV) },
	{ "speed", "SPEED", SHOW_BITRATE, 0, .get = get_speed },
	{ "device_speed", "DEV-SPEED", SHOW_BITRATE, COL_DETAIL, PORT_HAS(speed, SNAP_SPEED) },
	{ "util", "UTIL", SHOW_RATIO, COL_RATE, SIGNAL(PORT_UTIL) },
	{ "tx_rate", "TX-RATE", SHOW_BITRATE, COL_RATE, SIGNAL(PORT_TX_RATE) },
	{ "rx_rate", "RX-RATE", SHOW_BITRATE, COL_RATE, SIGNAL(PORT_RX_RATE) },
	{ "tx_bytes", "TX", SHOW_BYTES, 0, PORT_HAS(tx_bytes, SNAP_BYTES) },
	{ "rx_bytes", "RX", SHOW_BYTES, 0, PORT_HAS(rx_bytes, SNAP_BYTES) },
	{ "tx_packets", "TX-PACKETS", 0, COL_DETAIL, PORT_HAS(tx_packets, SNAP_BYTES) },
	{ "rx_packets", "RX-PACKETS", 0, COL_DETAIL, PORT_HAS(rx_packets, SNAP_BYTES) },
	{ "ecn_marked", "ECN-MARKED", 0, COL_DETAIL, PORT_HAS(ecn_marked, SNAP_CNP) },
	{ "cnp_sent", "CNP-SENT", 0, COL_DETAIL, PORT_HAS(cnp_sent, SNAP_CNP) },
	{ "cnp_handled", "CNP-HANDLED", 0, COL_DETAIL, PORT_HAS(cnp_handled, SNAP_CNP) },
	{ "time", NULL, 0, COL_JSON, PORT(time) },
	{ "detail_time", NULL, 0, COL_JSON, PORT_HAS(detail_time, SNAP_DETAIL) },
	/* nested table, Ethernet only */
	{ "prios", NULL, 0, COL_DETAIL, .get = get_prios },
};

struct rows port_rows(const struct snapshot *snap)
{
	return ROWS(columns, snap->ports, snap->n_ports);
}

static int show_ports(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true, .ports = true, .cached = { .devs = true },
	};
	const char *word = args_next(args);
	char dev[SNAP_DEVNAME];
	struct rows rows;
	const char *slash;
	uint64_t port;
	int err;

	if (word) {
		slash = strrchr(word, '/');
		if (slash && (!args_number(slash + 1, UINT32_MAX, &port) || !port))
			return args_bad("'%s': a port number must follow the /, as in rxe0/1",
					word);
		if (strlen(word) >= sizeof(dev))
			return args_bad("'%s' is too long for the name of a device", word);
		strcpy(dev, word);
		if (slash) {
			dev[slash - word] = '\0';
			want.port = port;
		}
		want.dev = dev;
	}
	err = args_end(args);
	if (!err)
		err = cli_read(cli, &want);
	if (err)
		return err;
	if (want.port && !cli->snap.n_ports)
		return cli_fail("%s has no port %u", dev, want.port);
	cli_running(cli);
	rows = port_rows(&cli->snap);
	return cli_show(cli, &rows);
}

static const struct verb verbs[] = {
	{ "show", show_ports }, { "list", show_ports }, { 0 },
};

const struct noun_table port_table = NOUN_TABLE("port", columns);
static const struct noun_table prios_table = NOUN_TABLE("port.prios", prio_columns);
static const struct noun_table *const tables[] = { &port_table, &prios_table, NULL };

const struct noun noun_port = {
	.name = "port",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma port [ show [ DEV[/PORT] ] ]\n"
	"\n"
	"Shows ports: state, speed and traffic. -i SEC adds how busy each port is.\n"
	"--details adds congestion notifications (ECN), and bytes and pauses of each\n"
	"priority, where the NIC reports them.\n",
	.tables = tables,
};
