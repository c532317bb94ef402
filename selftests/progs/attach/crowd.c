// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Many processes of one job, each with an attachment and some QPs, that post nothing. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"

static int be_there(const char *dev_name, unsigned int qps, uint32_t slots)
{
	struct ibv_cq *cq;
	struct vdev dev;
	struct share s;

	if (vdev_open(&dev, dev_name) || share_open(&s, dev_name, slots))
		return 1;
	cq = ibv_create_cq(dev.ctx, 8, NULL, NULL, 0);
	for (unsigned int i = 0; cq && i < qps; i++) {
		struct ibv_qp *qp = vqp_small(&dev, cq);

		if (!qp)
			return 1;
		if (i < s.slots)
			slot_begin(&s, i, qp->qp_num, i + 1)->post_owner.wrs = 1;
	}
	share_begin(&s, 1);
	for (int k = 0; k < __SWIFTRDMA_SHARE_KNOB_MAX; k++)
		s.report->knob[k].state = SWIFTRDMA_KNOB_STATE_IDLE;
	return !cq;
}

/* Prints "ready", and ends with its input. */
int crowd(const char *dev_name, unsigned int n, unsigned int qps, uint32_t slots)
{
	int up[2], status = 0;
	char byte = 0;
	pid_t pid;

	if (pipe(up))
		return 2;
	for (unsigned int i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			return 2;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		byte = (char)be_there(dev_name, qps, slots);
		if (write(up[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	for (unsigned int i = 0; i < n; i++)
		if (read(up[0], &byte, 1) != 1 || byte)
			status = 1;
	puts(status ? "failed" : "ready");
	while (read(0, &byte, 1) > 0)
		;
	return status;
}
