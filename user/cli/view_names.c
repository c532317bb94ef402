// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/cli.h"

const struct snap_dev *view_dev(const struct cli *cli, uint32_t index)
{
	return reading_dev(&cli->snap, index);
}

/* "#7", for an object whose name is unknown. No name begins with '#'. */
static void cell_number(struct cell *c, uint32_t n)
{
	snprintf(c->buf, sizeof(c->buf), "#%u", n);
	cell_str(c, c->buf);
}

void view_dev_name(const struct cli *cli, uint32_t index, struct cell *c)
{
	const struct snap_dev *dev = view_dev(cli, index);

	/* The device may be newer than the last reading of devices. */
	if (dev)
		cell_str(c, dev->name);
	else
		cell_number(c, index);
}

const struct snap_job *view_job(const struct cli *cli, uint32_t id)
{
	return reading_job(&cli->snap, id);
}

void view_job_name(const struct cli *cli, uint32_t id, struct cell *c)
{
	const struct snap_job *job = view_job(cli, id);

	/* Only administrators see jobs, and the job may be newer than the reading. */
	if (job)
		cell_str(c, job->name);
	else if (id)
		cell_number(c, id);
}

/* Caches words: each line of a list has one or two. */
static const char *word_name(enum unit unit, uint32_t value)
{
	static const char *seen[UNITS][16];
	const char **word;

	if (unit >= UNITS || value >= 16)
		return vocab_word_name(unit, value);
	word = &seen[unit][value];
	if (!*word)
		*word = vocab_word_name(unit, value);
	return *word;
}

void view_word(enum unit unit, uint32_t value, struct cell *c)
{
	const char *word = word_name(unit, value);

	if (word)
		cell_str(c, word);
	else
		cell_u64(c, value);
}

const char *view_knob_name(uint32_t knob)
{
	const struct vocab_knob *k = vocab_knob(knob);

	return k ? strchr(k->name, '.') + 1 : NULL;
}

void view_knob(uint32_t knob, struct cell *c)
{
	const char *name = view_knob_name(knob);

	if (name)
		cell_str(c, name);
	else
		cell_u64(c, knob);
}

const struct snap_owner *view_owner(const struct cli *cli, bool has, uint32_t index)
{
	return reading_owner(&cli->snap, has, index);
}

/* The place of a row in its array. An object of an event is in none and has no signals. */
static size_t row_number(const struct snapshot *s, enum obj_kind kind, const void *row)
{
	const struct {
		const void *rows;
		size_t size;
	} arrays[OBJ_KINDS] = {
		[OBJ_DEV] = { s->devs, sizeof(*s->devs) },
		[OBJ_PORT] = { s->ports, sizeof(*s->ports) },
		[OBJ_UAR] = { s->uars, sizeof(*s->uars) },
		[OBJ_QP] = { s->qps, sizeof(*s->qps) },
		[OBJ_JOB] = { s->jobs, sizeof(*s->jobs) },
	};

	return ((uintptr_t)row - (uintptr_t)arrays[kind].rows) / arrays[kind].size;
}

void view_signal(const struct cli *cli, enum signal_id id, const void *row, struct cell *c)
{
	double v;

	if (signal_get(&cli->sig, id, row_number(&cli->snap, vocab_signals[id].obj, row), &v))
		cell_real(c, v);
}

void view_wr_unit(const struct cli *cli, uint32_t index, struct cell *c)
{
	const struct snap_dev *dev = view_dev(cli, index);

	if (dev && dev->caps & SWIFTRDMA_DEV_CAP_WQEBBS)
		cell_str(c, "wqebb");
	else if (dev && dev->caps & SWIFTRDMA_DEV_CAP_WRS)
		cell_str(c, "wr");
}

size_t view_pick(const struct rows *from, const char *const *keys, struct column *cols)
{
	size_t n = 0;

	for (; *keys; keys++) {
		for (size_t i = 0; i < from->n_columns; i++) {
			if (strcmp(from->columns[i].key, *keys))
				continue;
			cols[n] = from->columns[i];
			cols[n++].flags &= ~COL_DETAIL;
			break;
		}
	}
	return n;
}

int view_find_dev(const struct cli *cli, const char *name, uint32_t *index)
{
	const struct snap_dev *dev = reading_dev_named(&cli->snap, name);

	if (dev) {
		*index = dev->index;
		return CLI_OK;
	}
	fprintf(stderr, "swiftrdma: no device '%s'; there %s", name,
		cli->snap.n_devs ? "are:" : "is none");
	for (size_t i = 0; i < cli->snap.n_devs; i++)
		fprintf(stderr, " %s", cli->snap.devs[i].name);
	putc('\n', stderr);
	return CLI_ERROR;
}
