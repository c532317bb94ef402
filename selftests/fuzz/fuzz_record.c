// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as a recording: it ends somewhere, and what was read can be replayed,
 * written again, and is the same when that is read.
 *
 * The first byte of the input says what the others are: the file behind its header, or
 * what is in the records, each with its kind in a byte and its length in two. These are
 * then written as a recorder does, so that what is within is reached.
 */
#include <stdlib.h>
#include <string.h>

#include "explain/crowd.h"
#include "io/recording.h"
#include "policy/config.h"
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
	struct diag r;

	if (cfg.policies.n)
		return &cfg;
	diag_init(&r, "fuzz");
	if (!config_load_text_for(&cfg, &caps, text, strlen(text), &r)) {
		diag_print(&r, stderr);
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
	for (i = 0; i < s->n_qps; i++)
		if (snap_has(&s->qps[i], SNAP_OWNER) && s->qps[i].owner >= s->n_owners)
			abort();
	for (i = 0; i < s->n_uars; i++)
		if (snap_has(&s->uars[i], SNAP_OWNER) && s->uars[i].owner >= s->n_owners)
			abort();
}

/* All that an event points to: what is not there is not said to be. */
static void look_at(const struct snap_event *e)
{
	size_t i, n = (e->why ? strlen(e->why) : 0) + e->expired;

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

/* What a reader had is what a writer can write, and a reader then has. */
static void write_again(const struct snapshot *s)
{
	const struct snapshot *again;
	struct recorder *r;
	struct player *p;
	char *bytes;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);

	if (!f)
		return;
	r = recorder_open(f);
	if (!r)
		abort();
	recorder_snapshot(r, s);
	if (recorder_close(r))
		abort();
	fclose(f);
	f = fmemopen(bytes, len, "r");
	if (!f || player_open(&p, f, NULL) || player_next(p) != PLAYER_READING)
		abort();
	again = player_snapshot(p);
	if (again->n_devs != s->n_devs || again->n_uars != s->n_uars ||
	    again->n_qps != s->n_qps || again->n_ports != s->n_ports ||
	    again->time != s->time || again->generation != s->generation ||
	    again->admin != s->admin || (s->admin && again->n_jobs != s->n_jobs))
		abort();
	if (s->n_qps && memcmp(&again->qps[0].has, &s->qps[0].has, sizeof(s->qps[0].has)))
		abort();
	player_close(p);
	fclose(f);
	free(bytes);
}

/* From both of two adjacent readings, as a replay has them. */
static void replay(struct player *was, struct player *is)
{
	struct crowd crowd;
	struct replay rp;
	uint64_t offset;
	int what;

	if (replay_begin(&rp, policies()))
		return;
	crowd_init(&crowd);
	while ((what = player_next(is)) > 0) {
		const struct snapshot *s = player_snapshot(is);

		if (what == PLAYER_EVENT) {
			look_at(player_event(is));
			if (replay_event(&rp, player_time(is), player_event(is)))
				break;
			continue;
		}
		look(s);
		if (crowd_reserve(&crowd, s) ||
		    replay_step(&rp, rp.readings ? player_snapshot(was) : NULL, s))
			break;
		crowd_update(&crowd, &rp.sig, 0.1);
		do {
			what = player_next(was);
		} while (what == PLAYER_EVENT);
		if (what != PLAYER_READING)
			abort();
	}
	/* A reading that ended in the middle is half of one, and half of another. */
	if (rp.readings && !player_problem(is, &offset))
		write_again(player_snapshot(is));
	crowd_free(&crowd);
	replay_end(&rp);
}

/* A file of these records. */
static void write_records(FILE *f, const uint8_t *data, size_t size)
{
	struct recorder *r = recorder_open(f);
	size_t at = 0, len;

	if (!r)
		abort();
	while (at + 3 <= size) {
		uint8_t kind = data[at];

		len = data[at + 1] | data[at + 2] << 8;
		at += 3;
		if (len > size - at)
			len = size - at;
		recorder_put(r, (enum recording_kind)kind, at, data + at, len);
		at += len;
	}
	if (recorder_close(r))
		abort();
}

static void write_bytes(FILE *f, const uint8_t *data, size_t size)
{
	struct recorder *r = recorder_open(f);

	if (!r || recorder_close(r) || (size && fwrite(data, size, 1, f) != 1))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct player *was, *is;
	char *file = NULL;
	FILE *f[2];
	size_t n;

	if (!size || size > 16384)
		return 0;
	f[0] = open_memstream(&file, &n);
	if (!f[0])
		return 0;
	if (data[0] & 1)
		write_bytes(f[0], data + 1, size - 1);
	else
		write_records(f[0], data + 1, size - 1);
	fclose(f[0]);
	f[0] = fmemopen(file, n, "r");
	f[1] = fmemopen(file, n, "r");
	if (!f[0] || !f[1] || player_open(&was, f[0], NULL) || player_open(&is, f[1], NULL))
		abort();
	replay(was, is);
	player_close(was);
	player_close(is);
	fclose(f[0]);
	fclose(f[1]);
	free(file);
	return 0;
}
