// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma-probe, which `swiftrdma probe` executes: a program of its own, so that the command
 * needs no library of rdma-core. Its arguments are those of that command.
 */
#include <infiniband/mlx5dv.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "probe/print.h"
#include "probe/prm.h"
#include "probe/probe.h"

/* The program could not do its work. Others: findings_status(). */
#define STATUS_FAILED	3

#define SCALE_MAX	1000000

struct asked {
	const char *dev, *peer, *fit;
	char *ports[2];		/* interfaces of the LAG's ports */
	uint32_t scale;
	bool *checks;
	bool help;
};

static int find_check(const char *word)
{
	for (size_t i = 0; i < probe_n_checks; i++)
		if (!strcmp(probe_checks[i].name, word))
			return (int)i;
	return -1;
}

static int parse_option(struct cli *cli, struct asked *a, const char *word)
{
	static const char *const options[] = { "json", "pretty", "details", "color", "help", NULL };

	switch (args_match(options, word + strspn(word, "-"))) {
	case 0:
		cli->out.json = true;
		return CLI_OK;
	case 1:
		cli->out.pretty = true;
		return CLI_OK;
	case 2:
		cli->out.details = true;
		return CLI_OK;
	case 3:
		cli->out.color = true;
		return CLI_OK;
	case 4:
		a->help = true;
		return CLI_OK;
	}
	return args_bad("'%s' is no option; see swiftrdma probe help", word);
}

static int parse_scale(struct args *args, struct asked *a)
{
	int err = args_u32(args, "scale", SCALE_MAX, &a->scale);

	return !err && !a->scale ? args_bad("scale: 0 is no factor; 1 is a device that takes no longer than modelled") :
				   err;
}

/* Takes two names out of "NETDEV,NETDEV". */
static int parse_ports(struct args *args, struct asked *a)
{
	const char *word, *comma;
	int err = args_value(args, "ports", &word);

	if (err)
		return err;
	if (a->ports[0])
		return args_bad("ports: given twice");
	comma = strchrnul(word, ',');
	a->ports[0] = strndup(word, (size_t)(comma - word));
	a->ports[1] = strdup(*comma ? comma + 1 : "");
	if (!a->ports[0] || !a->ports[1])
		return cli_no_memory();
	if (!a->ports[0][0] || !a->ports[1][0] || strchr(a->ports[1], ',') ||
	    !strcmp(a->ports[0], a->ports[1]))
		return args_bad("ports: '%s' is not NETDEV,NETDEV: two network interfaces, of the LAG's first and second port",
				word);
	return CLI_OK;
}

static int parse_words(struct cli *cli, struct args *args, struct asked *a)
{
	static const char *const keywords[] = { "peer", "scale", "fit", "ports", NULL };
	int err = CLI_OK, check;

	while (!err && args_left(args)) {
		const char *word = args_next(args);
		int key = args_match(keywords, word + strspn(word, "-"));

		check = find_check(word);
		if (!a->dev && !args_is_option(word)) {
			a->dev = word;
		} else if (check >= 0) {
			a->checks[check] = true;
		} else if (key == 0) {
			err = args_value(args, "peer", &a->peer);
		} else if (key == 1) {
			err = parse_scale(args, a);
		} else if (key == 2) {
			err = args_value(args, "fit", &a->fit);
		} else if (key == 3) {
			err = parse_ports(args, a);
		} else if (args_is_option(word)) {
			err = parse_option(cli, a, word);
		} else {
			err = args_bad("probe: '%s' is neither a check nor peer, ports, scale or fit; see swiftrdma probe help",
				       word);
		}
	}
	if (!err && !a->dev && !a->help)
		err = args_bad("probe: a device is missing, as in swiftrdma probe mlx5_0");
	return err;
}

/* The first line of a file in sysfs; empty: none. */
static void read_line(char *to, size_t cap, const char *dev, const char *file)
{
	char path[128];
	FILE *f;

	*to = '\0';
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/%s", dev, file);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(to, (int)cap, f))
		to[strcspn(to, "\n")] = '\0';
	else
		*to = '\0';
	fclose(f);
}

static void read_driver(struct probe *p)
{
	char path[128], target[256];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", p->nic.name);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	name = strrchr(target, '/');
	snprintf(p->driver, sizeof(p->driver), "%.31s", name ? name + 1 : "(none)");
}

/* What the drivers rxe and siw have as their vendor (rxe_param.h, siw.h). */
#define VENDOR_RXE	0xffffff
#define VENDOR_SIW	0x626d74

/* 15b3:1017 and 15b3:1019 are ConnectX-5. Any other NIC is modelled as a ConnectX-6. */
#define PART_CX5	0x1017
#define PART_CX5_EX	0x1019

static void read_kind(struct probe *p)
{
	struct ibv_device_attr attr;

	p->preset = MODEL_CX6;
	if (ibv_query_device(p->nic.ctx, &attr))
		return;
	if (attr.vendor_part_id == PART_CX5 || attr.vendor_part_id == PART_CX5_EX)
		p->preset = MODEL_CX5;
	p->simulated = attr.vendor_id == VENDOR_RXE || attr.vendor_id == VENDOR_SIW ||
		       !strncmp(p->board, "SOFTHCA", 7);
}

