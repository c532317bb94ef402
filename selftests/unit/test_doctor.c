// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What the doctor says of module, kernel, agent, devices, limits and policies. */
#include "unit/doctor_rig.h"

/* --- module --------------------------------------------------------------------- */

static void module_fine(void **state)
{
	(void)state;
	rig_judge(doctor_module);
	rig_fine();
	rig_expect("armed", DOCTOR_FINE, "version 1.0 is loaded and armed", "");
	rig_expect_of("mlx5_0", "provider", DOCTOR_FINE, NULL, "");
}

static void module_unloaded(void **state)
{
	(void)state;
	r.h.module.loaded = r.h.module.provider = false;
	r.d.answers = false;
	rig_judge(doctor_module);
	rig_expect("loaded", DOCTOR_ERROR, "the module is not loaded: ",
		   "modprobe swiftrdma_mlx5");
	r.h.module.provider_installed = false;
	rig_judge(doctor_module);
	rig_expect("loaded", DOCTOR_ERROR, NULL, "modprobe swiftrdma");
	r.h.module.installed = false;
	rig_judge(doctor_module);
	rig_expect("loaded", DOCTOR_ERROR, "and not installed for this kernel",
		   "make install && modprobe swiftrdma_mlx5");
	r.devs[0].driver[0] = '\0';
	r.h.module.installed = true;
	rig_judge(doctor_module);
	rig_expect("loaded", DOCTOR_ERROR, NULL, "modprobe swiftrdma");
}

static void module_disarmed(void **state)
{
	(void)state;
	strcpy(r.h.module.hooks, "disarmed: 2 QPs were left as they are");
	rig_judge(doctor_module);
	rig_expect("armed", DOCTOR_ERROR,
		   "the module is disarmed: 2 QPs were left as they are",
		   "rmmod swiftrdma_mlx5 && rmmod swiftrdma && modprobe swiftrdma_mlx5");
	/* debugfs is not mounted, but whoever would change a thing is told */
	r.h.module.hooks[0] = '\0';
	r.h.module.hooks_error = -ENOENT;
	r.d.armed = -ESHUTDOWN;
	rig_judge(doctor_module);
	rig_expect("armed", DOCTOR_ERROR, "the module is disarmed: it sees no QP", NULL);
	r.d.armed = 0;
	rig_judge(doctor_module);
	rig_expect("armed", DOCTOR_FINE, NULL, "");
	/* nor is it root */
	r.d.armed = -EPERM;
	r.h.module.hooks_error = -EACCES;
	rig_judge(doctor_module);
	rig_expect("armed", DOCTOR_UNSEEN, "could not be read: Operation not permitted", "");
	strcpy(r.h.module.hooks, "armed: QP 17 of rxe0 is not drained");
	rig_judge(doctor_module);
	rig_expect("armed", DOCTOR_WARNING,
		   "could not be disarmed: QP 17 of rxe0 is not drained",
		   "swiftrdma module disarm");
}

static void module_of_another_version(void **state)
{
	(void)state;
	strcpy(r.h.module.version, "0.9");
	rig_judge(doctor_module);
	rig_expect("version", DOCTOR_WARNING,
		   "version 0.9 is loaded, but this command has version 1.0",
		   "swiftrdma module disarm && rmmod swiftrdma_mlx5 && rmmod swiftrdma && modprobe swiftrdma_mlx5");
	strcpy(r.h.module.version, "1.0");
	strcpy(r.h.module.provider_version, "0.9");
	rig_judge(doctor_module);
	rig_expect_of("swiftrdma_mlx5.ko", "version", DOCTOR_WARNING,
		      "version 0.9 is loaded", NULL);
	assert_int_equal(rig_count(DOCTOR_WARNING), 1);
}

static void module_mute(void **state)
{
	(void)state;
	r.d.answers = false;
	strcpy(r.d.io_words, "generic netlink: no");
	rig_judge(doctor_module);
	rig_expect("answers", DOCTOR_ERROR, "does not answer: generic netlink: no",
		   NULL);
}

