/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The closed vocabulary: every signal that a state may read, every knob that an action may
 * turn, every word that is a value. Each has one spelling everywhere.
 */
#ifndef SRDMA_CORE_VOCAB_H
#define SRDMA_CORE_VOCAB_H

#include "base/units.h"

enum obj_kind {
	OBJ_DEV,
	OBJ_PORT,
	OBJ_UAR,
	OBJ_QP,
	OBJ_JOB,
	OBJ_KINDS,
};

/*
 * X(object, ID, "spelling", unit, library). A signal with @library is known only of processes
 * that have libswiftrdma, and of jobs that have such processes; of others it is absent.
 */
#define VOCAB_SIGNALS(X)						\
	X(DEV,	QPS,		"dev.qps",		COUNT,	 false)	\
	X(DEV,	ACTIVE_QPS,	"dev.active_qps",	COUNT,	 false)	\
	X(DEV,	MRS,		"dev.mrs",		COUNT,	 false)	\
	X(DEV,	CQS,		"dev.cqs",		COUNT,	 false)	\
	X(DEV,	CREATE_RATE,	"dev.create_rate",	RATE,	 false)	\
	X(DEV,	MODIFY_RATE,	"dev.modify_rate",	RATE,	 false)	\
	X(DEV,	MTTS,		"dev.mtts",		COUNT,	 false)	\
	X(DEV,	COMMAND_TIME,	"dev.command_time",	TIME,	 false)	\
	X(DEV,	QPC_MISS,	"dev.qpc_miss",		RATIO,	 false)	\
	X(DEV,	MTT_MISS,	"dev.mtt_miss",		RATIO,	 false)	\
	X(DEV,	DB_CONGESTION,	"dev.db_congestion",	RATE,	 false)	\
	X(DEV,	PCIE_STALL,	"dev.pcie_stall",	RATIO,	 false)	\
	X(PORT, UTIL,		"port.util",		RATIO,	 false)	\
	X(PORT, TX_RATE,	"port.tx_rate",		BITRATE, false)	\
	X(PORT, RX_RATE,	"port.rx_rate",		BITRATE, false)	\
	X(PORT, SPEED,		"port.speed",		BITRATE, false)	\
	X(PORT, PAUSE_RATE,	"port.pause_rate",	RATE,	 false)	\
	X(PORT, CNP_RATE,	"port.cnp_rate",	RATE,	 false)	\
	X(UAR,	QPS,		"uar.qps",		COUNT,	 false)	\
	X(UAR,	ACTIVE_QPS,	"uar.active_qps",	COUNT,	 false)	\
	X(UAR,	OWNERS,		"uar.owners",		COUNT,	 false)	\
	X(UAR,	WR_RATE,	"uar.wr_rate",		RATE,	 false)	\
	X(UAR,	DOORBELL_RATE,	"uar.doorbell_rate",	RATE,	 false)	\
	X(UAR,	COACTIVE,	"uar.coactive",		RATIO,	 false)	\
	X(QP,	WR_RATE,	"qp.wr_rate",		RATE,	 false)	\
	X(QP,	DOORBELL_RATE,	"qp.doorbell_rate",	RATE,	 false)	\
	X(QP,	LEVEL,		"qp.level",		COUNT,	 false)	\
	X(QP,	TCLASS,		"qp.tclass",		ID,	 false)	\
	X(QP,	STATE,		"qp.state",		STATE,	 false)	\
	X(QP,	TYPE,		"qp.type",		TYPE,	 false)	\
	X(QP,	PID,		"qp.pid",		ID,	 false)	\
	X(QP,	UAR,		"qp.uar",		ID,	 false)	\
	X(QP,	PORT,		"qp.port",		ID,	 false)	\
	X(QP,	JOB,		"qp.job",		ID,	 false)	\
	X(QP,	QUEUE_DELAY,	"qp.queue_delay",	TIME,	 true)	\
	X(QP,	OUTSTANDING,	"qp.outstanding",	COUNT,	 true)	\
	X(QP,	LATENCY,	"qp.latency",		TIME,	 false)	\
	X(JOB,	CLASS,		"job.class",		CLASS,	 false)	\
	X(JOB,	QPS,		"job.qps",		COUNT,	 false)	\
	X(JOB,	LEVEL,		"job.level",		COUNT,	 false)	\
	X(JOB,	WR_RATE,	"job.wr_rate",		RATE,	 false)	\
	X(JOB,	DOORBELL_RATE,	"job.doorbell_rate",	RATE,	 false)	\
	X(JOB,	MTTS,		"job.mtts",		COUNT,	 false)	\
	X(JOB,	CREATES,	"job.creates",		RATE,	 false)	\
	X(JOB,	MODIFIES,	"job.modifies",		RATE,	 false)	\
	X(JOB,	COMMAND_TIME,	"job.command_time",	TIME,	 false)	\
	X(JOB,	SLO_P99,	"job.slo_p99",		TIME,	 false)	\
	X(JOB,	SLO_BYTE_RATE,	"job.slo_byte_rate",	BITRATE, false)	\
	X(JOB,	BYTE_RATE,	"job.byte_rate",	BITRATE, true)	\
	X(JOB,	P50,		"job.p50",		TIME,	 true)	\
	X(JOB,	P99,		"job.p99",		TIME,	 true)	\
	X(JOB,	P99_PREV,	"job.p99_prev",		TIME,	 true)	\
	X(JOB,	LATENCY,	"job.latency",		TIME,	 false)	\
	X(JOB,	LATENCY_PREV,	"job.latency_prev",	TIME,	 false)

