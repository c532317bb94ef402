// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Owners of QPs as labels: what paths of cgroups tell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "exporter/owner_name.h"

#define ID "4f5c0a1b2c3d4e5f60718293a4b5c6d7e8f9010203040506070809aabbccddee"

static void paths(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{ "/kv", "cgroup:/kv" },
		{ "/", "cgroup:/" },
		{ "/system.slice/kv.service", "unit:kv.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/kv.service",
		  "unit:kv.service" },
		{ "/user.slice/user-1000.slice/session-3.scope", "unit:session-3.scope" },
		{ "/system.slice/kv.service/worker", "unit:kv.service" },
		/* Slurm: cgroup v1, v2, v2 with several daemons on a node. */
		{ "/slurm/uid_1000/job_4711/step_0", "slurm:4711" },
		{ "/system.slice/slurmstepd.scope/job_4711/step_batch/user/task_0", "slurm:4711" },
		{ "/system.slice/node1_slurmstepd.scope/job_12/step_0", "slurm:12" },
		{ "/jobs/job_4711", "cgroup:/jobs/job_4711" },
		{ "/slurm/job_x", "cgroup:/slurm/job_x" },
		/* Docker, containerd, CRI-O, Podman. */
		{ "/docker/" ID, "container:4f5c0a1b2c3d" },
		{ "/system.slice/docker-" ID ".scope", "container:4f5c0a1b2c3d" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-" ID ".scope",
		  "container:4f5c0a1b2c3d" },
		{ "/kubepods/burstable/pod1/" ID, "container:4f5c0a1b2c3d" },
		{ "/machine.slice/libpod-" ID ".scope/container", "container:4f5c0a1b2c3d" },
		/* A job of Slurm in a container is the job. */
		{ "/docker/" ID "/slurm/uid_1/job_5", "slurm:5" },
		{ "/docker/x" ID, "cgroup:/docker/x" ID },
		{ "/a\nb", "cgroup:/a?b" },
	};
	struct snap_owner owner = { .pid = 1 };
	char buf[OWNER_NAME];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(owner.cgroup, 0, sizeof(owner.cgroup));
		memcpy(owner.cgroup, cases[i].path, strlen(cases[i].path));
		assert_string_equal(owner_name(&owner, buf), cases[i].name);
	}
}

static void others(void **state)
{
	struct snap_owner owner = { .kernel = "nvme_rdma" };
	char buf[OWNER_NAME];

	(void)state;
	assert_string_equal(owner_name(&owner, buf), "kernel:nvme_rdma");
	assert_string_equal(owner_name(NULL, buf), "unknown");
	owner.kernel[0] = '\0';
	assert_string_equal(owner_name(&owner, buf), "unknown");
	/* The longest path of all is cut. */
	memset(owner.cgroup, 'x', sizeof(owner.cgroup) - 1);
	owner.cgroup[0] = '/';
	assert_int_equal(strlen(owner_name(&owner, buf)), OWNER_NAME - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
