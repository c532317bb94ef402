// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What libraries in processes reported of the objects in cli->snap. */
#include "cli/cli.h"

struct reading cli_reading(const struct cli *cli)
{
	return (struct reading){
		.snap = &cli->snap, .older = cli->out.rates ? &cli->older : NULL,
		.sig = &cli->sig, .crowd = &cli->crowd, .running = &cli->running,
	};
}

const struct snap_qp_report *view_qp_report(const struct cli *cli, const struct snap_qp *qp)
{
	return reading_qp_report(&cli->snap, qp);
}

bool view_qp_times(const struct cli *cli, const struct snap_qp *qp, struct snap_figures *f)
{
	struct reading r = cli_reading(cli);

	return reading_qp_times(&r, qp, f);
}

bool view_unseen(const struct cli *cli, const struct snap_qp *qp, struct reading_unseen *u)
{
	struct reading r = cli_reading(cli);

	return reading_unseen(&r, qp, u);
}

bool view_quantile(const struct cli *cli, const struct snap_job *job, double q,
		   struct signal_quantile *to)
{
	struct reading r = cli_reading(cli);

	return reading_quantile(&r, job, q, to);
}

const struct snap_job_report *view_job_report(const struct cli *cli, uint32_t job, uint32_t dev)
{
	return reading_job_report(&cli->snap, job, dev);
}

struct snap_figures view_job_times(const struct cli *cli, const struct snap_job_report *r)
{
	const struct snap_job_report *old = cli->out.rates ? view_older_report(cli, r) : NULL;

	return reading_times_since(old ? &old->sum : NULL, &r->sum);
}

const struct snap_job_report *view_older_report(const struct cli *cli,
						const struct snap_job_report *r)
{
	const struct snap_job_report *old = reading_job_report(&cli->older, r->job, r->dev);

	return old && old->sum.since == r->sum.since ? old : NULL;
}