enum signal_id {
#define X(obj, id, name, unit, library) SIG_##obj##_##id,
	VOCAB_SIGNALS(X)
#undef X
	SIGNALS,
};

_Static_assert(SIGNALS <= 64, "a set of signals is a mask of 64 bits");

struct vocab_signal {
	const char *name;
	enum obj_kind obj;
	enum unit unit;
	bool library;
};

extern const struct vocab_signal vocab_signals[SIGNALS];
extern const char *const vocab_objs[OBJ_KINDS];

/*
 * The signals of an object: the first, and how many. Inline, like vocab_obj(), because each
 * access to a signal needs them, nearly always with a constant.
 */
static inline enum signal_id vocab_first(enum obj_kind obj)
{
	switch (obj) {
	case OBJ_DEV:
		return SIG_DEV_QPS;
	case OBJ_PORT:
		return SIG_PORT_UTIL;
	case OBJ_UAR:
		return SIG_UAR_QPS;
	case OBJ_QP:
		return SIG_QP_WR_RATE;
	case OBJ_JOB:
		return SIG_JOB_CLASS;
	case OBJ_KINDS:
		break;
	}
	return SIGNALS;
}

static inline unsigned int vocab_width(enum obj_kind obj)
{
	return vocab_first(obj + 1) - vocab_first(obj);
}

/* The object of a signal: vocab_signals[id].obj. */
static inline enum obj_kind vocab_obj(enum signal_id id)
{
	unsigned int obj = OBJ_DEV;

	while (id >= vocab_first(obj + 1))
		obj++;
	return obj;
}

/* True: the signal's number names something, so all its digits matter. */
static inline bool vocab_is_id(enum signal_id id)
{
	switch (id) {
#define X(object, name_, name, unit, library)				\
	case SIG_##object##_##name_:					\
		return UNIT_##unit == UNIT_ID;
	VOCAB_SIGNALS(X)
#undef X
	case SIGNALS:
		break;
	}
	return false;
}

struct vocab_knob {
	const char *name;	/* "job.level" */
	unsigned int knob;	/* enum swiftrdma_knob */
	enum unit unit;
	double min, max;
	/* NULL: the knob is enforced here; else the component that would enforce it. */
	const char *enforcer;
	/* libswiftrdma enforces it, in a job's processes, and nothing else does. */
	bool library;
};

extern const struct vocab_knob vocab_knobs[];
extern const size_t vocab_n_knobs;
/* Knobs of policies come first; the rest is set by hand only. */
extern const size_t vocab_n_policy_knobs;

const struct vocab_knob *vocab_knob(unsigned int knob);

/* Whether @v is within the bounds of the knob; a device may accept fewer values. */
bool vocab_allows(const struct vocab_knob *k, double v);
/* "a power of two, 4 KiB to 1 GiB". Returns @buf. */
const char *vocab_bounds(const struct vocab_knob *k, char *buf, size_t cap);

/* Words that are values: of UNIT_CLASS and the units after it. */
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
 * Explains the -errno that the kernel reports for a QP whose class could not be changed.
 * NULL: an ordinary errno.
 */
const char *vocab_class_error(int err);

/* A value of any unit, words included, in its usual form. */
void vocab_format(struct text *t, double v, enum unit unit);

#endif /* SRDMA_CORE_VOCAB_H */
