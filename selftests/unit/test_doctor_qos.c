// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the doctor says of how ports map and serve class levels; and that its commands
 * mend it: they are run on the ports that were made up, and it looks again.
 */
#include "unit/doctor_rig.h"

static struct host_dcb *dcb(void)
{
	return &r.nets[0].dcb;
}

static void all_fine(void **state)
{
	(void)state;
	rig_judge(doctor_qos);
	rig_fine();
	rig_expect_of("mlx5_0/1 hca0", "levels", DOCTOR_FINE,
		      "each of 3 levels has a traffic class of its own", "");
	rig_expect("level", DOCTOR_FINE,
		   "level 1: DSCP 8, priority 1, traffic class 1, strict",
		   "");
	dcb()->pfc = 0xff;
	rig_judge(doctor_qos);
	rig_fine();
	rig_expect("levels", DOCTOR_FINE, "of its own, lossless", "");
}

static void no_level_is_set(void **state)
{
	(void)state;
	r.d.n_levels = 0;
	rig_judge(doctor_qos);
	rig_expect("set", DOCTOR_WARNING, "no level has a meaning",
		   "swiftrdma level set 1 dscp 10 sl 1 2 dscp 18 sl 2 3 dscp 26 sl 3");
	r.d.n_levels = -EPERM;
	rig_judge(doctor_qos);
	rig_expect("set", DOCTOR_UNSEEN, "only to readers with CAP_NET_ADMIN", "");
	r.d.answers = false;
	rig_judge(doctor_qos);
	rig_expect("set", DOCTOR_UNSEEN, "does not answer", "");
}

/* The file's are what policies use; in whatever order it has them. */
static void levels_of_the_file(void **state)
{
	(void)state;
	r.d.cfg = &r.cfg;
	r.cfg.n_levels = 2;
	r.cfg.levels[0] = (struct config_level){ 3, 24, 3, true, true };
	r.cfg.levels[1] = (struct config_level){ 1, 8, 1, true, true };
	rig_judge(doctor_qos);
	rig_expect("levels", DOCTOR_FINE, "each of 2 levels", "");
	r.d.n_levels = -EPERM;
	rig_judge(doctor_qos);
	rig_expect("levels", DOCTOR_FINE, "each of 2 levels", "");
	rig_expect("level", DOCTOR_FINE, "level 1: ", "");
}

static void trusts_pcp(void **state)
{
	(void)state;
	dcb()->dscps = 0;
	dcb()->trusts_dscp = false;
	r.d.levels[1].dscp = 18;
	rig_judge(doctor_qos);
	rig_expect("trust", DOCTOR_ERROR,
		   "(PCP), not the DSCP, so there is no effect of levels 1 (DSCP 8), 2 (DSCP 18), 3 (DSCP 24)",
		   "dcb app add dev hca0 dscp-prio 8:1 18:2 24:3");
	assert_int_equal(rig_count(DOCTOR_ERROR), 1);
	/* A table of what is trusted, without DSCPs: though these have priorities */
	*dcb() = rig_dcb();
	dcb()->trusts_dscp = false;
	rig_judge(doctor_qos);
	rig_expect("trust", DOCTOR_ERROR, "not the DSCP", NULL);
}

static void has_no_priority(void **state)
{
	(void)state;
	dcb()->dscps &= ~(1ull << 16 | 1ull << 24);
	rig_judge(doctor_qos);
	rig_expect("unmapped", DOCTOR_ERROR, "levels 2 (DSCP 16), 3 (DSCP 24)",
		   "dcb app add dev hca0 dscp-prio 16:2 24:3");
	assert_int_equal(rig_count(DOCTOR_ERROR), 1);
	/* Their own priorities are others' already. */
	dcb()->dscp_prio[8] = 2;
	rig_judge(doctor_qos);
	rig_expect("unmapped", DOCTOR_ERROR, NULL,
		   "dcb app add dev hca0 dscp-prio 16:1 24:3");
	/* DSCP 0 without an entry is in priority 0. */
	*dcb() = rig_dcb();
	dcb()->dscps &= ~1ull;
	rig_judge(doctor_qos);
	rig_fine();
}

