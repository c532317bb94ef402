// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* As many leases and jobs as there can be, and one more. */
#include <errno.h>
#include <stdio.h>

#include "netlink_bad.h"

/* There is one lease already. */
void try_leases(void)
{
	static uint64_t ids[SWIFTRDMA_LEASES_MAX + 1];
	struct rawnl_reply reply;
	int n, err = 0;

	for (n = 0; n <= SWIFTRDMA_LEASES_MAX; n++) {
		err = rawnl_do(&nl, SWIFTRDMA_CMD_ACT, false, "lease{origin=full ttl_ms=600000}",
			       NULL, &reply, take_lease, &ids[n]);
		if (err)
			break;
	}
	printf("# %d leases more, then %d \"%s\"\n", n, err, reply.message);
	point(n == SWIFTRDMA_LEASES_MAX - 1 && err == -ENOSPC && reply.message[0],
	      "leases: as many as there can be, then ENOSPC");
	while (n--)
		end_lease(ids[n]);
}

/* There are "unassigned" and one job already. */
void try_jobs(void)
{
	char text[128];
	struct rawnl_reply reply;
	int n, err = 0;

	for (n = 0; n <= SWIFTRDMA_JOBS_MAX; n++) {
		snprintf(text, sizeof(text), "job_obj{name=full%d origin=full rule{uid=12345}}", n);
		err = rawnl_do(&nl, SWIFTRDMA_CMD_JOB_SET, false, text, NULL, &reply, NULL, NULL);
		if (err)
			break;
	}
	printf("# %d jobs more, then %d \"%s\"\n", n, err, reply.message);
	point(n == SWIFTRDMA_JOBS_MAX - 2 && err == -ENOSPC && reply.message[0],
	      "jobs: as many as there can be, then ENOSPC");
	err = rawnl_do(&nl, SWIFTRDMA_CMD_JOB_GET, true, "", NULL, &reply, NULL, NULL);
	point(!err && reply.answers == SWIFTRDMA_JOBS_MAX && reply.count == SWIFTRDMA_JOBS_MAX,
	      "a dump of them is complete");
	while (n--) {
		snprintf(text, sizeof(text), "job_obj{name=full%d origin=full}", n);
		rawnl_do(&nl, SWIFTRDMA_CMD_JOB_DEL, false, text, NULL, &reply, NULL, NULL);
	}
}
