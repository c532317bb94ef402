/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Random scenes for tests of the evaluator: two devices, one of them with two ports, and UARs,
 * QPs and jobs, which come and go, so that rows move. What a QP belongs to is not always known.
 */
#ifndef SELFTESTS_UNIT_RANDOM_SCENE_H
#define SELFTESTS_UNIT_RANDOM_SCENE_H

#include "unit/random_policies.h"

#define SCENE_UARS	6
#define SCENE_JOBS	6
#define SCENE_QPS	320
#define SCENE_QPS_FEW	24

/* An object of a scene has a place in .all_*, whether it is there or not. */
struct scene {
	struct snapshot s;
	struct snap_dev devs[2];
	struct snap_port ports[3];
	struct snap_uar uars[SCENE_UARS], all_uars[SCENE_UARS];
	struct snap_qp qps[SCENE_QPS], all_qps[SCENE_QPS];
	struct snap_job jobs[SCENE_JOBS], all_jobs[SCENE_JOBS];
	struct snap_job_stat stats[SCENE_JOBS][2], all_stats[SCENE_JOBS][2];
	bool has_uar[SCENE_UARS], has_qp[SCENE_QPS], has_job[SCENE_JOBS];
	uint32_t n_qps;			/* of .all_qps */
	uint64_t born;			/* objects that were born, which tells them apart */
	uint32_t place[OBJ_KINDS][SCENE_QPS];	/* the place of the object of a row */
};

/* Lists the objects that are there, in the order of a snapshot. */
static inline void scene_list(struct scene *m)
{
	uint32_t i, k;

	m->s.n_uars = 0;
	m->s.n_qps = 0;
	m->s.n_jobs = 0;
	for (i = 0; i < 3; i++) {
		m->place[OBJ_DEV][i] = i;
		m->place[OBJ_PORT][i] = i;
	}
	for (i = 0; i < SCENE_UARS; i++)
		if (m->has_uar[i]) {
			m->place[OBJ_UAR][m->s.n_uars] = i;
			m->uars[m->s.n_uars++] = m->all_uars[i];
		}
	for (i = 0; i < m->n_qps; i++)
		if (m->has_qp[i]) {
			m->place[OBJ_QP][m->s.n_qps] = i;
			m->qps[m->s.n_qps++] = m->all_qps[i];
		}
	for (i = 0; i < SCENE_JOBS; i++)
		if (m->has_job[i]) {
			struct snap_job *job = &m->jobs[m->s.n_jobs];

			m->place[OBJ_JOB][m->s.n_jobs] = i;
			*job = m->all_jobs[i];
			job->stats = m->stats[m->s.n_jobs++];
			job->n_stats = 2;
			memcpy(job->stats, m->all_stats[i], sizeof(m->all_stats[i]));
			for (k = 0; k < m->s.n_qps; k++)
				job->stats[m->qps[k].dev].qps += m->qps[k].job == i;
		}
}

/* Gives a QP a random UAR and port of its device, and a job; each of them may be unknown. */
static inline void scene_attach(struct scene *m, uint32_t i)
{
	struct snap_qp *qp = &m->all_qps[i];
	bool many = m->n_qps > SCENE_QPS_FEW;

	qp->has = SNAP_WRS | SNAP_DOORBELLS | SNAP_OWNER;
	qp->has |= random_below(8) ? SNAP_STATE : 0;
	qp->has |= random_below(many ? 100 : 15) ? SNAP_PORT : 0;
	qp->has |= random_below(15) ? SNAP_UAR : 0;
	qp->state = random_below(8) ? 3 : 0;
	/* Of many QPs most are in one place, which needs several blocks of lanes. */
	qp->port = qp->dev == 0 && !random_below(many ? 20 : 2) ? 2 : 1;
	qp->uar = random_below(qp->dev ? 2 : 4);
	qp->job = many && random_below(10) ? 1 : random_below(SCENE_JOBS);
	qp->serial = ++m->born;
}