static void leaves_the_lossless_class(void **state)
{
	(void)state;
	/* PFC where nobody is */
	dcb()->pfc = 1 << 6;
	rig_judge(doctor_qos);
	rig_fine();
	/* Applications ask for DSCP 26, priority 3. */
	rig_begin();
	dcb()->pfc = 1 << 3;
	rig_qp(26, 0, 0);
	r.d.n_levels = 0;
	rig_level(3, 32, 3);
	rig_level(4, 40, 4);
	rig_judge(doctor_qos);
	rig_expect("pfc", DOCTOR_ERROR,
		   "levels 3 (DSCP 32, priority 4, traffic class 4, strict), 4 (DSCP 40, priority 5, traffic class 5, strict): no PFC on this priority, so raised traffic leaves the lossless class of traffic that is not raised (DSCP 26, priority 3, lossless, traffic class 3, strict; applications ask for it). The switch and the peers need PFC there, too",
		   "dcb pfc set dev hca0 prio-pfc 4:on 5:on");
	assert_int_equal(rig_count(DOCTOR_ERROR), 1);
	dcb()->pfc |= 1 << 4 | 1 << 5;
	rig_judge(doctor_qos);
	rig_fine();
	/* The same by default, as RDMA's connection manager was told. */
	rig_begin();
	dcb()->pfc = 1 << 3;
	r.ports[0].tclass = 26 << 2 | 2;
	r.d.n_levels = 0;
	rig_level(3, 32, 3);
	rig_judge(doctor_qos);
	rig_expect("pfc", DOCTOR_ERROR, "(DSCP 26, priority 3, lossless, traffic class 3, strict; the default)",
		   "dcb pfc set dev hca0 prio-pfc 4:on");
	/* QPs of jobs ask for something else; others are not raised. */
	rig_qp(26, 0, 0);
	rig_qp(0, 0, 5);
	rig_judge(doctor_qos);
	rig_fine();
}

/* One that applications have anyway. */
static void level_of_the_base(void **state)
{
	(void)state;
	rig_qp(16, 0, 1);
	rig_judge(doctor_qos);
	rig_expect("level", DOCTOR_FINE,
		   "level 2: DSCP 16 is that of traffic which is not raised", "");
	/* Level 1 is below it, then. */
	rig_expect("served_last", DOCTOR_ERROR,
		   "level 1 (DSCP 8, priority 1, traffic class 1, strict): served after traffic that is not raised (DSCP 16, priority 2, traffic class 2, strict; applications ask for it)",
		   "dcb ets set dev hca0 prio-tc 1:3 3:4");
}

static void has_no_effect(void **state)
{
	(void)state;
	memset(dcb()->prio_tc, 0, HOST_PRIOS);
	rig_judge(doctor_qos);
	rig_expect("no_effect", DOCTOR_ERROR,
		   "3 (DSCP 24, priority 3, traffic class 0, strict): no effect in this NIC, in the traffic class of traffic that is not raised (DSCP 0, priority 0, traffic class 0, strict; the default)",
		   "dcb ets set dev hca0 prio-tc 1:1 2:2 3:3");
	/* by the same priority */
	*dcb() = rig_dcb();
	memset(dcb()->dscp_prio, 0, HOST_DSCPS);
	rig_judge(doctor_qos);
	rig_expect("no_effect", DOCTOR_ERROR, NULL,
		   "dcb app replace dev hca0 dscp-prio 8:1 16:2 24:3");
	/* ... which is lossless, and the others are not */
	dcb()->pfc = 1;
	rig_judge(doctor_qos);
	rig_expect("no_effect", DOCTOR_ERROR, NULL,
		   "dcb app replace dev hca0 dscp-prio 8:1 16:2 24:3 && dcb pfc set dev hca0 prio-pfc 1:on 2:on 3:on");
}

