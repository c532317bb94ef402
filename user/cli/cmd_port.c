// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define NUMBER(name, field, bit)					\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		const struct snap_port *port = row;			\
									\
		(void)cli;						\
		if ((bit) == 0 || snap_has(port, bit))			\
			cell_u64(c, port->field);			\
	}

#define RATE(name, id)							\
	static void get_##name(const struct cli *cli, const void *row,	\
			       struct cell *c)				\
	{								\
		view_signal(cli, id, (const struct snap_port *)row -	\
			    cli->snap.ports, c);			\
	}

NUMBER(port, index, 0)
NUMBER(device_speed, speed, SNAP_SPEED)
NUMBER(tx_bytes, tx_bytes, SNAP_BYTES)
NUMBER(rx_bytes, rx_bytes, SNAP_BYTES)
NUMBER(tx_packets, tx_packets, SNAP_BYTES)
NUMBER(rx_packets, rx_packets, SNAP_BYTES)
NUMBER(time, time, 0)
NUMBER(detail_time, detail_time, SNAP_DETAIL)
NUMBER(ecn_marked, ecn_marked, SNAP_CNP)
NUMBER(cnp_sent, cnp_sent, SNAP_CNP)
NUMBER(cnp_handled, cnp_handled, SNAP_CNP)
RATE(util, SIG_PORT_UTIL)
RATE(tx_rate, SIG_PORT_TX_RATE)
RATE(rx_rate, SIG_PORT_RX_RATE)

static void get_dev(const struct cli *cli, const void *row, struct cell *c)
{
	view_dev_name(cli, ((const struct snap_port *)row)->dev, c);
}

/* The speed that UTIL is relative to. The policy file overrides the device. */
static void get_speed(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_port *port = row;
	const struct snap_dev *dev = view_dev(cli, port->dev);
	const struct signal_opts opts = config_signal_opts(&cli->running.cfg);
	double speed;

	if (signals_port_speed(port, dev ? dev->name : "", &opts, &speed))
		cell_u64(c, (uint64_t)speed);
}

static void get_state(const struct cli *cli, const void *row, struct cell *c)
{
	/* IBA 14.2.5.6, as enum ib_port_state */
	static const char *const names[] = {
		"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};
	const struct snap_port *port = row;

	(void)cli;
	if (!snap_has(port, SNAP_STATE))
		return;
	c->tone = port->state == 4 ? TONE_GOOD : TONE_WARN;
	if (port->state < sizeof(names) / sizeof(names[0]))
		cell_str(c, names[port->state]);
	else
		cell_u64(c, port->state);
}

static void get_link(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_port *port = row;

	(void)cli;
	if (port->link_layer == 1)
		cell_str(c, "infiniband");
	else if (port->link_layer == 2)
		cell_str(c, "ethernet");
}

static void get_netdev(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_port *port = row;

	(void)cli;
	if (snap_has(port, SNAP_NETDEV))
		cell_str(c, port->netdev);
}

#define PRIO(name, field)						\
	static void prio_##name(const struct cli *cli, const void *row,	\
				struct cell *c)				\
	{								\
		(void)cli;						\
		cell_u64(c, ((const struct snap_prio *)row)->field);	\
	}

PRIO(index, index)
PRIO(tx_bytes, tx_bytes)
PRIO(rx_bytes, rx_bytes)
PRIO(tx_packets, tx_packets)
PRIO(rx_packets, rx_packets)
PRIO(tx_pauses, tx_pauses)
PRIO(rx_pauses, rx_pauses)
PRIO(tx_pause_time, tx_pause_time)
PRIO(rx_pause_time, rx_pause_time)