static void provider_missing(void **state)
{
	(void)state;
	r.h.module.provider = false;
	strcpy(r.snap_devs[0].provider, "generic");
	rig_judge(doctor_module);
	rig_expect_of("mlx5_0", "provider", DOCTOR_ERROR,
		      "swiftrdma_mlx5.ko is not loaded", "modprobe swiftrdma_mlx5");
	r.h.module.provider_installed = false;
	rig_judge(doctor_module);
	rig_expect("provider", DOCTOR_ERROR, NULL,
		   "make install && modprobe swiftrdma_mlx5");
	/* It is there, and does not have the device. */
	r.h.module.provider = true;
	rig_judge(doctor_module);
	rig_expect("provider", DOCTOR_ERROR, "(provider generic)",
		   "rmmod swiftrdma_mlx5 && modprobe swiftrdma_mlx5");
	/* a subfunction is of mlx5_core, too; another NIC is not */
	strcpy(r.devs[0].driver, "mlx5_core.sf");
	rig_judge(doctor_module);
	rig_expect("provider", DOCTOR_ERROR, NULL, NULL);
	strcpy(r.devs[0].driver, "bnxt_en");
	rig_judge(doctor_module);
	rig_fine();
}

static void loaded_at_boot(void **state)
{
	(void)state;
	r.h.unit = (struct host_unit){ .load = "loaded", .enabled = "enabled" };
	r.h.module.at_boot = true;
	rig_judge(doctor_module);
	rig_expect("boot", DOCTOR_WARNING, "nothing loads swiftrdma_mlx5 at boot",
		   "echo swiftrdma_mlx5 >/etc/modules-load.d/swiftrdma.conf");
	r.h.module.provider_at_boot = true;
	rig_judge(doctor_module);
	rig_fine();
	strcpy(r.devs[0].driver, "bnxt_en");
	r.h.module.provider_at_boot = r.h.module.at_boot = false;
	rig_judge(doctor_module);
	rig_expect("boot", DOCTOR_WARNING, NULL,
		   "echo swiftrdma >/etc/modules-load.d/swiftrdma.conf");
	strcpy(r.h.unit.enabled, "disabled");
	rig_judge(doctor_module);
	rig_fine();
}

/* --- kernel ---------------------------------------------------------------------- */

