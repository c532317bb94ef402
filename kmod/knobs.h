/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Knobs of a job that the libraries in its processes enforce. override.c decides which are in
 * force; each process finds its share in the job's block of its control.
 */
#ifndef SRDMA_KNOBS_H
#define SRDMA_KNOBS_H

#include "job.h"
#include "knob_table.h"

struct pid;
struct srdma_share;

/*
 * @share_knob below is an enum swiftrdma_share_knob; srdma_share_knob_of() translates an enum
 * swiftrdma_knob to it.
 */

/* Does the device itself enforce this knob? Then libraries do not. */
bool srdma_knob_is_dev(const struct srdma_dev *dev, int share_knob);

/*
 * Put @to, which has an element for each knob of libraries, in force for the job. Writes to memory
 * only, and does not wait for the processes. srdma_ctl_lock; takes srdma_share_lock.
 */
void srdma_knobs_set(struct srdma_job_dev *jd, const struct srdma_job_knob *to);

/* Is there a process of the job whose library can enforce the knob? Takes srdma_share_lock. */
bool srdma_knobs_possible(struct srdma_job_dev *jd, int share_knob);

/* What the library in a process does about a knob of the job. */
enum srdma_knob_answer {
	SRDMA_KNOB_NOBODY,	/* there is no library, or it cannot enforce the knob */
	SRDMA_KNOB_WAITS,	/* the library has not answered the last change yet */
	SRDMA_KNOB_OBEYS,	/* the library enforces what the control page says */
};

/*
 * Read what the library of each process of the job does about the knob. May sleep; under
 * srdma_share_lock.
 */
void srdma_knobs_ask(struct srdma_job_dev *jd, int share_knob);
/*
 * What srdma_knobs_ask() found for a process. The caller has held the lock since. Does not sleep.
 */
enum srdma_knob_answer srdma_knob_answer(const struct srdma_job_dev *jd, const struct pid *pid,
					 int share_knob);
/* How many processes of the job can enforce the knob, and how many do. srdma_share_lock. */
void srdma_knobs_count(const struct srdma_job_dev *jd, int share_knob, u32 *able, u32 *in_force);

/* What the library in the process says of the knob, enum swiftrdma_knob_state. srdma_share_lock. */
u32 srdma_knob_state(const struct srdma_share *s, int share_knob);
/*
 * Raise the change counter of the job's block, so that the process reads its control file again.
 * srdma_share_lock.
 */
void srdma_knobs_touch(struct srdma_share *s);

/* report.c, under srdma_share_lock: the process has joined its job; it has left its job. */
void srdma_knobs_join(struct srdma_share *s);
void srdma_knobs_leave(struct srdma_share *s, struct srdma_job_dev *from);

/* There is no attachment any more. */
void srdma_knobs_exit(void);

#endif /* SRDMA_KNOBS_H */
