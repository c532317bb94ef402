/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What the parts of the program attach have in common: attachments without a library. */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rdma/swiftrdma.h>
#include <rdma/swiftrdma_share.h>

#include "rawnl.h"
#include "stat.h"
#include "verbs.h"

/* An attachment. The descriptors stay open. */
struct share {
	int report_fd, control_fd;
	size_t report_size, control_size;
	uint32_t slots;
	struct swiftrdma_report *report;
	const struct swiftrdma_control *control;
	struct swiftrdma_hist *latency, *hol;
	struct swiftrdma_slot *slot;
};

/* What REPORT_GET said of a job, or of a QP. */
struct reported {
	bool found;
	unsigned int n;		/* messages that fit */
	bool has[SWIFTRDMA_REPORT_A_MAX + 1];
	uint64_t value[SWIFTRDMA_REPORT_A_MAX + 1];
	uint64_t bucket[SWIFTRDMA_HIST_BUCKETS];
};

/* "ok - NAME" or "not ok - NAME"; failed_points counts the latter. */
void point(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
extern int failed_points;

int open_fds(void);
/* The ioctl on a door of its own; 0 or -errno. */
int door_ioctl(unsigned long cmd, void *arg);
int share_open(struct share *s, const char *dev_name, uint32_t slots);
void share_close(struct share *s);
/* Write a header, so that the module reads the report. */
void share_begin(struct share *s, uint64_t generation);
/* Slot @i is of this QP, with no figures. */
struct swiftrdma_slot *slot_begin(struct share *s, uint32_t i, uint32_t qpn, uint64_t generation);
/* The job that control has. False: control is not live. */
bool control_job(const struct share *s, struct swiftrdma_control_job *job);

/* @key: a job's id, or a QP's number. 0 or -errno. */
int read_job_report(uint32_t dev, uint32_t job, struct reported *r);
int read_qp_report(uint32_t dev, uint32_t qpn, struct reported *r);
/* All that there is, a line each. @cached: as it was read last. */
int show_reports(bool cached);
/* Call @each for every report, of jobs and of QPs. */
int each_report(void (*each)(const struct reported *r));

/* knobs.c: obey the knobs in control by a thread, or no more; 0 or -errno. */
int knobs_library(struct share *s, bool on);
/* WR/s that this process would send if no knob held it. */
void knobs_want(double rate);
/* It sends half of its share and one and a half in turn, for so long each; 0: no more. */
void knobs_swing(unsigned int ms);
/* Posts of it wait for credits all the time, as far as it reports. */
void knobs_wait(bool on);
/* "KNOB STATE VALUE": what the report says of a knob, in answer to what control has now. */
int knobs_say(struct share *s, const char *args);
/* The job's knobs in control: "knobs NAME VALUE for MS ...". */
void knobs_show(const struct share *s);
/*
 * Print the WR/s that processes send together, and "late" if the machine gave no time in between;
 * @paths are descriptors of their reports.
 */
int knobs_measure(unsigned int ms, char **paths, int n);
/* Print "late" if that happens within @ms. */
int knobs_calm(unsigned int ms);
/* Check that shares never add up to more than @total; @paths are descriptors of controls. */
int knobs_watch(const char *knob, uint64_t total, unsigned int ms, char **paths, int n);

/* The subcommands. */
int test_seals(const char *dev);
int test_bad(const char *dev);
int test_figures(const char *dev);
int test_hostile(const char *dev);
int test_family(const char *dev);
int obey_shell(void);
int crowd(const char *dev_name, unsigned int n, unsigned int qps, uint32_t slots);
int fuzz(const char *dev, uint32_t seed, unsigned int rounds);

#endif