static inline void random_scene(struct scene *m, bool many)
{
	static const char *const names[] = { "", "kv", "web", "bulk", "batch", "mail" };
	uint32_t i, qpn = 0;

	memset(m, 0, sizeof(*m));
	m->s = (struct snapshot){
		.time = 1000 * MS, .admin = true, .armed = true, .devs = m->devs, .n_devs = 2,
		.ports = m->ports, .n_ports = 3, .uars = m->uars, .qps = m->qps, .jobs = m->jobs,
	};
	for (i = 0; i < 2; i++)
		m->devs[i] = (struct snap_dev){ .index = i, .since = 1 };
	for (i = 0; i < 3; i++)
		m->ports[i] = (struct snap_port){ .dev = i / 2, .index = 1 + i % 2 };
	for (i = 0; i < SCENE_UARS; i++) {
		m->has_uar[i] = true;
		m->all_uars[i] = (struct snap_uar){
			.has = random_below(6) ? SNAP_CONTEXT_ID : 0, .dev = i / 4, .index = i % 4,
			.context = i / 2, .since = 1,
		};
	}
	for (i = 0; i < SCENE_JOBS; i++) {
		m->has_job[i] = true;
		m->all_jobs[i] = (struct snap_job){ .id = i, .class = i < 5 ? i : 4, .since = 1 };
		snprintf(m->all_jobs[i].name, SNAP_NAME, "%s", names[i]);
		m->all_stats[i][1].dev = 1;
		m->all_stats[i][i & 1] = (struct snap_job_stat){
			.dev = i & 1, .has = i & 2 ? SNAP_MAX_QPS | SNAP_CREATE_RATE : 0,
			.max_qps = 32 * i, .create_rate = 640,
		};
	}
	m->n_qps = many ? SCENE_QPS : SCENE_QPS_FEW;
	for (i = 0; i < m->n_qps; i++) {
		qpn += 1 + !random_below(40);
		m->all_qps[i] = (struct snap_qp){ .dev = i >= m->n_qps * 3 / 4, .qpn = qpn };
		m->has_qp[i] = random_below(20);
		scene_attach(m, i);
	}
	scene_list(m);
}

/* Make one change: add a QP, a UAR or a job, take one away, or give a QP to another owner. */
static inline void scene_change_once(struct scene *m)
{
	uint32_t qp = random_below(m->n_qps), uar = random_below(SCENE_UARS);
	uint32_t job = 1 + random_below(SCENE_JOBS - 1);

	switch (random_below(9)) {
	case 0:
		m->has_uar[uar] = !m->has_uar[uar];
		m->all_uars[uar].since = ++m->born;
		break;
	case 1:
		/* Most jobs stay, so that policies have time to act. */
		if (m->has_job[job] && random_below(4))
			break;
		m->has_job[job] = !m->has_job[job];
		m->all_jobs[job].since = ++m->born;
		break;
	case 2:
		m->all_jobs[job].class = 1 + random_below(4);
		break;
	case 3:
		m->all_qps[qp].job = random_below(SCENE_JOBS);
		break;
	case 4:
		m->all_qps[qp].uar = random_below(m->all_qps[qp].dev ? 2 : 4);
		break;
	case 5:
		m->all_qps[qp].state = m->all_qps[qp].state ? 0 : 3;
		break;
	default:
		m->has_qp[qp] = !m->has_qp[qp];
		if (m->has_qp[qp])
			scene_attach(m, qp);
		break;
	}
}

static inline void scene_change(struct scene *m)
{
	uint32_t i, n = random_below(3) ? 0 : m->n_qps > SCENE_QPS_FEW ? 8 : 1 + random_below(2);

	for (i = 0; i < n; i++)
		scene_change_once(m);
	scene_list(m);
}

/* What the readings of each object are, by its place: 0 to 8, or 9 for none. */
struct scene_readings {
	uint8_t was[SIGNALS][SCENE_QPS];
};

static inline void scene_readings_init(struct scene_readings *r)
{
	memset(r, 9, sizeof(*r));
}

/*
 * Sets the readings of all objects, of which some are absent. They are the same for a while. Of
 * many QPs nearly all have the same readings, so that few of them decide.
 */
static inline void random_readings(struct signals *s, const struct scene *m,
				   struct scene_readings *r)
{
	enum signal_id id;
	uint32_t row, n, place;

	for (id = 0; id < SIGNALS; id++) {
		enum obj_kind kind = vocab_signals[id].obj;
		bool many = kind == OBJ_QP && m->n_qps > SCENE_QPS_FEW;

		if (many && !random_below(6))
			memset(r->was[id], (int)random_below(10), SCENE_QPS);
		for (row = 0; row < s->table[kind].n; row++) {
			place = m->place[kind][row];
			if (!random_below(many ? 2000 : 6))
				r->was[id][place] = (uint8_t)random_below(10);
			n = r->was[id][place];
			signal_set(s, id, row, n == 9 ? __builtin_nan("") : reading_value(id, n));
		}
	}
}

#endif /* SELFTESTS_UNIT_RANDOM_SCENE_H */
