// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "core/vocab.h"

#include <errno.h>
#include <string.h>

#include <rdma/swiftrdma.h>
#include <rdma/swiftrdma_share.h>

const char *const vocab_objs[OBJ_KINDS] = {
	[OBJ_DEV] = "dev",
	[OBJ_PORT] = "port",
	[OBJ_UAR] = "uar",
	[OBJ_QP] = "qp",
	[OBJ_JOB] = "job",
};

const struct vocab_signal vocab_signals[SIGNALS] = {
#define X(o, id, n, u, l) \
	[SIG_##o##_##id] = { .name = n, .obj = OBJ_##o, \
			     .unit = UNIT_##u, .library = l },
	VOCAB_SIGNALS(X)
#undef X
};

const struct vocab_knob vocab_knobs[] = {
	{ "job.level", SWIFTRDMA_KNOB_LEVEL, UNIT_COUNT, 0, SWIFTRDMA_LEVEL_MAX, NULL, false },
	{ "job.max_qps", SWIFTRDMA_KNOB_MAX_QPS, UNIT_COUNT, 0, 1e9, NULL, false },
	{ "job.create_rate", SWIFTRDMA_KNOB_CREATE_RATE, UNIT_RATE, 0, 1e9, NULL, false },
	{ "job.bit_rate", SWIFTRDMA_KNOB_BIT_RATE, UNIT_BITRATE, 1e6, 1e13, NULL, false },
	{ "job.wr_rate", SWIFTRDMA_KNOB_WR_RATE, UNIT_RATE, 0, 1e10, NULL, true },
	{ "job.weight", SWIFTRDMA_KNOB_WEIGHT, UNIT_COUNT, 1, 100, NULL, false },
	{ "job.credits", SWIFTRDMA_KNOB_CREDITS, UNIT_COUNT, 1, 1e6, NULL, true },
	{ "job.place", SWIFTRDMA_KNOB_PLACE, UNIT_PLACE, 0, SWIFTRDMA_PLACE_BY_THREAD, NULL, true },
	{ "job.qps", SWIFTRDMA_KNOB_QPS, UNIT_COUNT, 1, 1e6, "libswiftrdma", false },
	{ "qp.uar", SWIFTRDMA_KNOB_UAR, UNIT_UAR, 0, SWIFTRDMA_UAR_LIGHTEST, NULL, true },
	{ "job.chunk", SWIFTRDMA_KNOB_CHUNK, UNIT_BYTES, 4096, 1073741824, NULL, true },
	{ "job.huge_pages", SWIFTRDMA_KNOB_HUGE_PAGES, UNIT_SWITCH, 0, 1, NULL, true },
	{ "job.follow", SWIFTRDMA_KNOB_FOLLOW, UNIT_COUNT, 0, SWIFTRDMA_LEVEL_MAX, NULL, false },
	{ "qp.udp_sport", SWIFTRDMA_KNOB_UDP_SPORT, UNIT_ID, 1, 65535, NULL, false },
	{ "qp.lag_port", SWIFTRDMA_KNOB_LAG_PORT, UNIT_ID, 1, 15, NULL, false },
};

const size_t vocab_n_policy_knobs = 10;
const size_t vocab_n_knobs = sizeof(vocab_knobs) / sizeof(vocab_knobs[0]);

const struct vocab_knob *vocab_knob(unsigned int knob)
{
	size_t i;

	for (i = 0; i < vocab_n_knobs; i++)
		if (vocab_knobs[i].knob == knob)
			return &vocab_knobs[i];
	return NULL;
}

/* States and types as in enum ib_qp_state and enum ib_qp_type. */
const struct vocab_word vocab_words[] = {
	{ UNIT_CLASS, "latency", SWIFTRDMA_JOB_CLASS_LATENCY },
	{ UNIT_CLASS, "balanced", SWIFTRDMA_JOB_CLASS_BALANCED },
	{ UNIT_CLASS, "throughput", SWIFTRDMA_JOB_CLASS_THROUGHPUT },
	{ UNIT_CLASS, "best-effort", SWIFTRDMA_JOB_CLASS_BEST_EFFORT },
	{ UNIT_STATE, "RESET", 0 },
	{ UNIT_STATE, "INIT", 1 },
	{ UNIT_STATE, "RTR", 2 },
	{ UNIT_STATE, "RTS", 3 },
	{ UNIT_STATE, "SQD", 4 },
	{ UNIT_STATE, "SQE", 5 },
	{ UNIT_STATE, "ERR", 6 },
	{ UNIT_TYPE, "SMI", 0 },
	{ UNIT_TYPE, "GSI", 1 },
	{ UNIT_TYPE, "RC", 2 },
	{ UNIT_TYPE, "UC", 3 },
	{ UNIT_TYPE, "UD", 4 },
	/* As iproute2's rdma spells them. */
	{ UNIT_TYPE, "RAW_PACKET", 8 },
	{ UNIT_TYPE, "XRC_INI", 9 },
	{ UNIT_TYPE, "XRC_TGT", 10 },
	{ UNIT_TYPE, "DRIVER", 255 },
	{ UNIT_PLACE, "default", SWIFTRDMA_PLACE_DEFAULT },
	{ UNIT_PLACE, "lightest", SWIFTRDMA_PLACE_LIGHTEST },
	{ UNIT_PLACE, "by-thread", SWIFTRDMA_PLACE_BY_THREAD },
	{ UNIT_UAR, "lightest", SWIFTRDMA_UAR_LIGHTEST },
	{ UNIT_SWITCH, "no", 0 },
	{ UNIT_SWITCH, "yes", 1 },
	{ UNIT_SWITCH, "false", 0 },
	{ UNIT_SWITCH, "true", 1 },
};

const size_t vocab_n_words = sizeof(vocab_words) / sizeof(vocab_words[0]);

bool vocab_allows(const struct vocab_knob *k, double v)
{
	uint64_t n = v > 0 && v < 1e18 ? (uint64_t)v : 0;

	if (v < k->min || v > k->max)
		return false;
	return k->knob != SWIFTRDMA_KNOB_CHUNK || !(n & (n - 1));
}

const char *vocab_bounds(const struct vocab_knob *k, char *buf, size_t cap)
{
	char low[32], high[32];
	struct text t;

	units_text(low, sizeof(low), k->min, k->unit);
	units_text(high, sizeof(high), k->max, k->unit);
	text_init(&t, buf, cap);
	text_add(&t, k->knob == SWIFTRDMA_KNOB_CHUNK ? "a power of two, " : "", low, " to ", high);
	return buf;
}

int vocab_word(enum unit unit, const char *name, size_t n, double *v)
{
	size_t i;

	for (i = 0; i < vocab_n_words; i++) {
		const struct vocab_word *w = &vocab_words[i];

		if (w->unit == unit && strlen(w->name) == n &&
		    !memcmp(w->name, name, n)) {
			*v = w->value;
			return 0;
		}
	}
	return -ENOENT;
}

const char *vocab_word_name(enum unit unit, double v)
{
	size_t i;

	for (i = 0; i < vocab_n_words; i++)
		if (vocab_words[i].unit == unit && vocab_words[i].value == v)
			return vocab_words[i].name;
	return NULL;
}

/* As the module's srdma_class_error_text(). */
const char *vocab_class_error(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return "its class is set when it is connected, not later";
	case -ETIMEDOUT:
		return "its send queue did not drain in time: does the peer post receives?";
	case -EBUSY:
		return "cannot yet: not in RTS";
	case -EINTR:
		return "its application was modifying or destroying it";
	case -ENOTCONN:
		return "not connected any more";
	default:
		return NULL;
	}
}

void vocab_format(struct text *t, double v, enum unit unit)
{
	const char *word = unit < UNIT_CLASS ? NULL :
					       vocab_word_name(unit, v);

	if (word)
		text_str(t, word);
	else
		units_format(t, v, unit);
}
