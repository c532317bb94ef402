// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Processes: children of an attached one, and one that does what a suite tells it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"

static struct vdev dev;
static struct share s;
static struct ibv_cq *cq;

/* In a child: 0 if it has nothing of its parent's attachment. */
static int child_has_nothing(const char *dev_name)
{
	struct swiftrdma_ask ask = { .size = sizeof(ask) };
	struct share own;

	if (door_ioctl(SWIFTRDMA_IOC_ASK, &ask) != -ENXIO)
		return 1;
	/* The context is its parent's. */
	if (share_open(&own, dev_name, 1) != -ENXIO)
		return 2;
	return 0;
}

/* A context of its own, an attachment of its own, beside its parent's. */
static int child_attaches(const char *dev_name)
{
	struct reported r;
	struct share own;
	struct vdev mine;

	if (vdev_open(&mine, dev_name) || share_open(&own, dev_name, 1))
		return 1;
	share_begin(&own, 1);
	own.report->gone.wrs = 100;
	if (read_job_report(mine.index, 0, &r) || r.value[SWIFTRDMA_REPORT_A_PROCESSES] != 2 ||
	    s.control->state != SWIFTRDMA_CONTROL_LIVE)
		return 2;
	share_close(&own);
	vdev_close(&mine);
	return 0;
}

