/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The closed vocabulary: every signal a state may look at, every knob an
 * action may turn, every word that is a value. One spelling everywhere.
 */
#ifndef SRDMA_CORE_VOCAB_H
#define SRDMA_CORE_VOCAB_H

#include "core/units.h"

enum obj_kind {
	OBJ_DEV,
	OBJ_PORT,
	OBJ_UAR,
	OBJ_QP,
	OBJ_JOB,
	OBJ_KINDS,
};

/*
 * X(object, ID, "spelling", unit, measured). What is not measured is part of
 * the vocabulary, but nothing on this system can tell it yet: it is always
 * absent, and a policy that asks for it is refused rather than never true.
 */
#define VOCAB_SIGNALS(X)						\
	X(DEV,	QPS,		"dev.qps",		COUNT,	 true)	\
	X(DEV,	ACTIVE_QPS,	"dev.active_qps",	COUNT,	 true)	\
	X(DEV,	MRS,		"dev.mrs",		COUNT,	 true)	\
	X(DEV,	CQS,		"dev.cqs",		COUNT,	 true)	\
	X(DEV,	CREATE_RATE,	"dev.create_rate",	RATE,	 true)	\
	X(DEV,	MODIFY_RATE,	"dev.modify_rate",	RATE,	 true)	\
	X(DEV,	MTTS,		"dev.mtts",		COUNT,	 true)	\
	X(DEV,	COMMAND_TIME,	"dev.command_time",	TIME,	 true)	\
	X(DEV,	QPC_MISS,	"dev.qpc_miss",		RATIO,	 true)	\
	X(DEV,	MTT_MISS,	"dev.mtt_miss",		RATIO,	 true)	\
	X(DEV,	DB_CONGESTION,	"dev.db_congestion",	RATE,	 true)	\
	X(DEV,	PCIE_STALL,	"dev.pcie_stall",	RATIO,	 true)	\
	X(PORT, UTIL,		"port.util",		RATIO,	 true)	\
	X(PORT, TX_RATE,	"port.tx_rate",		BITRATE, true)	\
	X(PORT, RX_RATE,	"port.rx_rate",		BITRATE, true)	\
	X(PORT, SPEED,		"port.speed",		BITRATE, true)	\
	X(PORT, PAUSE_RATE,	"port.pause_rate",	RATE,	 true)	\
	X(PORT, CNP_RATE,	"port.cnp_rate",	RATE,	 true)	\
	X(UAR,	QPS,		"uar.qps",		COUNT,	 true)	\
	X(UAR,	ACTIVE_QPS,	"uar.active_qps",	COUNT,	 true)	\
	X(UAR,	OWNERS,		"uar.owners",		COUNT,	 true)	\
	X(UAR,	WR_RATE,	"uar.wr_rate",		RATE,	 true)	\
	X(UAR,	DOORBELL_RATE,	"uar.doorbell_rate",	RATE,	 true)	\
	X(UAR,	COACTIVE,	"uar.coactive",		RATIO,	 true)	\
	X(QP,	WR_RATE,	"qp.wr_rate",		RATE,	 true)	\
	X(QP,	DOORBELL_RATE,	"qp.doorbell_rate",	RATE,	 true)	\
	X(QP,	LEVEL,		"qp.level",		COUNT,	 true)	\
	X(QP,	TCLASS,		"qp.tclass",		ID,	 true)	\
	X(QP,	STATE,		"qp.state",		STATE,	 true)	\
	X(QP,	TYPE,		"qp.type",		TYPE,	 true)	\
	X(QP,	PID,		"qp.pid",		ID,	 true)	\
	X(QP,	UAR,		"qp.uar",		ID,	 true)	\
	X(QP,	PORT,		"qp.port",		ID,	 true)	\
	X(QP,	JOB,		"qp.job",		ID,	 true)	\
	X(QP,	QUEUE_DELAY,	"qp.queue_delay",	TIME,	 false)	\
	X(QP,	OUTSTANDING,	"qp.outstanding",	COUNT,	 false)	\
	X(JOB,	CLASS,		"job.class",		CLASS,	 true)	\
	X(JOB,	QPS,		"job.qps",		COUNT,	 true)	\
	X(JOB,	LEVEL,		"job.level",		COUNT,	 true)	\
	X(JOB,	WR_RATE,	"job.wr_rate",		RATE,	 true)	\
	X(JOB,	DOORBELL_RATE,	"job.doorbell_rate",	RATE,	 true)	\
	X(JOB,	MTTS,		"job.mtts",		COUNT,	 true)	\
	X(JOB,	CREATES,	"job.creates",		RATE,	 true)	\
	X(JOB,	MODIFIES,	"job.modifies",		RATE,	 true)	\
	X(JOB,	COMMAND_TIME,	"job.command_time",	TIME,	 true)	\
	X(JOB,	SLO_P99,	"job.slo_p99",		TIME,	 true)	\
	X(JOB,	SLO_BYTE_RATE,	"job.slo_byte_rate",	BITRATE, true)	\
	X(JOB,	BYTE_RATE,	"job.byte_rate",	BITRATE, false)	\
	X(JOB,	P50,		"job.p50",		TIME,	 false)	\
	X(JOB,	P99,		"job.p99",		TIME,	 false)	\
	X(JOB,	P99_PREV,	"job.p99_prev",		TIME,	 false)

enum signal_id {
#define X(obj, id, name, unit, measured) SIG_##obj##_##id,
	VOCAB_SIGNALS(X)
#undef X
	SIGNALS,
};

struct vocab_signal {
	const char *name;
	enum obj_kind obj;
	enum unit unit;
	bool measured;
};

extern const struct vocab_signal vocab_signals[SIGNALS];
extern const char *const vocab_objs[OBJ_KINDS];

/* First signal of an object, and how many it has. */
enum signal_id vocab_first(enum obj_kind obj);
unsigned int vocab_width(enum obj_kind obj);

struct vocab_knob {
	const char *name;	/* "job.level" */
	unsigned int knob;	/* enum swiftrdma_knob */
	enum unit unit;
	double min, max;
	/* NULL: the kernel does; else who would. */
	const char *enforcer;
};

extern const struct vocab_knob vocab_knobs[];
extern const size_t vocab_n_knobs;
/* Those that policies turn come first; the rest is set by hand. */
extern const size_t vocab_n_policy_knobs;

const struct vocab_knob *vocab_knob(unsigned int knob);

/* Words that are values: of UNIT_CLASS, UNIT_STATE and UNIT_TYPE. */
struct vocab_word {
	enum unit unit;
	const char *name;
	unsigned int value;
};

extern const struct vocab_word vocab_words[];
extern const size_t vocab_n_words;

/* -ENOENT if there is no such word in this unit. */
int vocab_word(enum unit unit, const char *name, size_t n, double *v);
const char *vocab_word_name(enum unit unit, double v);

/*
 * Why the class of a QP is not what it should be, by the -errno that the kernel has
 * for it; NULL: it has no words of its own.
 */
const char *vocab_class_error(int err);

/* A value of any unit, words included, in its usual form. */
void vocab_format(struct text *t, double v, enum unit unit);

#endif /* SRDMA_CORE_VOCAB_H */
