// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>

#include "cli/qp_filter.h"
#include "core/rule.h"

static bool owner_wanted(const struct snap_rule *rule, const struct snap_owner *o)
{
	if (!rule->comm[0] && !rule->cgroup[0] && !rule->has_uid && !rule->has_pid)
		return true;
	return o && rule_matches(rule, o);
}

/* An empty word would be no filter at all. */
static int text_filter(struct args *args, const char *what, char *to, size_t cap)
{
	struct text t;
	const char *s;

	if (args_value(args, what, &s))
		return CLI_USAGE;
	text_init(&t, to, cap);
	text_str(&t, s);
	if (!*s || t.cut)
		return args_bad("%s: '%s' is %s", what, s,
				*s ? "longer than any" : "empty");
	return CLI_OK;
}

bool qp_wanted(const struct cli *cli, const void *row, const void *arg)
{
	const struct snap_qp *qp = row;
	const struct qp_filter *f = arg;

	if (f->has_type && qp->type != f->type)
		return false;
	if (f->has_state && (!snap_has(qp, SNAP_STATE) || qp->state != f->state))
		return false;
	if (f->has_uar && (!snap_has(qp, SNAP_UAR) || qp->uar != f->uar))
		return false;
	if (f->has_port && (!snap_has(qp, SNAP_PORT) || qp->port != f->port))
		return false;
	return owner_wanted(&f->owner, view_owner(cli, snap_has(qp, SNAP_OWNER), qp->owner));
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
		return args_bad("%s: '%s' is not %s", what, s, units_describe(unit));
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
		f->owner.has_pid = true;
		if (args_u32(args, "pid", INT32_MAX, &f->owner.pid))
			return CLI_USAGE;
		want->pid = f->owner.pid;
		return CLI_OK;
	case JOB:
		return args_value(args, "job", &want->job);
	case COMM:
		return text_filter(args, "comm", f->owner.comm, sizeof(f->owner.comm));
	case UID:
		f->owner.has_uid = true;
		return args_u32(args, "uid", UINT32_MAX, &f->owner.uid);
	case TYPE:
		return word_filter(args, "type", UNIT_TYPE, &f->has_type, &f->type);
	case STATE:
		return word_filter(args, "state", UNIT_STATE, &f->has_state, &f->state);
	case CGROUP:
		return text_filter(args, "cgroup", f->owner.cgroup, sizeof(f->owner.cgroup));
	}
	if (args_is_option(word))
		return args_no_option(word);
	return args_bad("'%s' is not a filter; filters are dev, port, uar, qpn, pid, job, comm, uid, type, state and cgroup, and sort and top",
			word);
}
