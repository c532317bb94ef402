/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* A healthy machine for the doctor, which a test then makes ill. */
#ifndef SELFTESTS_UNIT_DOCTOR_RIG_H
#define SELFTESTS_UNIT_DOCTOR_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/doctor.h"

#define RIG_MAX	8

static struct rig {
	struct doctor d;
	struct host h;
	struct snapshot snap;
	struct snap_dev snap_devs[RIG_MAX];
	struct snap_qp qps[RIG_MAX];
	struct snap_job jobs[RIG_MAX];
	struct snap_rule rules[RIG_MAX];
	struct snap_action actions[RIG_MAX];
	struct host_dev devs[RIG_MAX];
	struct host_port ports[RIG_MAX];
	struct host_net nets[RIG_MAX];
	struct host_proc procs[RIG_MAX];
	struct host_agent agents[RIG_MAX];
	struct host_rdma_max maxima[RIG_MAX];
	struct config cfg;
	struct diag diag;
} r;

/* All strict, a class and 8 DSCPs for each priority: as the software ConnectX has it. */
static inline struct host_dcb rig_dcb(void)
{
	struct host_dcb dcb = {
		.has_ets = true, .has_pfc = true, .has_dcbx = true,
		.by_host = true, .trusts_dscp = true, .dscps = ~0ull,
	};

	for (int i = 0; i < HOST_PRIOS; i++)
		dcb.prio_tc[i] = (uint8_t)i;
	for (int i = 0; i < HOST_DSCPS; i++)
		dcb.dscp_prio[i] = (uint8_t)(i / 8);
	return dcb;
}

static inline void rig_level(uint32_t level, uint32_t dscp, uint32_t sl)
{
	r.d.levels[r.d.n_levels++] = (struct io_level){
		level, dscp, sl, true, true,
	};
}

/* A ConnectX, mlx5_0, with one Ethernet port, hca0; levels 1 to 3. */
static inline void rig_begin(void)
{
	free(r.d.found);
	memset(&r, 0, sizeof(r));
	r.d.host = &r.h;
	r.d.snap = &r.snap;
	r.d.version = "1.0";
	r.d.answers = true;
	r.d.file = "/etc/swiftrdma/policy.yaml";
	r.d.actions = r.actions;
	r.snap.admin = true;
	r.snap.devs = r.snap_devs;
	r.snap.qps = r.qps;
	r.snap.jobs = r.jobs;
	r.h.devs = r.devs;
	r.h.ports = r.ports;
	r.h.nets = r.nets;
	r.h.procs = r.procs;
	r.h.agents = r.agents;
	r.h.maxima = r.maxima;
	r.h.root = true;
	r.h.procs_all = true;
	r.h.self.may_lock = true;
	r.h.unit.error = -ENOENT;
	strcpy(r.h.kernel.release, "6.1.0-56-amd64");
	r.h.kernel.kprobes = HOST_YES;
	r.h.module = (struct host_module){
		.loaded = true, .provider = true, .installed = true,
		.provider_installed = true,
		.version = "1.0", .hooks = "armed",
	};
	r.h.n_devs = r.h.n_ports = r.h.n_nets = r.snap.n_devs = 1;
	strcpy(r.devs[0].name, "mlx5_0");
	strcpy(r.devs[0].driver, "mlx5_core");
	strcpy(r.devs[0].firmware, "16.35.2000");
	strcpy(r.devs[0].bus, "0000:03:00.0");
	r.devs[0].function = HOST_PF;
	r.ports[0] = (struct host_port){
		.index = 1, .link_layer = 2, .state = 4, .tclass = -1,
	};
	strcpy(r.nets[0].name, "hca0");
	strcpy(r.nets[0].driver, "mlx5_core");
	r.nets[0].up = true;
	r.nets[0].cnp_dscp = -1;
	r.nets[0].dcb = rig_dcb();
	strcpy(r.snap_devs[0].name, "mlx5_0");
	strcpy(r.snap_devs[0].provider, "mlx5");
	r.snap_devs[0].caps = SWIFTRDMA_DEV_CAP_LIVE_CLASS;
	r.snap_devs[0].has = SNAP_DEVX;
	rig_level(1, 8, 1);
	rig_level(2, 16, 2);
	rig_level(3, 24, 3);
}

/* A connected QP that asks for a traffic class of this DSCP. */
static inline void rig_qp(uint32_t dscp, uint32_t sl, uint32_t job)
{
	r.qps[r.snap.n_qps++] = (struct snap_qp){
		.has = SNAP_CLASS | SNAP_PORT, .port = 1, .type = 2, .job = job,
		.tclass_asked = dscp << 2, .sl_asked = sl,
	};
}

static inline void rig_judge(void (*judge)(struct doctor *d))
{
	r.d.n = 0;
	judge(&r.d);
	assert_false(r.d.no_memory);
}

static inline size_t rig_count(enum doctor_verdict verdict)
{
	size_t n = 0;

	for (size_t i = 0; i < r.d.n; i++)
		n += r.d.found[i].verdict == verdict;
	return n;
}

/* The worst of all. */
static inline enum doctor_verdict rig_worst(void)
{
	enum doctor_verdict worst = DOCTOR_FINE;

	for (size_t i = 0; i < r.d.n; i++)
		if (r.d.found[i].verdict > worst)
			worst = r.d.found[i].verdict;
	return worst;
}

/* The finding by a rule, of an object that begins so. */
static inline const struct finding *rig_find(const char *rule,
					     const char *object)
{
	for (size_t i = 0; i < r.d.n; i++)
		if (!strcmp(r.d.found[i].rule, rule) &&
		    !strncmp(r.d.found[i].object, object, strlen(object)))
			return &r.d.found[i];
	return NULL;
}

static inline void rig_print(void)
{
	for (size_t i = 0; i < r.d.n; i++)
		print_error("%d %s %s: %s\n  # %s\n", r.d.found[i].verdict,
			    r.d.found[i].rule, r.d.found[i].object,
			    r.d.found[i].says, r.d.found[i].mend);
}

/* There is one by this rule, as bad, with these words and this command. */
static inline const struct finding *rig_expect_of(const char *object,
						  const char *rule,
						  enum doctor_verdict verdict,
						  const char *says,
						  const char *mend)
{
	const struct finding *f = rig_find(rule, object);

	if (!f || f->verdict != verdict || (says && !strstr(f->says, says)) ||
	    (mend && strcmp(f->mend, mend))) {
		print_error("wanted: %d %s %s: %s\n  # %s\n", verdict, rule,
			    object, says ? says : "", mend ? mend : "(any)");
		rig_print();
		fail();
	}
	return f;
}

static inline const struct finding *rig_expect(const char *rule,
					       enum doctor_verdict verdict,
					       const char *says,
					       const char *mend)
{
	return rig_expect_of("", rule, verdict, says, mend);
}

/* Nothing to mend, and at least one thing that was looked at. */
static inline void rig_fine(void)
{
	if (rig_worst() != DOCTOR_FINE || !r.d.n) {
		print_error("wanted nothing to mend\n");
		rig_print();
		fail();
	}
}

static inline int rig_setup(void **state)
{
	(void)state;
	rig_begin();
	return 0;
}

static inline int rig_end(void **state)
{
	(void)state;
	free(r.d.found);
	r.d.found = NULL;
	r.d.n = r.d.cap = 0;
	return 0;
}

#define DOCTOR_TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_end)

#endif /* SELFTESTS_UNIT_DOCTOR_RIG_H */