static const struct column prio_columns[] = {
	{ "prio", "PRIO", 0, 0, prio_index },
	{ "tx_bytes", "TX", SHOW_BYTES, 0, prio_tx_bytes },
	{ "rx_bytes", "RX", SHOW_BYTES, 0, prio_rx_bytes },
	{ "tx_packets", "TX-PACKETS", 0, 0, prio_tx_packets },
	{ "rx_packets", "RX-PACKETS", 0, 0, prio_rx_packets },
	{ "tx_pauses", "TX-PAUSES", 0, 0, prio_tx_pauses },
	{ "rx_pauses", "RX-PAUSES", 0, 0, prio_rx_pauses },
	{ "tx_pause_time", "TX-PAUSED", SHOW_TIME, 0, prio_tx_pause_time },
	{ "rx_pause_time", "RX-PAUSED", SHOW_TIME, 0, prio_rx_pause_time },
};

static void get_prios(const struct cli *cli, const void *row, struct cell *c)
{
	const struct snap_port *port = row;
	const struct snapshot *snap = &cli->snap;
	size_t from = 0, n = 0;

	while (from < snap->n_prios &&
	       (snap->prios[from].dev != port->dev ||
		snap->prios[from].port != port->index))
		from++;
	while (from + n < snap->n_prios &&
	       snap->prios[from + n].dev == port->dev &&
	       snap->prios[from + n].port == port->index)
		n++;
	if (!n)
		return;
	c->kind = CELL_TABLE;
	c->table = ROWS(prio_columns, &snap->prios[from], n);
}

static const struct column columns[] = {
	{ "dev", "DEV", 0, COL_LEFT, get_dev },
	{ "port", "PORT", 0, 0, get_port },
	{ "state", "STATE", 0, COL_LEFT, get_state },
	{ "link_layer", "LINK", 0, COL_LEFT, get_link },
	{ "netdev", "NETDEV", 0, COL_LEFT, get_netdev },
	{ "speed", "SPEED", SHOW_BITRATE, 0, get_speed },
	{ "device_speed", "DEV-SPEED", SHOW_BITRATE, COL_DETAIL, get_device_speed },
	{ "util", "UTIL", SHOW_RATIO, COL_RATE, get_util },
	{ "tx_rate", "TX-RATE", SHOW_BITRATE, COL_RATE, get_tx_rate },
	{ "rx_rate", "RX-RATE", SHOW_BITRATE, COL_RATE, get_rx_rate },
	{ "tx_bytes", "TX", SHOW_BYTES, 0, get_tx_bytes },
	{ "rx_bytes", "RX", SHOW_BYTES, 0, get_rx_bytes },
	{ "tx_packets", "TX-PACKETS", 0, COL_DETAIL, get_tx_packets },
	{ "rx_packets", "RX-PACKETS", 0, COL_DETAIL, get_rx_packets },
	{ "ecn_marked", "ECN-MARKED", 0, COL_DETAIL, get_ecn_marked },
	{ "cnp_sent", "CNP-SENT", 0, COL_DETAIL, get_cnp_sent },
	{ "cnp_handled", "CNP-HANDLED", 0, COL_DETAIL, get_cnp_handled },
	{ "time", NULL, 0, COL_JSON, get_time },
	{ "detail_time", NULL, 0, COL_JSON, get_detail_time },
	/* nested table, Ethernet only */
	{ "prios", NULL, 0, COL_DETAIL, get_prios },
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
		if (slash && (!args_number(slash + 1, UINT32_MAX, &port) ||
			      !port))
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
	if (want.port && !cli->snap.n_ports) {
		fprintf(stderr, "swiftrdma: %s has no port %u\n", dev,
			want.port);
		return CLI_ERROR;
	}
	cli_running(cli);
	rows = port_rows(&cli->snap);
	return cli_show(cli, &rows);
}

static const struct verb verbs[] = {
	{ "show", show_ports }, { "list", show_ports }, { 0 },
};

const struct noun noun_port = {
	"port", verbs,
	"Usage: swiftrdma port [ show [ DEV[/PORT] ] ]\n"
	"\n"
	"Shows ports: state, speed and traffic. -i SEC adds how busy each port is.\n"
	"--details adds congestion notifications (ECN), and bytes and pauses of each\n"
	"priority, where the NIC reports them.\n",
};