static void two_are_alike(void **state)
{
	(void)state;
	dcb()->prio_tc[3] = 2;
	rig_judge(doctor_qos);
	rig_expect("alike", DOCTOR_WARNING, "changes nothing: 2 and 3 (traffic class 2)",
		   "dcb ets set dev hca0 prio-tc 3:3");
	*dcb() = rig_dcb();
	dcb()->dscp_prio[24] = 2;
	rig_judge(doctor_qos);
	rig_expect("alike", DOCTOR_WARNING, "2 and 3 (traffic class 2)",
		   "dcb app replace dev hca0 dscp-prio 24:3");
	*dcb() = rig_dcb();
	r.d.levels[2].dscp = 16;
	rig_judge(doctor_qos);
	rig_expect("same_dscp", DOCTOR_WARNING, "levels 2 and 3 are both DSCP 16",
		   "dcb app replace dev hca0 dscp-prio 24:3 && swiftrdma level set 3 dscp 24");
}

static void served_in_the_wrong_order(void **state)
{
	(void)state;
	/* what is not raised is strict, and above */
	dcb()->prio_tc[0] = 7;
	rig_judge(doctor_qos);
	rig_expect("served_last", DOCTOR_ERROR,
		   "levels 1 (DSCP 8, priority 1, traffic class 1, strict), 2 (DSCP 16, priority 2, traffic class 2, strict), 3 (DSCP 24, priority 3, traffic class 3, strict): served after traffic that is not raised (DSCP 0, priority 0, traffic class 7, strict; the default)",
		   "dcb ets set dev hca0 prio-tc 0:0");
	/* levels share, and it is strict */
	*dcb() = rig_dcb();
	memset(dcb()->tsa + 1, HOST_TSA_ETS, 3);
	memset(dcb()->share + 1, 30, 3);
	dcb()->share[1] = 40;
	rig_judge(doctor_qos);
	rig_expect("served_last", DOCTOR_ERROR, "1 (DSCP 8, priority 1, traffic class 1, 40 %)",
		   "dcb ets set dev hca0 tc-tsa 1:strict 2:strict 3:strict tc-bw 1:0 2:0 3:0");
	/* one above the other */
	*dcb() = rig_dcb();
	dcb()->prio_tc[2] = 3;
	dcb()->prio_tc[3] = 2;
	rig_judge(doctor_qos);
	rig_expect("order", DOCTOR_WARNING,
		   "a higher level is served after a lower one: 3 after 2 (traffic classes 2 and 3)",
		   "dcb ets set dev hca0 prio-tc 3:4");
}

static void small_share(void **state)
{
	(void)state;
	memset(dcb()->tsa, HOST_TSA_ETS, HOST_PRIOS);
	dcb()->share[0] = 90;
	dcb()->share[1] = 10;
	r.d.n_levels = 1;
	rig_judge(doctor_qos);
	rig_expect("share", DOCTOR_WARNING,
		   "level 1 (DSCP 8, priority 1, traffic class 1, 10 %): a smaller share of the port than that of traffic that is not raised (DSCP 0, priority 0, traffic class 0, 90 %;",
		   "dcb ets set dev hca0 tc-tsa 1:strict tc-bw 0:100 1:0");
	/* as much is not less */
	dcb()->share[0] = dcb()->share[1] = 50;
	rig_judge(doctor_qos);
	rig_fine();
}

/* As mlx5_core leaves it: the device serves classes in turns, priority 0 is 1. */
static void vendors_default(void **state)
{
	(void)state;
	memset(dcb()->tsa, HOST_TSA_VENDOR, HOST_PRIOS);
	dcb()->prio_tc[0] = 1;
	dcb()->prio_tc[1] = 0;
	rig_judge(doctor_qos);
	rig_fine();
	rig_expect("level", DOCTOR_FINE,
		   "traffic class 0, the device's order", "");
	dcb()->prio_tc[2] = 1;
	rig_judge(doctor_qos);
	rig_expect("no_effect", DOCTOR_ERROR, "level 2 ",
		   "dcb ets set dev hca0 prio-tc 2:2");
}

