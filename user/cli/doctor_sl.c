// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Doctor: the effect of a class level on InfiniBand. A table that the subnet manager (SM)
 * sets maps the level's service level (SL) to a virtual lane (VL).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"

/* For findings that rest on the table, which was tested on the software ConnectX only. */
#define UNTESTED "; reading the VL of an SL is untested with a subnet manager"

struct sls {
	struct doctor *d;
	const struct host_port *port;
	char object[DOCTOR_OBJECT];
	uint64_t base;		/* bit per SL that applications ask for */
	uint32_t qps;		/* QPs that ask for it; 0: assumed */
	uint16_t base_vls, vls;	/* bit per VL: of those SLs; of them and of all levels */
};

/* Finds an SL whose VL is free. -1: there is none. */
static int free_sl(struct sls *s)
{
	for (int sl = 0; sl < HOST_SLS; sl++) {
		uint8_t vl = s->port->sl2vl[sl];

		if (vl == HOST_VL_NONE || s->vls >> vl & 1)
			continue;
		s->vls |= (uint16_t)(1u << vl);
		return sl;
	}
	return -1;
}

static void advise_sl(struct sls *s, uint32_t level)
{
	int sl = free_sl(s);

	if (sl >= 0)
		doctor_mend(s->d, "swiftrdma level set %u sl %d%s", level, sl,
			    doctor_level_note(s->d));
	else
		doctor_mend(s->d, "printf 'qos TRUE\\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\\n' >>/etc/opensm/opensm.conf && systemctl restart opensm  # where the SM runs");
}

static void judge_asking(struct sls *s)
{
	int err = s->port->sl2vl_error;

	if (err == -ENOENT) {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_UNSEEN, "sl2vl", s->object,
			   "the VL of each SL cannot be queried without ib_umad");
		doctor_mend(s->d, "modprobe ib_umad");
	} else if (err == -EACCES || err == -EPERM) {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_UNSEEN, "sl2vl", s->object,
			   "only root can query the VL of each SL");
	} else {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_UNSEEN, "sl2vl", s->object,
			   "the port did not answer which VL each SL has: %s",
			   strerror(err < 0 ? -err : err));
	}
}

/*
 * Judges a level whose SL applications already ask for. Such a level still raises QPs that ask for
 * another SL. Level 0 only removes a level, so it needs no SL of its own.
 */
static void judge_asked(struct sls *s, const struct io_level *l)
{
	uint32_t sl = l->sl % HOST_SLS;

	if (!l->level || s->base != 1ull << sl) {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_FINE, "level", s->object,
			   "level %u: SL %u is that of traffic which is not raised", l->level, sl);
		doctor_detail(s->d);
		return;
	}
	doctor_say(s->d, DOCTOR_QOS, DOCTOR_WARNING, "asked", s->object,
		   "level %u: SL %u is %s: the level changes nothing on this link", l->level, sl,
		   s->qps ? "what all applications ask for anyway" :
			    "the default of applications");
	advise_sl(s, l->level);
}

/* @taken: VLs of lower levels. */
static bool judge_level(struct sls *s, const struct io_level *l, uint16_t taken)
{
	uint8_t vl = s->port->sl2vl[l->sl % HOST_SLS];

	if (vl == HOST_VL_NONE) {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_ERROR, "no_vl", s->object,
			   "level %u: SL %u has no VL, so packets in it are dropped" UNTESTED,
			   l->level, l->sl);
	} else if (s->base_vls >> vl & 1) {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_ERROR, "no_effect",
			   s->object,
			   "level %u: SL %u is VL %u, which is also the VL of traffic that is not raised: the level has no effect" UNTESTED,
			   l->level, l->sl, vl);
	} else if (taken >> vl & 1) {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_WARNING, "alike", s->object,
			   "level %u: SL %u is VL %u, which is also the VL of a lower level: a step from one to the other changes nothing" UNTESTED,
			   l->level, l->sl, vl);
	} else {
		doctor_say(s->d, DOCTOR_QOS, DOCTOR_FINE, "level", s->object,
			   "level %u: SL %u, VL %u", l->level, l->sl, vl);
		doctor_detail(s->d);
		return true;
	}
	advise_sl(s, l->level);
	return false;
}

void doctor_sls(struct doctor *d, const struct host_port *port,
		const struct io_level *levels, size_t n)
{
	struct sls s = { .d = d, .port = port };
	uint16_t taken = 0;
	size_t judged = 0;

	snprintf(s.object, sizeof(s.object), "%s/%u",
		 d->host->devs[port->dev].name, port->index);
	doctor_lacking_sl(d, port, s.object, levels, n);
	if (port->sl2vl_error) {
		judge_asking(&s);
		return;
	}
	s.base = doctor_asked(d, port, true, &s.qps);
	for (int sl = 0; sl < HOST_SLS; sl++)
		if (s.base >> sl & 1)
			s.base_vls |= (uint16_t)(1u << port->sl2vl[sl]);
	s.vls = s.base_vls;
	for (size_t i = 0; i < n; i++)
		if (levels[i].has_sl)
			s.vls |= (uint16_t)(1u << port->sl2vl[levels[i].sl % HOST_SLS]);
	for (size_t i = 0; i < n; i++) {
		if (!levels[i].has_sl)
			continue;
		if (s.base >> levels[i].sl % HOST_SLS & 1) {
			judge_asked(&s, &levels[i]);
			continue;
		}
		judged++;
		if (judge_level(&s, &levels[i], taken))
			taken |= (uint16_t)(1u << port->sl2vl[levels[i].sl % HOST_SLS]);
	}
	if (judged && !doctor_ails(d, DOCTOR_QOS, s.object))
		doctor_say(d, DOCTOR_QOS, DOCTOR_FINE, "levels", s.object,
			   "each of %zu levels has a VL of its own; the SM's VL arbitration, which is not queried, decides which goes first" UNTESTED,
			   judged);
}
