// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as a recording, with checksums that are made right so that what is
 * within is reached: it ends somewhere, and what was read can be replayed and
 * written again.
 *
 * The input is a byte that says of which version, then a record after the other,
 * each with its length in two bytes.
 */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "core/crowd.h"
#include "policy/config.h"
#include "sim/record.h"
#include "sim/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The five contentions, and whatever is derived for two jobs. */
static const char text[] =
	"levels: [{level: 1, dscp: 10}]\n"
	"jobs:\n"
	"- {name: kv, class: latency, match: [{comm: kv}], slo: {p99: 50us}}\n"
	"- {name: bulk, class: throughput, match: [{uid: 1}]}\n"
	"order: kv > bulk\n"
	"policies:\n"
	"- {name: p, for: job, when: port.util > 80% and job.p99 rising, do: job.level += 1, undo: {when: port.util < 70%}}\n"
	"- {name: q, for: job, when: max(qp.outstanding over qps of uar) > 3 for 5ms, do: job.credits = 32, undo: {when: uar.qps < 2, hold: 1s}}\n";

static const struct config *policies(void)
{
	const struct caps caps = caps_all();
	static struct config cfg;
	struct report r;

	if (cfg.policies.n)
		return &cfg;
	report_init(&r, "fuzz");
	if (!config_load_text_for(&cfg, &caps, text, strlen(text), &r)) {
		report_print(&r, stderr);
		abort();
	}
	return &cfg;
}

/* A bool that is neither 0 nor 1 is what UBSan stops at. */
static void look(const struct snapshot *s)
{
	size_t i, n = s->admin;

	for (i = 0; i < s->n_qps; i++)
		n += s->qps[i].adopted + s->qps[i].class_pending +
		     s->qps[i].wrs_ambiguous + s->qps[i].devx;
	if (n > 1 + 4 * s->n_qps)
		abort();
}

/* All that an event points to: what is not there is not said to be. */
static void look_at(const struct snap_event *e)
{
	size_t i, n = strlen(e->why) + e->expired;

	if (e->qp)
		n += e->qp->adopted + e->qp->class_pending;
	if (e->owner)
		n += strlen(e->owner->comm) + strlen(e->owner->cgroup);
	if (e->action)
		n += strlen(e->action->reason) + e->action->clear +
		     e->action->in_force;
	if (e->dev)
		n += strlen(e->dev->name);
	for (i = 0; i < e->n_uars; i++)
		n += e->uars[i].qps != 0;
	if (n > 4096 + e->n_uars)
		abort();
}

/* From both of two adjacent readings, as a replay has them. */
static void replay(struct record *was, struct record *is)
{
	struct crowd crowd;
	struct replay rp;
	int what;

	if (replay_begin(&rp, policies()))
		return;
	crowd_init(&crowd);
	while ((what = record_next(is)) > 0) {
		if (what == RECORD_EVENT) {
			look_at(&is->event.e);
			if (replay_event(&rp, is->event.head.time, &is->event.e))
				break;
			continue;
		}
		look(&is->last);
		if (crowd_reserve(&crowd, &is->last) ||
		    replay_step(&rp, rp.readings ? &was->last : NULL, &is->last))
			break;
		crowd_update(&crowd, &rp.sig, 0.1);
		do {
			what = record_next(was);
		} while (what == RECORD_EVENT);
		if (what != RECORD_READING)
			abort();
	}
	crowd_free(&crowd);
	replay_end(&rp);
}

/* What a reader had is what a writer can write. */
static void write_again(const struct record *is)
{
	struct record r;
	char *bytes;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	if (!f)
		return;
	if (record_begin(&r, f) || record_write(&r, &is->last))
		abort();
	/* If there was any. */
	if (is->event.e.why &&
	    record_write_event(&r, is->event.head.time, &is->event.e))
		abort();
	record_end(&r);
	fclose(f);
	free(bytes);
}

static size_t make_file(uint8_t *file, const uint8_t *data, size_t size)
{
	size_t at = size > 0, n = 12, len;
	uint32_t crc;

	memcpy(file, "SRDMArec", 8);
	file[8] = RECORD_VERSION;
	if (at)
		file[8] -= data[0] % (RECORD_VERSION - RECORD_OLDEST + 1);
	while (at + 2 <= size) {
		len = data[at] | data[at + 1] << 8;
		at += 2;
		if (len > size - at)
			len = size - at;
		crc = (uint32_t)crc32(0, data + at, (uInt)len);
		file[n] = (uint8_t)len;
		file[n + 1] = (uint8_t)(len >> 8);
		memcpy(file + n + 4, &crc, 4);
		memcpy(file + n + 8, data + at, len);
		at += len;
		n += 8 + len;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record was, is;
	FILE *f[2];
	uint8_t *file;
	size_t n;

	if (size > 16384)
		return 0;
	file = calloc(1, 12 + 5 * (size + 1));
	if (!file)
		return 0;
	n = make_file(file, data, size);
	f[0] = fmemopen(file, n, "r");
	f[1] = fmemopen(file, n, "r");
	if (!f[0] || !f[1] || record_open(&was, f[0]) || record_open(&is, f[1]))
		abort();
	replay(&was, &is);
	if (!is.problem)
		write_again(&is);
	record_end(&was);
	record_end(&is);
	fclose(f[0]);
	fclose(f[1]);
	free(file);
	return 0;
}