static void notifications(void **state)
{
	(void)state;
	rig_level(6, 48, 6);
	rig_judge(doctor_qos);
	rig_expect("cnp", DOCTOR_WARNING,
		   "level 6 is DSCP 48, the DSCP of congestion notifications (CNPs), by a ConnectX's default",
		   "swiftrdma level set 6 dscp 49");
	/* A file that has the level must change too, or the agent sets the level again. */
	r.d.cfg = &r.cfg;
	r.cfg.n_levels = 1;
	r.cfg.levels[0] = (struct config_level){ 6, 48, 6, true, true };
	rig_judge(doctor_qos);
	rig_expect("cnp", DOCTOR_WARNING, NULL,
		   "swiftrdma level set 6 dscp 49  # and in the policy file");
	r.d.cfg = NULL;
	/* It says which. */
	r.nets[0].cnp_dscp = 24;
	rig_judge(doctor_qos);
	rig_expect("cnp", DOCTOR_WARNING, "level 3 is DSCP 24", "swiftrdma level set 3 dscp 25");
	assert_int_equal(rig_count(DOCTOR_WARNING), 1);
	/* No other DSCP has this priority. */
	for (int i = 25; i < 32; i++)
		dcb()->dscp_prio[i] = 0;
	rig_judge(doctor_qos);
	rig_expect("cnp", DOCTOR_WARNING, NULL,
		   "dcb app replace dev hca0 dscp-prio 1:3 && swiftrdma level set 3 dscp 1");
	/* Of other NICs nothing is known. */
	rig_begin();
	rig_level(6, 48, 6);
	strcpy(r.devs[0].driver, "bnxt_en");
	rig_judge(doctor_qos);
	rig_fine();
}

static void firmware_settles_it(void **state)
{
	(void)state;
	dcb()->by_host = false;
	rig_judge(doctor_qos);
	rig_expect("dcbx", DOCTOR_WARNING, "(DCBX)", "dcb dcbx set dev hca0 host ieee");
	dcb()->has_dcbx = false;
	rig_judge(doctor_qos);
	rig_fine();
}

static void cannot_be_read(void **state)
{
	(void)state;
	*dcb() = (struct host_dcb){ .error = -EOPNOTSUPP };
	strcpy(r.nets[0].driver, "veth");
	rig_judge(doctor_qos);
	rig_expect("dcb", DOCTOR_UNSEEN, "its driver veth has no DCB", "");
	dcb()->error = -ENODEV;
	rig_judge(doctor_qos);
	rig_expect("dcb", DOCTOR_UNSEEN, "DCB cannot be read: No such device", "");
	strcpy(r.nets[0].represents, "pf0vf1");
	dcb()->error = -EOPNOTSUPP;
	rig_judge(doctor_qos);
	rig_expect("dcb", DOCTOR_UNSEEN, "it represents pf0vf1", "");
	r.devs[0].function = HOST_VF;
	rig_judge(doctor_qos);
	rig_expect("dcb", DOCTOR_UNSEEN, "those of the PF's port", "");
	/* In a guest only the module knows that it is one. */
	r.devs[0].function = HOST_PF;
	r.snap_devs[0].function = SWIFTRDMA_FUNCTION_VF;
	rig_judge(doctor_qos);
	rig_expect("dcb", DOCTOR_UNSEEN, "those of the PF's port", "");
	assert_int_equal(rig_count(DOCTOR_UNSEEN), 1);
}

