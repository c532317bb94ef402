// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <fnmatch.h>
#include <string.h>

#include "cli/qp_filter.h"

static bool owner_wanted(const struct qp_filter *f, const struct snap_owner *o)
{
	if (!f->comm && !f->cgroup && !f->has_uid && !f->has_pid)
		return true;
	if (!o || (f->has_uid && (o->kernel[0] || o->uid != f->uid)))
		return false;
	if (f->has_pid && (o->kernel[0] || o->pid != f->pid))
		return false;
	if (f->comm && strcmp(f->comm, o->comm))
		return false;
	/* As the module's own rules match: a star also stands for slashes. */
	return !f->cgroup || !fnmatch(f->cgroup, o->cgroup, 0);
}

bool qp_wanted(const struct cli *cli, const void *row, const void *arg)
{
	const struct snap_qp *qp = row;
	const struct qp_filter *f = arg;

	if (f->has_type && qp->type != f->type)
		return false;
	if (f->has_state &&
	    (!snap_has(qp, SNAP_STATE) || qp->state != f->state))
		return false;
	if (f->has_uar && (!snap_has(qp, SNAP_UAR) || qp->uar != f->uar))
		return false;
	if (f->has_port && (!snap_has(qp, SNAP_PORT) || qp->port != f->port))
		return false;
	return owner_wanted(f, view_owner(cli, snap_has(qp, SNAP_OWNER), qp->owner));
}

static int word_filter(struct args *args, const char *what, enum unit unit,
		       bool *has, double *v)
{
	char upper[16];
	const char *s;

	if (args_value(args, what, &s))
		return CLI_USAGE;
	for (size_t i = 0; i < sizeof(upper); i++) {
		upper[i] = s[i] >= 'a' && s[i] <= 'z' ? s[i] - 32 : s[i];
		if (!s[i])
			break;
	}
	upper[sizeof(upper) - 1] = '\0';
	*has = true;
	if (vocab_word(unit, upper, strlen(upper), v))
		return args_bad("%s: '%s' is not %s", what, s,
				units_describe(unit));
	return CLI_OK;
}

enum { DEV, PORT, UAR, QPN, PID, JOB, COMM, UID, TYPE, STATE, CGROUP };

static const char *const keywords[] = {
	"dev", "port", "uar", "qpn", "pid", "job", "comm", "uid", "type",
	"state", "cgroup", NULL,
};

int qp_filter_parse(struct args *args, struct io_want *want,
		    struct qp_filter *f, struct sorting *sorting)
{
	const char *word = args_next(args);
	int k = sort_parse(args, word, sorting);

	if (k >= 0)
		return k;
	k = args_match(keywords, word);

	switch (k) {
	case DEV:
		return args_value(args, "dev", &want->dev);
	case PORT:
		f->has_port = true;
		if (args_u32(args, "port", UINT32_MAX, &f->port))
			return CLI_USAGE;
		want->port = f->port;
		return CLI_OK;
	case UAR:
		f->has_uar = true;
		if (args_u32(args, "uar", UINT32_MAX, &f->uar))
			return CLI_USAGE;
		want->uar = f->uar;
		return CLI_OK;
	case QPN:
		want->has_qpn = true;
		return args_u32(args, "qpn", 0xffffff, &want->qpn);
	case PID:
		f->has_pid = true;
		if (args_u32(args, "pid", INT32_MAX, &f->pid))
			return CLI_USAGE;
		want->pid = f->pid;
		return CLI_OK;
	case JOB:
		return args_value(args, "job", &want->job);
	case COMM:
		return args_value(args, "comm", &f->comm);
	case UID:
		f->has_uid = true;
		return args_u32(args, "uid", UINT32_MAX, &f->uid);
	case TYPE:
		return word_filter(args, "type", UNIT_TYPE, &f->has_type,
				   &f->type);
	case STATE:
		return word_filter(args, "state", UNIT_STATE, &f->has_state,
				   &f->state);
	case CGROUP:
		return args_value(args, "cgroup", &f->cgroup);
	}
	if (args_is_option(word))
		return args_late_option(word);
	return args_bad("'%s' is no filter; there are dev, port, uar, qpn, pid, job, comm, uid, type, state and cgroup, and sort and top",
			word);
}
