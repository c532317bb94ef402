/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The engine under parse.c, control.c and encode.c: one table per attribute set says
 * where each attribute goes, one loop fills a structure from a nest in a
 * single pass. Attributes are read in place: libnl's accessors are calls into
 * a shared library, a handful for each of the thirty attributes of each QP.
 */
#ifndef SRDMA_IO_ATTR_H
#define SRDMA_IO_ATTR_H

#include <linux/netlink.h>

#include "io/parse.h"

enum srdma_kind {
	SKIP,			/* unknown or padding */
	U32,			/* .size is 4 for these two, */
	S32,
	U64,			/* and 8 for this one */
	FLAG,
	STR,			/* .size is the room for it */
	BIN,			/* .size exactly */
	NEST,			/* taken by the set's nest() */
};

struct srdma_field {
	enum srdma_kind kind;
	uint16_t offset, size;
	uint64_t has;		/* bit of the object's .has */
};

/* Attributes of one set, and the bits (1 << type) an object cannot lack. */
struct srdma_set {
	const struct srdma_field *fields;
	size_t n;
	uint64_t required;
	size_t has_offset;	/* of uint64_t .has; NO_HAS */
	int (*nest)(struct srdma_reading *r, void *obj, int type,
		    const void *data, size_t len);
};

#define NO_HAS		SIZE_MAX
#define BIT(type)	(1ull << (type))
#define ALL(seen, mask)	(((seen) & (mask)) == (mask))
/* A field of another size than its kind's does not compile. */
#define F(type, kind, obj, member, bit)					\
	[type] = { kind, offsetof(struct obj, member),			\
		   sizeof(((struct obj *)0)->member) +			\
		   0 * sizeof(char[FITS(kind, ((struct obj *)0)->member)]), bit }
#define FITS(kind, member)						\
	((kind) == U64 ? sizeof(member) == 8 ? 1 : -1 :			\
	 (kind) == U32 || (kind) == S32 ? sizeof(member) == 4 ? 1 : -1 : 1)
#define N(type, bit)	[type] = { NEST, 0, 0, bit }
#define FIELDS(f)	(f), sizeof(f) / sizeof((f)[0])

/*
 * The attribute at *@pos, which is moved past it; NULL at the end. Sets *@bad
 * if what is left is not an attribute. Inline, because a message consists of attributes.
 */
static inline const struct nlattr *srdma_next_attr(const void **pos, size_t *left, bool *bad)
{
	const struct nlattr *a = *pos;
	size_t step;

	/* A rest that is shorter than a header is padding. */
	if (*left < sizeof(*a))
		return NULL;
	if (a->nla_len < sizeof(*a) || a->nla_len > *left) {
		*bad = true;
		return NULL;
	}
	step = NLA_ALIGN(a->nla_len);
	if (step > *left)
		step = *left;
	*pos = (const char *)*pos + step;
	*left -= step;
	return a;
}

/* *@seen, may be NULL: bits of the attributes that came. 0 or -EBADMSG. */
int srdma_fill(const struct srdma_set *set, struct srdma_reading *r, void *obj,
	       const void *pos, size_t left, uint64_t *seen);

/* What an action's attributes say that struct snap_action does not. */
struct srdma_action {
	struct snap_action a;
	uint32_t index;		/* in its batch */
};

/* The end of a dump. */
struct srdma_end {
	uint64_t generation, time;
	uint32_t count;
	bool armed;
};

/* A QP has SNAP_CLASS if it has all of these attributes. */
#define SRDMA_CLASS_BITS (BIT(SWIFTRDMA_QP_A_TCLASS) | BIT(SWIFTRDMA_QP_A_SL) |	\
			  BIT(SWIFTRDMA_QP_A_TCLASS_ASKED) |			\
			  BIT(SWIFTRDMA_QP_A_SL_ASKED))

/* The tables that parse.c and control.c read by, and encode.c writes by. */
extern const struct srdma_set srdma_owner_set, srdma_dev_set, srdma_prio_set,
	srdma_port_set, srdma_uar_set, srdma_qp_set, srdma_end_set, srdma_rule_set,
	srdma_stat_set, srdma_job_set, srdma_lease_set, srdma_reading_set,
	srdma_decision_set, srdma_action_set, srdma_job_report_set, srdma_qp_report_set,
	srdma_held_set;

/* control.c: what is set rather than measured. */
int srdma_take_job(struct srdma_reading *r, const void *data, size_t len);
int srdma_take_action(struct srdma_reading *r, const void *data, size_t len);
int srdma_take_level(struct srdma_reading *r, const void *data, size_t len);
int srdma_take_lease(struct srdma_reading *r, const void *data, size_t len);

#endif /* SRDMA_IO_ATTR_H */