/* More levels than classes: it is said, and no command is made up. */
static void too_many(void **state)
{
	(void)state;
	r.d.n_levels = 0;
	for (uint32_t i = 0; i < 8; i++)
		rig_level(i, 8 * i + 1, i);
	dcb()->prio_tc[7] = 6;
	rig_judge(doctor_qos);
	rig_expect("no_effect", DOCTOR_ERROR, "level 0 (DSCP 1, priority 0, ", "");
	rig_expect("alike", DOCTOR_WARNING, "6 and 7", "");
}

/* --- the commands mend it ------------------------------------------------------ */

static void map_word(const char *word, struct host_dcb *c, const char *what)
{
	char key[16], value[16];
	unsigned long k, v;

	assert_int_equal(sscanf(word, "%15[^:]:%15s", key, value), 2);
	k = strtoul(key, NULL, 10);
	v = strtoul(value, NULL, 10);
	if (!strcmp(what, "dscp-prio")) {
		assert_true(k < HOST_DSCPS && v < HOST_PRIOS);
		c->dscp_prio[k] = (uint8_t)v;
		c->dscps |= 1ull << k;
		c->trusts_dscp = true;
		return;
	}
	assert_true(k < HOST_PRIOS);
	if (!strcmp(what, "prio-tc")) {
		assert_true(v < HOST_PRIOS);
		c->prio_tc[k] = (uint8_t)v;
	} else if (!strcmp(what, "tc-tsa")) {
		c->tsa[k] = !strcmp(value, "strict") ? HOST_TSA_STRICT :
			    !strcmp(value, "ets") ? HOST_TSA_ETS :
						    HOST_TSA_VENDOR;
	} else if (!strcmp(what, "tc-bw")) {
		c->share[k] = (uint8_t)v;
	} else {
		assert_string_equal(what, "prio-pfc");
		assert_string_equal(value, "on");
		c->pfc |= (uint8_t)(1 << k);
	}
}

/* As drivers check it. */
static void check_shares(const struct host_dcb *c)
{
	int sum = 0, shares = 0;

	for (int i = 0; i < HOST_PRIOS; i++) {
		if (c->tsa[i] != HOST_TSA_ETS)
			continue;
		shares++;
		sum += c->share[i];
	}
	assert_true(!shares || sum == 100);
}

static void run_one(char *command)
{
	char *save, *word = strtok_r(command, " ", &save), *what = NULL;
	bool ets = false;

	if (!strcmp(word, "swiftrdma")) {
		unsigned int level, dscp;

		assert_int_equal(sscanf(save, "level set %u dscp %u", &level,
					&dscp), 2);
		for (int i = 0; i < r.d.n_levels; i++)
			if (r.d.levels[i].level == level)
				r.d.levels[i].dscp = dscp;
		return;
	}
	assert_string_equal(word, "dcb");
	word = strtok_r(NULL, " ", &save);
	if (!strcmp(word, "dcbx")) {
		dcb()->by_host = true;
		return;
	}
	ets = !strcmp(word, "ets");
	strtok_r(NULL, " ", &save);
	assert_string_equal(strtok_r(NULL, " ", &save), "dev");
	assert_string_equal(strtok_r(NULL, " ", &save), "hca0");
	while ((word = strtok_r(NULL, " ", &save))) {
		if (strchr(word, ':'))
			map_word(word, dcb(), what);
		else
			what = word;
	}
	if (ets)
		check_shares(dcb());
}

static void run_commands(const char *line)
{
	char buf[DOCTOR_MEND], *at = buf, *end;

	strcpy(buf, line);
	while (at) {
		end = strstr(at, " && ");
		if (end)
			*end = '\0';
		run_one(at);
		at = end ? end + 4 : NULL;
	}
}