static int status_of(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* fork() and a raw clone(), which no library hears of. */
static pid_t make_child(bool raw)
{
	return raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
}

static void children(const char *dev_name, bool raw)
{
	const char *how = raw ? "raw clone" : "fork";
	pid_t pid = make_child(raw);
	int ret;

	if (!pid)
		_exit(child_has_nothing(dev_name));
	ret = status_of(pid);
	point(ret == 0, "%s: a child has no attachment, and gets none by its parent's context (%d)",
	      how, ret);
	pid = make_child(raw);
	if (!pid)
		_exit(child_attaches(dev_name));
	ret = status_of(pid);
	point(ret == 0, "%s: with a context of its own it has one of its own (%d)", how, ret);
	point(s.control->state == SWIFTRDMA_CONTROL_LIVE, "%s: its parent's goes on", how);
}

/* A child keeps the context of its parent open; the attachment ends with the parent. */
static void orphan(const char *dev_name)
{
	int said[2], go[2];
	struct reported r;
	uint64_t before, now;
	char byte = 0;
	pid_t pid;

	read_job_report(dev.index, 0, &r);
	before = r.value[SWIFTRDMA_REPORT_A_PROCESSES];
	if (pipe(said) || pipe(go))
		return;
	pid = fork();
	if (!pid) {
		struct vdev mine;
		struct share own;

		if (vdev_open(&mine, dev_name) || share_open(&own, dev_name, 1))
			_exit(1);
		if (!fork()) {
			close(go[1]);
			byte = !!write(said[1], "x", 1);
			byte = !!read(go[0], &byte, 1);
			_exit(own.control->state != SWIFTRDMA_CONTROL_ENDED);
		}
		_exit(0);
	}
	point(status_of(pid) == 0 && read(said[0], &byte, 1) == 1,
	      "a process attaches, leaves its context to a child, and ends");
	read_job_report(dev.index, 0, &r);
	now = r.value[SWIFTRDMA_REPORT_A_PROCESSES];
	point(now == before, "its attachment ends with it (%lu, %lu before)", now, before);
	close(go[1]);
	close(go[0]);
}

int test_family(const char *dev_name)
{
	struct reported r;

	if (vdev_open(&dev, dev_name))
		return 2;
	if (share_open(&s, dev_name, 1)) {
		point(false, "attach");
		return 1;
	}
	share_begin(&s, 1);
	children(dev_name, false);
	children(dev_name, true);
	read_job_report(dev.index, 0, &r);
	point(r.value[SWIFTRDMA_REPORT_A_PROCESSES] == 1, "children that ended are not counted");
	point(r.value[SWIFTRDMA_REPORT_A_WRS] >= 200, "what they reported is");
	orphan(dev_name);
	vdev_close(&dev);
	/* The last child may still hold it. */
	for (int i = 0; i < 100 && s.control->state != SWIFTRDMA_CONTROL_ENDED; i++)
		usleep(100000);
	point(s.control->state == SWIFTRDMA_CONTROL_ENDED,
	      "the attachment ends when the context is closed");
	share_close(&s);
	return !!failed_points;
}

/*
 * The shell:
 *
 *	comm NAME	ok: it is called so
 *	open DEV	ok
 *	close		ok
 *	attach SLOTS	ok, or: error ERRNO
 *	slots		slots N: that it got
 *	qp		qp QPN
 *	destroy		ok: the youngest QP is gone
 *	post		ok: a call of ibv_post_send() on it, which need not work
 *	calls I N	ok: so many calls, slot I says
 *	slot I QPN GENERATION WRS [FLAGS]	ok
 *	state		none|live|ended
 *	job		job NAME refused 0|1 slo NS
 *	ask [NAME [NS]]	ok, or: error ERRNO; - is no name
 *	asks N NAME	asked: so many wishes in turn for NAME and for nothing, how many were taken
 *	door		ok: the door stays open
 *	library on|off	ok: a thread obeys the knobs in control
 *	want RATE	ok: what that thread would send, WR/s
 *	swing MS	ok: it sends half and one and a half of its share in turn; 0: no more
 *	wait on|off	ok: its posts wait for credits all the time
 *	says KNOB STATE VALUE	ok: what the report says of a knob, in answer to control
 *	knobs		knobs [NAME VALUE for MS]...
 *	files		files REPORT CONTROL: their descriptors
 */
static char dev_name[64];
static bool attached;

static int answer(int err)
{
	if (err)
		printf("error %s\n", strerrorname_np(-err));
	else
		puts("ok");
	return 0;
}

static int do_attach(const char *args)
{
	struct share fresh;
	int err = share_open(&fresh, dev_name, (uint32_t)strtoul(args, NULL, 10));

	if (!err) {
		if (attached)
			share_close(&s);
		s = fresh;
		attached = true;
		share_begin(&s, 1);
	}
	return answer(err);
}

static int ask_for(const char *name, uint64_t slo)
{
	struct swiftrdma_ask ask = { .size = sizeof(ask), .slo_p99_ns = slo };

	snprintf(ask.job, sizeof(ask.job), "%s", name);
	return door_ioctl(SWIFTRDMA_IOC_ASK, &ask);
}

static int do_ask(const char *args)
{
	char name[64] = "";
	uint64_t slo = 0;

	sscanf(args, "%63s %lu", name, &slo);
	return answer(ask_for(strcmp(name, "-") ? name : "", slo));
}

static int do_asks(const char *args)
{
	unsigned int n = 0, taken = 0, often = 0;
	char name[64] = "";

	sscanf(args, "%u %63s", &n, name);
	for (unsigned int i = 0; i < n; i++) {
		int err = ask_for(i % 2 ? "" : name, 0);

		taken += !err;
		often += err == -EAGAIN;
	}
	printf("asked: %u taken %u too often\n", taken, often);
	return 0;
}

static int do_job(void)
{
	struct swiftrdma_control_job job;

	if (attached && control_job(&s, &job))
		printf("job %s refused %u slo %lu\n", job.name, job.refused,
		       (unsigned long)job.slo_p99_ns);
	else
		puts("job - refused - slo -");
	return 0;
}

static int do_state(void)
{
	static const char *const names[] = { "none", "live", "ended" };

	puts(attached && s.control->state < 3 ? names[s.control->state] : "?");
	return 0;
}

static struct ibv_qp *qp;	/* the youngest */

static int do_qp(void)
{
	if (!cq)
		cq = ibv_create_cq(dev.ctx, 8, NULL, NULL, 0);
	qp = cq ? vqp_small(&dev, cq) : NULL;
	if (!qp)
		return answer(-errno);
	printf("qp %u\n", qp->qp_num);
	return 0;
}

static int do_slot(const char *args)
{
	uint32_t i, qpn, flags = 0;
	uint64_t generation, wrs;

	if (!attached ||
	    sscanf(args, "%u %u %lu %lu %u", &i, &qpn, &generation, &wrs, &flags) < 4)
		return answer(-EINVAL);
	if (s.slot[i].id.generation != generation)
		slot_begin(&s, i, qpn, generation);
	s.slot[i].id.flags = flags;
	s.slot[i].post_owner.wrs = wrs;
	return answer(0);
}

/* Which QP carries the requests of the slot's, the process says. */
static int do_carrier(const char *args)
{
	uint32_t i, qpn;

	if (!attached || sscanf(args, "%u %u", &i, &qpn) != 2)
		return answer(-EINVAL);
	s.slot[i].id.now_qpn = qpn;
	return answer(0);
}

static int do_post(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	if (!qp)
		return answer(-EINVAL);
	ibv_post_send(qp, &wr, &bad);
	return answer(0);
}

static int do_calls(const char *args)
{
	uint64_t calls;
	uint32_t i;

	if (!attached || sscanf(args, "%u %lu", &i, &calls) != 2)
		return answer(-EINVAL);
	s.slot[i].post_owner.calls = calls;
	return answer(0);
}

static int do_destroy(void)
{
	int err = qp ? ibv_destroy_qp(qp) : EINVAL;

	qp = NULL;
	return answer(-err);
}

/* Register a page that lives as long as the process. */
static int do_register(void)
{
	void *page = aligned_alloc(4096, 4096);

	return answer(page && ibv_reg_mr(dev.pd, page, 4096, 0) ? 0 : -errno);
}

static int obey(const char *line)
{
	char word[16] = "", args[64] = "";

	sscanf(line, "%15s %63[^\n]", word, args);
	if (!strcmp(word, "comm"))
		return answer(prctl(PR_SET_NAME, args) ? -errno : 0);
	if (!strcmp(word, "open")) {
		snprintf(dev_name, sizeof(dev_name), "%s", args);
		return answer(vdev_open(&dev, args) ? -ENODEV : 0);
	}
	if (!strcmp(word, "close")) {
		vdev_close(&dev);
		return answer(0);
	}
	if (!strcmp(word, "attach"))
		return do_attach(args);
	if (!strcmp(word, "slots"))
		return printf("slots %u\n", s.slots) < 0;
	if (!strcmp(word, "qp"))
		return do_qp();
	if (!strcmp(word, "destroy"))
		return do_destroy();
	if (!strcmp(word, "register"))
		return do_register();
	if (!strcmp(word, "post"))
		return do_post();
	if (!strcmp(word, "calls"))
		return do_calls(args);
	if (!strcmp(word, "slot"))
		return do_slot(args);
	if (!strcmp(word, "carrier"))
		return do_carrier(args);
	if (!strcmp(word, "state"))
		return do_state();
	if (!strcmp(word, "job"))
		return do_job();
	if (!strcmp(word, "ask"))
		return do_ask(args);
	if (!strcmp(word, "asks"))
		return do_asks(args);
	if (!strcmp(word, "library"))
		return answer(attached ? knobs_library(&s, !strcmp(args, "on")) : -EINVAL);
	if (!strcmp(word, "want")) {
		knobs_want(strtod(args, NULL));
		return answer(0);
	}
	if (!strcmp(word, "swing")) {
		knobs_swing((unsigned int)strtoul(args, NULL, 10));
		return answer(0);
	}
	if (!strcmp(word, "wait")) {
		knobs_wait(!strcmp(args, "on"));
		return answer(0);
	}
	if (attached && !strcmp(word, "says"))
		return answer(knobs_say(&s, args));
	if (attached && !strcmp(word, "files"))
		return printf("files %d %d\n", s.report_fd, s.control_fd) < 0;
	if (attached && !strcmp(word, "knobs")) {
		knobs_show(&s);
		return 0;
	}
	if (!strcmp(word, "door"))
		return answer(open(SWIFTRDMA_SHARE_PATH, O_RDONLY) < 0 ? -errno : 0);
	return answer(-ENOSYS);
}

int obey_shell(void)
{
	return obey_lines(obey);
}