static void kernels(void **state)
{
	static const struct {
		const char *release;
		enum doctor_verdict verdict;
	} cases[] = {
		{ "5.15.0-91-generic", DOCTOR_ERROR },
		{ "6.0.19", DOCTOR_ERROR },
		{ "6.1.0-56-amd64", DOCTOR_FINE },
		{ "6.12.95+bpo", DOCTOR_FINE },
		{ "7.0-rc3", DOCTOR_FINE },
		{ "7.3.1", DOCTOR_FINE },
		{ "7.4.0", DOCTOR_WARNING },
		{ "8.0", DOCTOR_WARNING },
		{ "unknown", DOCTOR_UNSEEN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(r.h.kernel.release, cases[i].release);
		rig_judge(doctor_kernel);
		rig_expect("release", cases[i].verdict, NULL, "");
	}
}

static void kernel_lacks(void **state)
{
	(void)state;
	rig_judge(doctor_kernel);
	rig_fine();
	r.d.events = -EIO;
	strcpy(r.d.event_words, "event group: Object not found");
	rig_judge(doctor_kernel);
	rig_expect("events", DOCTOR_WARNING, "event group: Object not found", "");
	r.d.events = -EPERM;
	rig_judge(doctor_kernel);
	rig_expect("events", DOCTOR_UNSEEN, "CAP_NET_ADMIN", "");
	r.d.events = 0;
	r.snap_devs[0].has = 0;
	rig_judge(doctor_kernel);
	rig_expect("kprobes", DOCTOR_WARNING, "the provider's probes are off",
		   "rmmod swiftrdma_mlx5 && modprobe swiftrdma_mlx5 devx=1");
	r.h.kernel.kprobes = HOST_NO;
	rig_judge(doctor_kernel);
	rig_expect("kprobes", DOCTOR_WARNING, "CONFIG_KRETPROBES=y", "");
	/* Nothing else needs them. */
	strcpy(r.snap_devs[0].provider, "rxe");
	strcpy(r.devs[0].driver, "");
	rig_judge(doctor_kernel);
	rig_fine();
}

/* --- agent ------------------------------------------------------------------------ */

static void with_file(size_t jobs, size_t policies)
{
	static struct config_job job[2];

	job[0] = (struct config_job){ .name = "kv", .n_rules = 1 };
	job[1] = (struct config_job){ .name = "bulk", .n_rules = 1 };
	r.d.file_there = true;
	r.d.cfg = &r.cfg;
	r.d.diag = &r.diag;
	r.cfg.jobs = job;
	r.cfg.n_jobs = jobs;
	r.cfg.policies.n = policies;
}

static void with_agent(void)
{
	r.h.n_agents = 1;
	r.agents[0].pid = 100;
}

static void with_unit(const char *active, const char *enabled, uint32_t pid)
{
	r.h.unit = (struct host_unit){ .load = "loaded", .pid = pid };
	strcpy(r.h.unit.active, active);
	strcpy(r.h.unit.enabled, enabled);
}

static void agent_not_wanted(void **state)
{
	(void)state;
	rig_judge(doctor_agent);
	rig_fine();
	rig_expect("file", DOCTOR_FINE, "there is no policy file", "");
	rig_expect("runs", DOCTOR_FINE, "has nothing to do", "");
	with_file(0, 0);
	rig_judge(doctor_agent);
	rig_fine();
}

static void agent_missing(void **state)
{
	(void)state;
	with_file(2, 3);
	rig_judge(doctor_agent);
	rig_expect("runs", DOCTOR_WARNING,
		   "so /etc/swiftrdma/policy.yaml has no effect; jobs: 2, policies: 3",
		   "swiftrdma-agent --config /etc/swiftrdma/policy.yaml");
	with_unit("inactive", "disabled", 0);
	rig_judge(doctor_agent);
	rig_expect("runs", DOCTOR_WARNING, NULL,
		   "systemctl enable --now swiftrdma-agent");
	with_unit("failed", "enabled", 0);
	rig_judge(doctor_agent);
	rig_expect("runs", DOCTOR_ERROR, "it failed",
		   "systemctl reset-failed swiftrdma-agent && systemctl start swiftrdma-agent");
}

static void agent_runs(void **state)
{
	(void)state;
	with_file(0, 1);
	with_agent();
	rig_judge(doctor_agent);
	rig_fine();
	rig_expect("runs", DOCTOR_FINE, "process 100, with /etc/swiftrdma/policy.yaml",
		   "");
	with_unit("active", "enabled", 100);
	rig_judge(doctor_agent);
	rig_fine();
	rig_expect("runs", DOCTOR_FINE, "as a service", "");
	with_unit("active", "disabled", 100);
	rig_judge(doctor_agent);
	rig_expect("runs", DOCTOR_WARNING, "not be started at the next boot",
		   "systemctl enable swiftrdma-agent");
	r.agents[0].dry_run = true;
	rig_judge(doctor_agent);
	rig_expect("runs", DOCTOR_WARNING, "(--dry-run)", NULL);
}

static void agents_fight(void **state)
{
	(void)state;
	with_file(0, 1);
	with_agent();
	r.h.n_agents = 3;
	r.agents[1].pid = 200;
	r.agents[2] = (struct host_agent){ .pid = 300, .dry_run = true };
	rig_judge(doctor_agent);
	rig_expect("alone", DOCTOR_ERROR, "process 100 and process 200",
		   "kill 200");
	assert_int_equal(rig_count(DOCTOR_ERROR), 1);
	/* The service stays. */
	with_unit("active", "enabled", 200);
	rig_judge(doctor_agent);
	rig_expect("alone", DOCTOR_ERROR, NULL, "kill 100");
}

static void file_is_wrong(void **state)
{
	(void)state;
	with_file(0, 0);
	r.d.cfg = NULL;
	r.diag.name = r.d.file;
	r.diag.n = r.diag.total = 1;
	r.diag.v[0] = (struct diag_entry){
		.line = 7, .col = 3, .msg = "unknown knob 'job.levle'",
	};
	rig_judge(doctor_agent);
	rig_expect("file", DOCTOR_ERROR,
		   "/etc/swiftrdma/policy.yaml:7:3: unknown knob 'job.levle'",
		   "swiftrdma policy check /etc/swiftrdma/policy.yaml");
	/* A warning leaves it in force. */
	r.d.cfg = &r.cfg;
	r.diag.total = 0;
	r.diag.v[0].warning = true;
	rig_judge(doctor_agent);
	rig_expect("file", DOCTOR_WARNING, ":7:3: ", NULL);
	assert_int_equal(rig_count(DOCTOR_ERROR), 0);
}

static void with_job(const char *name, const char *origin)
{
	struct snap_job *j = &r.jobs[r.snap.n_jobs];

	strcpy(r.rules[r.snap.n_jobs].origin, origin);
	j->rules = &r.rules[r.snap.n_jobs++];
	j->n_rules = 1;
	strcpy(j->name, name);
}

/* The file changed, and nobody told the agent. */
static void agent_is_behind(void **state)
{
	(void)state;
	with_file(2, 1);
	with_agent();
	with_job("kv", "agent");
	with_job("bulk", "cli");
	rig_judge(doctor_agent);
	rig_expect_of("bulk", "jobs", DOCTOR_WARNING,
		      "the module does not have this job", "kill -HUP 100");
	with_unit("active", "enabled", 100);
	rig_judge(doctor_agent);
	rig_expect("jobs", DOCTOR_WARNING, NULL, "systemctl reload swiftrdma-agent");
	strcpy(r.rules[1].origin, "agent");
	rig_judge(doctor_agent);
	rig_fine();
	rig_expect("jobs", DOCTOR_FINE, "all 2 jobs", "");
	r.cfg.n_levels = 2;
	r.cfg.levels[0] = (struct config_level){ 3, 26, 3, true, true };
	r.cfg.levels[1] = (struct config_level){ 5, 40, 5, true, true };
	rig_judge(doctor_agent);
	rig_expect_of("level 3", "levels", DOCTOR_WARNING,
		      "says DSCP 26 and SL 3, and the module has DSCP 24 and SL 3", NULL);
	rig_expect_of("level 5", "levels", DOCTOR_WARNING, "no such level", NULL);
	/* Others cannot see it. */
	r.snap.admin = false;
	rig_judge(doctor_agent);
	rig_expect("lease", DOCTOR_UNSEEN, "CAP_NET_ADMIN", "");
	assert_null(rig_find("levels", ""));
}

static void agent_holds(void **state)
{
	(void)state;
	with_file(0, 1);
	with_agent();
	rig_judge(doctor_agent);
	rig_expect("lease", DOCTOR_FINE, "the agent holds no lease", "");
	r.d.n_actions = 2;
	r.actions[0] = (struct snap_action){
		.lease_origin = "cli", .lease_id = 4, .lease_ttl_ms = 60000,
	};
	r.actions[1] = (struct snap_action){
		.lease_origin = "agent", .lease_id = 7, .lease_ttl_ms = 1800,
	};
	rig_judge(doctor_agent);
	rig_expect("lease", DOCTOR_FINE,
		   "the agent holds lease 7, with 1 change and 1800 ms left", "");
}

/* --- devices ---------------------------------------------------------------------- */

static void devices_fine(void **state)
{
	(void)state;
	rig_judge(doctor_devices);
	rig_fine();
	rig_expect("function", DOCTOR_FINE,
		   "a physical function (PF) at 0000:03:00.0, driver mlx5_core, firmware 16.35.2000",
		   "");
	rig_expect_of("mlx5_0/1", "port", DOCTOR_FINE, "active, Ethernet, hca0", "");
	r.devs[0].function = HOST_VF;
	rig_judge(doctor_devices);
	rig_expect("function", DOCTOR_FINE, "a virtual function (VF)", "");
	r.devs[0].function = HOST_SF;
	rig_judge(doctor_devices);
	rig_expect("function", DOCTOR_FINE, "a subfunction (SF)", "");
	/* The module's answer goes before that of sysfs. */
	r.devs[0].function = HOST_PF;
	r.snap_devs[0].function = SWIFTRDMA_FUNCTION_REPRESENTOR;
	rig_judge(doctor_devices);
	rig_expect("function", DOCTOR_FINE,
		   "a physical function (PF) in switchdev mode, whose ports represent ports of the NIC's switch at 0000:03:00.0",
		   "");
	r.snap_devs[0].function = SWIFTRDMA_FUNCTION_VF;
	rig_judge(doctor_devices);
	rig_expect("function", DOCTOR_FINE, "a virtual function (VF)", "");
	r.snap_devs[0].function = SWIFTRDMA_FUNCTION_UNSPEC;
	rig_judge(doctor_devices);
	rig_expect("function", DOCTOR_FINE, "a physical function (PF) at", "");
	r.h.n_devs = r.h.n_ports = 0;
	rig_judge(doctor_devices);
	rig_expect("any", DOCTOR_WARNING, "no RDMA device", "modprobe mlx5_ib");
}

static void device_unknown(void **state)
{
	(void)state;
	r.snap.n_devs = 0;
	rig_judge(doctor_devices);
	rig_expect("known", DOCTOR_WARNING, "does not have this device", "dmesg | grep swiftrdma");
	r.d.armed = -ESHUTDOWN;
	rig_judge(doctor_devices);
	rig_fine();
	r.d.armed = 0;
	r.snap.n_devs = 1;
	r.snap_devs[0].untracked = 3;
	rig_judge(doctor_devices);
	rig_expect("untracked", DOCTOR_WARNING, "3 of its QPs", "");
}

static void ports(void **state)
{
	(void)state;
	r.ports[0].state = 1;
	r.nets[0].up = false;
	rig_judge(doctor_devices);
	rig_expect("port", DOCTOR_WARNING, "its interface hca0 is down",
		   "ip link set hca0 up");
	r.nets[0].up = true;
	rig_judge(doctor_devices);
	rig_expect("port", DOCTOR_WARNING, "check the cable", "");
	r.ports[0].link_layer = 1;
	r.ports[0].state = 2;
	r.h.n_nets = 0;
	rig_judge(doctor_devices);
	rig_expect("port", DOCTOR_ERROR, "no subnet manager",
		   "systemctl start opensm");
	r.ports[0].state = 1;
	rig_judge(doctor_devices);
	rig_expect("port", DOCTOR_WARNING, "check the cable", "");
	r.ports[0].state = 4;
	rig_judge(doctor_devices);
	rig_fine();
}

static void live_class(void **state)
{
	(void)state;
	r.snap_devs[0].caps = 0;
	rig_judge(doctor_devices);
	rig_expect("live_class", DOCTOR_WARNING, "firmware 16.35.2000 cannot",
		   "mstflint -d 0000:03:00.0 -i FIRMWARE.bin burn");
	/* Not for want of firmware. */
	strcpy(r.snap_devs[0].provider, "generic");
	rig_judge(doctor_devices);
	rig_expect("live_class", DOCTOR_FINE, "the driver cannot", "");
	r.ports[0].link_layer = 1;
	rig_judge(doctor_devices);
	rig_expect("live_class", DOCTOR_FINE, "on InfiniBand", "");
}

/* --- limits ------------------------------------------------------------------------- */

#define MIB	(1024ull * 1024)

static void limit_of_the_shell(void **state)
{
	(void)state;
	rig_judge(doctor_limits);
	rig_fine();
	r.h.self = (struct host_proc){
		.memlock = 8 * MIB, .memlock_hard = 8 * MIB,
	};
	rig_judge(doctor_limits);
	rig_expect_of("shell", "memlock", DOCTOR_WARNING,
		      "no more than 8 MiB of memory",
		      "printf '* - memlock unlimited\\n' >/etc/security/limits.d/rdma.conf  # as root; then log in anew");
	r.h.self.memlock_hard = HOST_NO_LIMIT;
	rig_judge(doctor_limits);
	rig_expect_of("shell", "memlock", DOCTOR_WARNING, NULL, "ulimit -l hard");
	r.h.self.memlock = 4096 * MIB;
	rig_judge(doctor_limits);
	rig_fine();
	rig_expect("memlock", DOCTOR_FINE, "may register 4 GiB", "");
	r.h.self.memlock = HOST_NO_LIMIT;
	rig_judge(doctor_limits);
	rig_fine();
	r.h.self.memlock = 8 * MIB;
	r.h.self.may_lock = true;
	rig_judge(doctor_limits);
	rig_fine();
}

static void limits_of_processes(void **state)
{
	(void)state;
	r.h.n_procs = 2;
	r.procs[0] = (struct host_proc){
		.pid = 77, .comm = "kv", .cgroup = "/system.slice/kv.service",
		.memlock = 64 * MIB, .memlock_hard = 64 * MIB,
		.pinned = 63 * MIB,
	};
	r.procs[1] = (struct host_proc){
		.pid = 78, .comm = "bulk", .memlock = HOST_NO_LIMIT,
		.pinned = 512 * MIB,
	};
	rig_judge(doctor_limits);
	rig_expect_of("kv, pid 77", "memlock", DOCTOR_ERROR,
		      "has registered 63 MiB of memory, and its limit is 64 MiB: the next registration will fail; its unit's limit is LimitMEMLOCK of kv.service",
		      "prlimit --pid 77 --memlock=unlimited:unlimited");
	rig_expect_of("bulk, pid 78", "memlock", DOCTOR_FINE, "512 MiB of memory, without a limit", "");
	rig_expect_of("processes", "memlock", DOCTOR_FINE, "1 of 2", "");
	r.procs[0].pinned = 32 * MIB;
	rig_judge(doctor_limits);
	rig_fine();
	r.procs[0].pinned = 64 * MIB;
	r.procs[0].may_lock = true;
	rig_judge(doctor_limits);
	rig_fine();
	r.h.procs_all = false;
	rig_judge(doctor_limits);
	rig_expect_of("processes", "memlock", DOCTOR_FINE, NULL, "");
	assert_int_equal(rig_count(DOCTOR_UNSEEN), 1);
	/* A process may call itself anything. */
	strcpy(r.procs[1].comm, "\033[2Jx");
	rig_judge(doctor_limits);
	rig_expect_of("?[2Jx, pid 78", "memlock", DOCTOR_FINE, NULL, "");
}

static void limits_of_units(void **state)
{
	struct doctor_unit units[] = {
		{ "kv", "kv.service", 8 * MIB },
		{ "bulk", "bulk.service", HOST_NO_LIMIT },
	};

	(void)state;
	r.d.units = units;
	r.d.n_units = 2;
	rig_judge(doctor_limits);
	rig_expect_of("kv.service", "memlock_unit", DOCTOR_WARNING,
		      "job kv: the service may register no more than 8 MiB",
		      "mkdir -p /etc/systemd/system/kv.service.d && printf '[Service]\\nLimitMEMLOCK=infinity\\n' >/etc/systemd/system/kv.service.d/memlock.conf && systemctl daemon-reload && systemctl restart kv.service");
	rig_expect_of("bulk.service", "memlock_unit", DOCTOR_FINE, "is infinity", "");
	assert_string_equal(doctor_service("/system.slice/kv.service"),
			    "kv.service");
	assert_string_equal(doctor_service("kv.service"), "kv.service");
	assert_null(doctor_service("/system.slice/*.service"));
	assert_null(doctor_service("/a.service/b"));
	assert_null(doctor_service("/x/it's.service"));
	assert_null(doctor_service("/x/.service"));
	assert_null(doctor_service(""));
	r.d.units = NULL;
}

static void limits_of_cgroups(void **state)
{
	(void)state;
	rig_judge(doctor_limits);
	rig_expect_of("cgroups", "rdma_max", DOCTOR_FINE, "no cgroup limits", "");
	r.h.n_maxima = 1;
	r.maxima[0] = (struct host_rdma_max){
		.cgroup = "/kv", .dir = "/sys/fs/cgroup/kv", .dev = "mlx5_0",
		.what = "hca_object", .max = 100, .current = 100,
	};
	rig_judge(doctor_limits);
	rig_expect_of("/kv mlx5_0", "rdma_max", DOCTOR_ERROR,
		      "100 of 100 objects (hca_object: QPs, CQs, MRs, PDs): creating another will fail",
		      "echo 'mlx5_0 hca_object=max' >'/sys/fs/cgroup/kv/rdma.max'");
	r.maxima[0].current = 90;
	rig_judge(doctor_limits);
	rig_expect("rdma_max", DOCTOR_WARNING, "90 of 100", NULL);
	r.maxima[0].current = 89;
	rig_judge(doctor_limits);
	rig_fine();
	/* Nothing at all is allowed. */
	strcpy(r.maxima[0].what, "hca_handle");
	r.maxima[0].max = r.maxima[0].current = 0;
	rig_judge(doctor_limits);
	rig_expect("rdma_max", DOCTOR_ERROR, "0 of 0 contexts (hca_handle)", NULL);
}

/* No command is offered for a cgroup whose path the shell or the terminal would interpret. */
static void limits_of_shaped_cgroups(void **state)
{
	struct host_rdma_max *m = &r.maxima[0];

	(void)state;
	r.h.n_maxima = 1;
	*m = (struct host_rdma_max){
		.cgroup = "/x'$(touch pwn)'", .dir = "/sys/fs/cgroup/x'$(touch pwn)'",
		.dev = "mlx5_0", .what = "hca_object", .max = 100, .current = 100,
	};
	rig_judge(doctor_limits);
	rig_expect("rdma_max", DOCTOR_ERROR,
		   "creating another will fail; no command is shown: the path has a quote", "");
	strcpy(m->cgroup, "/x\x1b[2J");
	strcpy(m->dir, "/sys/fs/cgroup/x\x1b[2J");
	rig_judge(doctor_limits);
	rig_expect("rdma_max", DOCTOR_ERROR,
		   "no command is shown: it has control characters", "");
	strcpy(m->cgroup, "/x\xc2\x9b" "2J");
	strcpy(m->dir, "/sys/fs/cgroup/x\xc2\x9b" "2J");
	rig_judge(doctor_limits);
	rig_expect("rdma_max", DOCTOR_ERROR,
		   "no command is shown: it has control characters", "");
	/* What io cuts is the path of another file. */
	memset(m->cgroup, 'a', 220);
	m->cgroup[0] = '/';
	m->cgroup[220] = '\0';
	snprintf(m->dir, sizeof(m->dir), "/sys/fs/cgroup%.200s", m->cgroup);
	rig_judge(doctor_limits);
	rig_expect("rdma_max", DOCTOR_ERROR, "no command is shown: the path is too long", "");
	assert_non_null(strstr(rig_find("rdma_max", "/aaa")->object, m->cgroup));
	m->cgroup[200] = '\0';
	rig_judge(doctor_limits);
	assert_non_null(strstr(rig_expect("rdma_max", DOCTOR_ERROR, NULL, NULL)->mend, m->cgroup));
}

/* A command that does not fit is left out. */
static void long_commands(void **state)
{
	char name[DOCTOR_MEND];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	doctor_say(&r.d, DOCTOR_AGENT, DOCTOR_ERROR, "file", "x", "bad");
	doctor_mend(&r.d, "swiftrdma policy check %s", name);
	rig_expect("file", DOCTOR_ERROR, "bad; no command is shown: it is too long", "");
}

/* --- policies ----------------------------------------------------------------------- */

static void capabilities(void **state)
{
	struct policy policies[2] = { 0 };
	struct doctor_policy can[4] = {
		{ "cache", "mlx5_0", "" },
		{ "port", "mlx5_0", "" },
		{ "cache", "rxe0", "nothing here tells dev.mtt_miss" },
		{ "port", "rxe0", "" },
	};

	(void)state;
	rig_judge(doctor_policies);
	assert_int_equal(r.d.n, 0);
	with_file(1, 2);
	strcpy(policies[0].name, "cache");
	strcpy(policies[1].name, "port");
	r.cfg.policies.v = policies;
	rig_judge(doctor_policies);
	rig_expect("capable", DOCTOR_UNSEEN, "without the module it is unknown", "");
	r.d.policies = can;
	r.d.n_policies = 4;
	rig_judge(doctor_policies);
	rig_fine();
	rig_expect_of("cache", "capable", DOCTOR_FINE,
		      "1 of 2 devices; it cannot run on rxe0, for example: nothing here tells dev.mtt_miss",
		      "");
	rig_expect_of("/etc", "capable", DOCTOR_FINE, "2 of 2 policies", "");
	strcpy(can[0].off, can[2].off);
	rig_judge(doctor_policies);
	rig_expect_of("cache", "capable", DOCTOR_WARNING,
		      "on no device of this host: nothing here tells dev.mtt_miss",
		      "swiftrdma policy check /etc/swiftrdma/policy.yaml on rxe0");
	rig_expect_of("/etc", "capable", DOCTOR_FINE, "1 of 2 policies", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOCTOR_TEST(module_fine),
		DOCTOR_TEST(module_unloaded),
		DOCTOR_TEST(module_disarmed),
		DOCTOR_TEST(module_of_another_version),
		DOCTOR_TEST(module_mute),
		DOCTOR_TEST(provider_missing),
		DOCTOR_TEST(loaded_at_boot),
		DOCTOR_TEST(kernels),
		DOCTOR_TEST(kernel_lacks),
		DOCTOR_TEST(agent_not_wanted),
		DOCTOR_TEST(agent_missing),
		DOCTOR_TEST(agent_runs),
		DOCTOR_TEST(agents_fight),
		DOCTOR_TEST(file_is_wrong),
		DOCTOR_TEST(agent_is_behind),
		DOCTOR_TEST(agent_holds),
		DOCTOR_TEST(devices_fine),
		DOCTOR_TEST(device_unknown),
		DOCTOR_TEST(ports),
		DOCTOR_TEST(live_class),
		DOCTOR_TEST(limit_of_the_shell),
		DOCTOR_TEST(limits_of_processes),
		DOCTOR_TEST(limits_of_units),
		DOCTOR_TEST(limits_of_cgroups),
		DOCTOR_TEST(limits_of_shaped_cgroups),
		DOCTOR_TEST(long_commands),
		DOCTOR_TEST(capabilities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