static uint32_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void make_port(void)
{
	static const uint8_t kinds[] = {
		HOST_TSA_STRICT, HOST_TSA_ETS, HOST_TSA_VENDOR,
	};
	struct host_dcb *c = dcb();
	uint32_t left = 100, shares = 0;
	bool vendor = !dice(4);

	rig_begin();
	for (int i = 0; i < HOST_PRIOS; i++) {
		c->prio_tc[i] = (uint8_t)dice(dice(2) ? HOST_PRIOS : 2);
		c->tsa[i] = vendor ? HOST_TSA_VENDOR : kinds[dice(2)];
		shares += c->tsa[i] == HOST_TSA_ETS;
	}
	for (int i = 0; i < HOST_PRIOS && shares; i++) {
		if (c->tsa[i] != HOST_TSA_ETS)
			continue;
		c->share[i] = (uint8_t)(--shares ? dice(left + 1) : left);
		left -= c->share[i];
	}
	for (int i = 0; i < HOST_DSCPS; i++) {
		c->dscp_prio[i] = (uint8_t)dice(dice(2) ? HOST_PRIOS : 3);
		if (!dice(8))
			c->dscps &= ~(1ull << i);
	}
	if (!dice(5))
		c->dscps = 0;
	c->trusts_dscp = c->dscps != 0;
	c->pfc = dice(2) ? (uint8_t)dice(256) : 0;
	c->by_host = dice(2);
	r.d.n_levels = 0;
	for (uint32_t level = 1; level <= 5; level++)
		if (dice(3))
			rig_level(level, dice(2) ? 8 * level : dice(HOST_DSCPS),
				  level);
	if (!r.d.n_levels)
		rig_level(1, 8, 1);
	for (uint32_t i = dice(3); i; i--)
		rig_qp(dice(2) ? 0 : dice(HOST_DSCPS), 0, dice(2));
}

/*
 * What is wrong with any port is named with a command, and when the commands were
 * run, in their order and as often as it takes, it finds nothing any more. Three
 * looks are enough: the first finds that DSCPs are not trusted, or have no
 * priority, or are alike; the second how those that now have one are served.
 */
static void its_commands_mend(void **state)
{
	size_t ill = 0, looks_max = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		size_t looks = 0;

		seed = i;
		make_port();
		for (;;) {
			size_t commands = 0;

			rig_judge(doctor_qos);
			if (rig_worst() == DOCTOR_FINE)
				break;
			if (++looks > 3) {
				print_error("port %u is not mended\n", i);
				rig_print();
				fail();
			}
			for (size_t k = 0; k < r.d.n; k++) {
				char line[DOCTOR_MEND];

				strcpy(line, r.d.found[k].mend);
				if (!line[0])
					continue;
				commands++;
				run_commands(line);
			}
			if (!commands) {
				print_error("port %u has no command\n", i);
				rig_print();
				fail();
			}
		}
		ill += looks > 0;
		looks_max = looks > looks_max ? looks : looks_max;
	}
	print_message("%zu of 20000 ports were ill, and mended within %zu looks\n",
		      ill, looks_max);
	assert_true(ill > 10000);
}

/* --- InfiniBand ---------------------------------------------------------------- */

static void infiniband(void)
{
	rig_begin();
	r.h.n_nets = 0;
	r.ports[0].link_layer = 1;
	for (int i = 0; i < HOST_SLS; i++)
		r.ports[0].sl2vl[i] = (uint8_t)(i % 8);
}

static void service_levels(void **state)
{
	(void)state;
	infiniband();
	rig_judge(doctor_qos);
	rig_fine();
	rig_expect("levels", DOCTOR_FINE, "each of 3 levels has a VL of its own", "");
	/* all in one, as without QoS in the SM */
	memset(r.ports[0].sl2vl, 0, HOST_SLS);
	rig_judge(doctor_qos);
	rig_expect("no_effect", DOCTOR_ERROR, "level 1: SL 1 is VL 0",
		   "printf 'qos TRUE\\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\\n' >>/etc/opensm/opensm.conf && systemctl restart opensm  # where the SM runs");
	assert_int_equal(rig_count(DOCTOR_ERROR), 3);
	/* one is not to be used, two are alike; others are free */
	infiniband();
	r.ports[0].sl2vl[1] = HOST_VL_NONE;
	r.ports[0].sl2vl[3] = 2;
	rig_judge(doctor_qos);
	rig_expect("no_vl", DOCTOR_ERROR, "level 1: SL 1 has no VL",
		   "swiftrdma level set 1 sl 4");
	rig_expect("alike", DOCTOR_WARNING, "level 3: SL 3 is VL 2",
		   "swiftrdma level set 3 sl 5");
}