static bool knows_dev(const struct snapshot *snap, const char *name)
{
	for (size_t i = 0; i < snap->n_devs; i++)
		if (!strcmp(snap->devs[i].name, name))
			return true;
	return false;
}

/* Without the module, or if it does not know the device, .io stays NULL. */
static void open_module(struct probe *p)
{
	const struct io_want want = { .devs = true, .cached.devs = true };
	int err = io_open(&p->io);

	if (!err)
		err = io_snapshot(p->io, &p->snap, &want);
	if (err < 0)
		snprintf(p->io_why, sizeof(p->io_why), "%s", io_error(p->io));
	else if (!knows_dev(&p->snap, p->nic.name))
		snprintf(p->io_why, sizeof(p->io_why), "it does not know %s", p->nic.name);
	else
		return;
	io_close(p->io);
	p->io = NULL;
}

static int open_probe(struct probe *p, const struct asked *a)
{
	uint8_t cap[PRM_CAP_BYTES];
	struct prm_error e;
	char rate[64];

	p->scale = a->scale ? a->scale : 1;
	p->lag_netdev[0] = a->ports[0];
	p->lag_netdev[1] = a->ports[1];
	if (nic_open(&p->nic, a->dev, false))
		return cli_fail("probe: %s: %s", a->dev, nic_words());
	if (a->peer && nic_open(&p->other, a->peer, false))
		return cli_fail("probe: %s: %s", a->peer, nic_words());
	p->has_peer = a->peer;
	read_line(p->firmware, sizeof(p->firmware), a->dev, "fw_ver");
	read_line(p->board, sizeof(p->board), a->dev, "board_id");
	read_driver(p);
	read_kind(p);
	read_line(rate, sizeof(rate), a->dev, "ports/1/rate");
	p->measured.link_bps = (uint64_t)(strtod(rate, NULL) * 1e9);	/* "100 Gb/sec (4X EDR)" */
	p->mlx5 = mlx5dv_is_supported(p->nic.ctx->device);
	p->devx = p->mlx5 && !prm_query_cap(p->nic.ctx, PRM_CAP_GENERAL, cap, &e);
	open_module(p);
	return CLI_OK;
}

static void close_probe(struct probe *p)
{
	io_close(p->io);
	snapshot_free(&p->snap);
	if (p->has_peer)
		nic_close(&p->other);
	nic_close(&p->nic);
}

static bool is_wanted(const struct asked *a, size_t i)
{
	bool any = false;

	for (size_t k = 0; k < probe_n_checks; k++)
		any |= a->checks[k];
	return !any || a->checks[i];
}

/* True: the file was not written, and a message says why. */
static bool write_fit(const struct probe *p, const char *path)
{
	char about[256];
	FILE *f = fopen(path, "we");
	bool failed;

	if (!f) {
		cli_fail("probe: %s: %m", path);
		return true;
	}
	snprintf(about, sizeof(about), "%sMeasured by swiftrdma probe on %s: firmware %s, board %s",
		 p->simulated ? "SIMULATED. " : "", p->nic.name, p->firmware, p->board);
	fit_write(f, p->preset, &p->measured, about);
	failed = ferror(f);
	failed |= fclose(f);
	if (failed)
		cli_fail("probe: %s: %m", path);
	return failed;
}

static int run_checks(struct cli *cli, struct probe *p, const struct asked *a)
{
	struct probe_finding *found = calloc(probe_n_checks, sizeof(*found));
	size_t n = 0, total = 0, at = 0;
	int status;

	if (!found)
		return cli_no_memory();
	for (size_t i = 0; i < probe_n_checks; i++)
		total += is_wanted(a, i);
	if (!cli->out.json)
		print_device(p, &cli->out);
	for (size_t i = 0; i < probe_n_checks; i++) {
		if (!is_wanted(a, i))
			continue;
		print_progress(++at, total, probe_checks[i].name);
		probe_run(p, &probe_checks[i], &found[n]);
		print_progress(0, 0, NULL);
		if (!cli->out.json)
			print_finding(cli, &cli->out, &found[n]);
		n++;
	}
	if (cli->out.json)
		print_json(cli, p, &cli->out, found, n);
	else
		print_sum(p, &cli->out, found, n);
	status = findings_status(found, n);
	if (a->fit && write_fit(p, a->fit))
		status = STATUS_FAILED;
	free(found);
	return status;
}

int main(int argc, char **argv)
{
	struct args args = { argv + 1, argc - 1 };
	struct cli cli = { .out = { .f = stdout }, .version = VERSION };
	struct asked asked = { .checks = calloc(probe_n_checks, sizeof(bool)) };
	struct probe probe = { 0 };
	int status = STATUS_FAILED;

	if (!asked.checks) {
		cli_no_memory();
		return STATUS_FAILED;
	}
	if (!parse_words(&cli, &args, &asked)) {
		if (asked.help) {
			fputs(noun_probe.help, stdout);
			status = 0;
		} else {
			if (!open_probe(&probe, &asked))
				status = run_checks(&cli, &probe, &asked);
			close_probe(&probe);
		}
	}
	free(asked.checks);
	free(asked.ports[0]);
	free(asked.ports[1]);
	if (fflush(stdout) || ferror(stdout)) {
		perror("swiftrdma: writing the output");
		status = STATUS_FAILED;
	}
	return status;
}
