// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* qp explain: reads one interval, then prints sentences about one QP. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "explain/explain.h"

#define INTERVAL_MS	1000
#define ENVIRON_MAX	(128 * 1024)
#define INDENT		12

static ssize_t read_environ(uint32_t pid, char *buf, size_t cap)
{
	char path[32];
	ssize_t n, len = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((size_t)len < cap - 1 && (n = read(fd, buf + len, cap - 1 - (size_t)len)) > 0)
		len += n;
	close(fd);
	buf[len] = '\0';
	return len;
}

/* The environment of the QP's process, NUL after each setting and after the last; NULL: unknown. */
static char *read_environment(const struct cli *cli, size_t row)
{
	const struct snap_qp *qp = &cli->snap.qps[row];
	const struct snap_owner *o = view_owner(cli, snap_has(qp, SNAP_OWNER), qp->owner);
	char *env;

	if (!o || !o->pid || o->kernel[0])
		return NULL;
	env = calloc(1, ENVIRON_MAX + 1);
	if (env && read_environ(o->pid, env, ENVIRON_MAX) >= 0)
		return env;
	free(env);
	return NULL;
}

/* The entry of @env that begins with @name, which ends in "="; NULL: it is not set. */
static const char *find_entry(const char *env, const char *name)
{
	for (; *env; env += strlen(env) + 1)
		if (!strncmp(env, name, strlen(name)))
			return env;
	return NULL;
}

/* Appends at most 40 bytes of a setting, and a mark if there are more. */
static void add_setting(struct text *t, const char *setting)
{
	char tame[41];
	struct text one;

	text_init(&one, tame, sizeof(tame));
	text_tame(&one, setting);
	text_add(t, t->len ? " " : "", tame, one.cut ? "..." : "");
}

/* "MLX5_TOTAL_UUARS=2 MLX5_SHUT_UP_BF=1" */
static void find_mlx5_settings(const char *env, char *found, size_t size)
{
	static const char *const names[] = {
		"MLX5_TOTAL_UUARS=", "MLX5_NUM_LOW_LAT_UUARS=",
		"MLX5_SHUT_UP_BF=", "MLX5_SINGLE_THREADED=",
	};
	struct text t;

	text_init(&t, found, size);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *entry = find_entry(env, names[i]);

		if (entry)
			add_setting(&t, entry);
	}
}

/* The value of @name, which ends in "=", in @env; "" if it is not set. */
static const char *find_setting(const char *env, const char *name)
{
	const char *entry = find_entry(env, name);

	return entry ? entry + strlen(name) : "";
}

static void print_sentences(const struct out *o, const struct explain *e)
{
	for (size_t i = 0; i < e->n; i++) {
		const char *name = explain_topics[e->line[i].topic];
		bool first = !i || e->line[i].topic != e->line[i - 1].topic;

		fprintf(o->f, "%s%-*s%s", o->color && first ? "\033[1m" : "",
			INDENT, first ? name : "",
			o->color && first ? "\033[0m" : "");
		out_folded(o->f, INDENT, e->line[i].text);
	}
}

/* The QP, its UAR and its port as objects, then the sentences. */
static void print_explanation_json(const struct cli *cli, struct out *o,
		       const struct explain *e)
{
	const struct signal_qp_ref *ref = &cli->sig.qps[e->qp];
	struct rows rows = qp_rows(&cli->snap);

	o->j = (struct json){ .f = o->f, .pretty = o->pretty, .first = true };
	json_begin(&o->j, '{');
	rows.base = &cli->snap.qps[e->qp];
	rows.n = 1;
	out_list(cli, o, "qp", &rows);
	if (ref->uar >= 0) {
		rows = uar_rows(&cli->snap);
		rows.base = &cli->snap.uars[ref->uar];
		rows.n = 1;
		out_list(cli, o, "uar", &rows);
	}
	if (ref->port >= 0) {
		rows = port_rows(&cli->snap);
		rows.base = &cli->snap.ports[ref->port];
		rows.n = 1;
		out_list(cli, o, "port", &rows);
	}
	json_key(&o->j, "says");
	explain_json(&o->j, e);
	json_end(&o->j, '}');
	putc('\n', o->f);
}

static int find_qp(const struct cli *cli, const char *dev, uint32_t qpn, size_t *row)
{
	uint32_t index;
	int err = view_find_dev(cli, dev, &index);

	if (err)
		return err;
	*row = reading_qp_row(&cli->snap, index, qpn);
	return *row < SIZE_MAX ? CLI_OK : cli_fail("no QP %u of %s that you may see", qpn, dev);
}

int qp_explain(struct cli *cli, struct args *args)
{
	struct io_want want = {
		.devs = true, .ports = true, .uars = true, .qps = true,
		.jobs = true, .reports = true, .outstanding = true,
	};
	const char *dev = args_next(args);
	struct pairs pairs = { 0 };
	struct reading rd;
	struct explain *e;
	char mlx5[256], *environment;
	uint32_t qpn;
	int err;

	if (!dev)
		return args_bad("qp explain: a device and a QP number are missing, as in qp explain mlx5_0 17");
	if (args_u32(args, "QPN", 0xffffff, &qpn) || args_end(args))
		return CLI_USAGE;
	if (!cli->interval_ms)
		cli->interval_ms = INTERVAL_MS;
	cli->out.rates = true;
	err = cli_read(cli, &want);
	if (!err)
		err = cli_crowd(cli);
	if (err)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e)
		return cli_no_memory();
	err = find_qp(cli, dev, qpn, &e->qp);
	if (!err)
		err = cli_pairs(cli, &pairs);
	if (!err) {
		e->pairs = &pairs;
		environment = read_environment(cli, e->qp);
		if (environment) {
			find_mlx5_settings(environment, mlx5, sizeof(mlx5));
			e->environment = mlx5;
			e->chunk = find_setting(environment, "SWIFTRDMA_CHUNK=");
		}
		rd = cli_reading(cli);
		explain_qp(&rd, e);
		if (cli->out.json)
			print_explanation_json(cli, &cli->out, e);
		else
			print_sentences(&cli->out, e);
		free(environment);
	}
	pair_free(&pairs);
	free(e);
	return err;
}