/* What applications ask for anyway. */
static void service_level_asked(void **state)
{
	(void)state;
	infiniband();
	rig_qp(0, 2, 0);
	rig_judge(doctor_qos);
	rig_expect("asked", DOCTOR_WARNING,
		   "level 2: SL 2 is what all applications ask for anyway: the level changes nothing on this link",
		   "swiftrdma level set 2 sl 0");
	assert_int_equal(rig_count(DOCTOR_WARNING), 1);
	/* Others, which ask for SL 0, can be raised to it. */
	rig_qp(0, 0, 0);
	rig_judge(doctor_qos);
	rig_fine();
	rig_expect("level", DOCTOR_FINE, "level 1: SL 1, VL 1", "");
	assert_non_null(strstr(r.d.found[1].says, "level 2: SL 2 is that of traffic which is not raised"));
	rig_expect("levels", DOCTOR_FINE, "each of 2 levels", "");
	/* Level 0 is there to raise nothing. */
	infiniband();
	rig_level(0, 0, 0);
	rig_judge(doctor_qos);
	rig_fine();
	r.d.levels[0].sl = 0;
	rig_judge(doctor_qos);
	rig_expect("asked", DOCTOR_WARNING, "level 1: SL 0 is the default of applications: ",
		   "swiftrdma level set 1 sl 1");
}

/* A file of DSCPs only, or in part. */
static void service_level_lacking(void **state)
{
	(void)state;
	infiniband();
	r.d.levels[0].has_sl = r.d.levels[2].has_sl = false;
	rig_judge(doctor_qos);
	rig_expect("no_sl", DOCTOR_WARNING,
		   "levels 1, 3: no SL, and on InfiniBand a level is its SL: the level changes nothing on this link",
		   "swiftrdma level set 1 sl 1 3 sl 3");
	/* The VL of SL 1 is that of level 2; SLs 0 to 2 have lanes of others. */
	r.ports[0].sl2vl[1] = 2;
	r.d.levels[2].has_sl = true;
	rig_judge(doctor_qos);
	rig_expect("no_sl", DOCTOR_WARNING, "level 1: no SL, ", "swiftrdma level set 1 sl 4");
	/* No lane is free: the subnet manager has to make them, for an SL of the level's own. */
	memset(r.ports[0].sl2vl, 0, HOST_SLS);
	rig_judge(doctor_qos);
	rig_expect("no_sl", DOCTOR_WARNING, NULL, "swiftrdma level set 1 sl 1");
	/* Lanes are not known. */
	r.ports[0].sl2vl_error = -EACCES;
	for (int i = 0; i < 3; i++)
		r.d.levels[i].has_sl = false;
	r.d.cfg = &r.cfg;
	r.cfg.n_levels = 3;
	for (uint32_t i = 0; i < 3; i++)
		r.cfg.levels[i] = (struct config_level){ i + 1, 8, 0, true, false };
	rig_judge(doctor_qos);
	rig_expect("no_sl", DOCTOR_WARNING, "levels 1, 2, 3: ",
		   "swiftrdma level set 1 sl 1 2 sl 2 3 sl 3  # and in the policy file");
}

