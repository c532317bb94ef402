// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "policy/running.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "policy/schema.h"

#define FILE_MAX	(64 * 1024)

static void put_quoted(FILE *f, const char *s)
{
	putc('\'', f);
	for (; *s; s++) {
		if (*s == '\'')
			putc('\'', f);
		putc(*s, f);
	}
	putc('\'', f);
}

static void put_value(FILE *f, double v, enum unit unit)
{
	char buf[40];

	fputs(units_text_exact(buf, sizeof(buf), v, unit), f);
}

static void put_slo(FILE *f, const struct signal_slo *slo)
{
	fprintf(f, "  - {job: %s, slo: {", slo->job);
	if (slo->p99) {
		fputs("p99: ", f);
		put_value(f, (double)slo->p99, UNIT_TIME);
	}
	if (slo->byte_rate > 0) {
		fputs(slo->p99 ? ", byte_rate: " : "byte_rate: ", f);
		put_value(f, slo->byte_rate, UNIT_BITRATE);
	}
	fputs("}}\n", f);
}

bool running_write(FILE *f, const char *file, uint32_t pid, const struct config *cfg)
{
	size_t i;

	fputs("# What swiftrdma-agent runs by; swiftrdma(8) reads it.\nfile: ", f);
	put_quoted(f, file);
	fprintf(f, "\npid: %u\n", pid);
	if (cfg->n_speeds)
		fputs("ports:\n", f);
	for (i = 0; i < cfg->n_speeds; i++) {
		fputs("  - {dev: ", f);
		put_quoted(f, cfg->speeds[i].dev);
		fprintf(f, ", port: %u, speed: ", cfg->speeds[i].port);
		put_value(f, (double)cfg->speeds[i].speed, UNIT_BITRATE);
		fputs("}\n", f);
	}
	if (cfg->n_slos)
		fputs("slos:\n", f);
	for (i = 0; i < cfg->n_slos; i++)
		put_slo(f, &cfg->slos[i]);
	fputs("criteria:\n", f);
	for (i = 0; i < cfg->criteria.n; i++) {
		fprintf(f, "  %s: ", cfg->criteria.v[i].name);
		put_value(f, cfg->criteria.v[i].v, cfg->criteria.v[i].unit);
		putc('\n', f);
	}
	return !fflush(f) && !ferror(f);
}

static void read_slos(struct config *cfg, const struct node *n, struct diag *rep)
{
	static const char *const keys[] = { "job", "slo", NULL };
	const struct node *e, *job, *slo;

	if (!check_list(rep, n, "slos"))
		return;
	cfg->slos = get_array(rep, n->n, sizeof(*cfg->slos));
	for (e = n->first; e && cfg->slos; e = e->next) {
		struct signal_slo *to = &cfg->slos[cfg->n_slos];

		if (!check_map(rep, e, "a target", keys))
			continue;
		job = need(rep, e, "job", "a target", "job: kv");
		slo = need(rep, e, "slo", "a target", "slo: {p99: 50us}");
		if (job && slo && get_name(rep, job, "job", to->job) && get_slo(rep, slo, to))
			cfg->n_slos++;
	}
}

static void read_settings(struct running *r, const struct node *root, struct diag *rep)
{
	static const char *const keys[] = {
		"file", "pid", "ports", "slos", "criteria", NULL
	};
	const struct node *n;

	if (!check_map(rep, root, "the agent's file", keys))
		return;
	n = need(rep, root, "file", "the agent's file", "file: policy.yaml");
	if (n)
		get_string(rep, n, "file", r->file, sizeof(r->file));
	n = need(rep, root, "pid", "the agent's file", "pid: 212");
	if (n)
		get_uint(rep, n, "pid", 1, INT32_MAX, &r->pid);
	n = node_get(root, "ports");
	if (n)
		load_ports(&r->cfg, n, rep);
	n = node_get(root, "slos");
	if (n)
		read_slos(&r->cfg, n, rep);
	n = node_get(root, "criteria");
	if (n)
		load_criteria(&r->cfg, n, rep);
}

bool running_read(struct running *r, const char *text, size_t len)
{
	struct diag rep;
	struct doc doc;

	memset(r, 0, sizeof(*r));
	criteria_init(&r->cfg.criteria);
	diag_init(&rep, RUNNING_FILE);
	if (!doc_parse(&doc, text, len, &rep))
		return false;
	if (doc.root)
		read_settings(r, doc.root, &rep);
	else
		diag_at(&rep, 0, 0, "empty");
	doc_free(&doc);
	if (!rep.total)
		return true;
	running_free(r);
	return false;
}

void running_free(struct running *r)
{
	config_free(&r->cfg);
	memset(r, 0, sizeof(*r));
}

/* Bytes read. -1: no file, or no lock on it: its agent is gone. */
static ssize_t read_locked(const char *path, char *buf, size_t cap)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_SH | LOCK_NB))
		n = read(fd, buf, cap);
	close(fd);
	return n;
}

bool running_find(struct running *r, const char *path)
{
	char *text = malloc(FILE_MAX);
	ssize_t n = text ? read_locked(path, text, FILE_MAX) : -1;
	bool ok = n > 0 && running_read(r, text, (size_t)n);

	free(text);
	return ok;
}

bool running_by_policy(struct running *r, const char *path)
{
	struct diag rep;

	memset(r, 0, sizeof(*r));
	diag_init(&rep, path);
	if (!path || access(path, R_OK) || !config_load_file(&r->cfg, path, &rep))
		return false;
	snprintf(r->file, sizeof(r->file), "%s", path);
	return true;
}