/* A file of service levels only, or in part, on Ethernet. */
static void dscp_lacking(void **state)
{
	(void)state;
	r.d.levels[0].has_dscp = false;
	rig_judge(doctor_qos);
	rig_expect("no_dscp", DOCTOR_WARNING,
		   "level 1: no DSCP, and on Ethernet an SL is at most the priority of a VLAN tag, which this port does not go by: the level changes nothing on this link",
		   "swiftrdma level set 1 dscp 10");
	/* DSCPs that are in use: of notifications, of another level, of applications. */
	for (int i = 0; i < 3; i++)
		r.d.levels[i].has_dscp = false;
	r.d.levels[0].level = 6;
	r.nets[0].cnp_dscp = 50;
	rig_level(5, 18, 5);
	rig_qp(26, 0, 0);
	dcb()->trusts_dscp = false;
	rig_judge(doctor_qos);
	rig_expect("no_dscp", DOCTOR_WARNING,
		   "levels 2, 3, 6: no DSCP, and on Ethernet an SL is at most the priority of a VLAN tag: the level changes nothing on this link without such a tag",
		   "swiftrdma level set 2 dscp 19 3 dscp 27 6 dscp 51");
	/* Without DCB, too, but not of a port of the NIC's switch. */
	dcb()->error = -EOPNOTSUPP;
	rig_judge(doctor_qos);
	rig_expect("no_dscp", DOCTOR_WARNING, NULL, NULL);
	strcpy(r.nets[0].represents, "VF 0");
	rig_judge(doctor_qos);
	assert_null(rig_find("no_dscp", ""));
}

/* Whatever is said by the table of lanes is said to be untested. */
static void service_levels_untested(void **state)
{
	static const char untested[] = "; reading the VL of an SL is untested with a subnet manager";

	(void)state;
	infiniband();
	rig_judge(doctor_qos);
	assert_non_null(strstr(rig_find("levels", "")->says, untested));
	r.ports[0].sl2vl[1] = HOST_VL_NONE;
	r.ports[0].sl2vl[2] = 0;
	rig_judge(doctor_qos);
	assert_non_null(strstr(rig_find("no_vl", "")->says, untested));
	assert_non_null(strstr(rig_find("no_effect", "")->says, untested));
	infiniband();
	r.ports[0].sl2vl[3] = 2;
	rig_judge(doctor_qos);
	assert_non_null(strstr(rig_find("alike", "")->says, untested));
}

static void service_levels_unseen(void **state)
{
	(void)state;
	infiniband();
	r.ports[0].sl2vl_error = -EACCES;
	rig_judge(doctor_qos);
	rig_expect("sl2vl", DOCTOR_UNSEEN, "only root can query", "");
	r.ports[0].sl2vl_error = -ENOENT;
	rig_judge(doctor_qos);
	rig_expect("sl2vl", DOCTOR_UNSEEN, "without ib_umad", "modprobe ib_umad");
	r.ports[0].sl2vl_error = -ETIMEDOUT;
	rig_judge(doctor_qos);
	rig_expect("sl2vl", DOCTOR_UNSEEN, "did not answer", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOCTOR_TEST(all_fine),
		DOCTOR_TEST(no_level_is_set),
		DOCTOR_TEST(levels_of_the_file),
		DOCTOR_TEST(trusts_pcp),
		DOCTOR_TEST(has_no_priority),
		DOCTOR_TEST(leaves_the_lossless_class),
		DOCTOR_TEST(level_of_the_base),
		DOCTOR_TEST(has_no_effect),
		DOCTOR_TEST(two_are_alike),
		DOCTOR_TEST(served_in_the_wrong_order),
		DOCTOR_TEST(small_share),
		DOCTOR_TEST(vendors_default),
		DOCTOR_TEST(notifications),
		DOCTOR_TEST(firmware_settles_it),
		DOCTOR_TEST(cannot_be_read),
		DOCTOR_TEST(too_many),
		DOCTOR_TEST(its_commands_mend),
		DOCTOR_TEST(service_levels),
		DOCTOR_TEST(service_levels_unseen),
		DOCTOR_TEST(service_level_asked),
		DOCTOR_TEST(service_level_lacking),
		DOCTOR_TEST(dscp_lacking),
		DOCTOR_TEST(service_levels_untested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
