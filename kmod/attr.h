/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Attributes of answers. What lies in a plain structure is described by a table, one row
 * for each attribute: netlink writes the rows into messages, debugfs prints those that
 * have a label. Other attributes are written by statements, with the same functions.
 */
#ifndef SRDMA_ATTR_H
#define SRDMA_ATTR_H

#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/netlink.h>

#include <rdma/swiftrdma.h>

/* How a member is read; on the wire all numbers of 32 bits and less are a u32. */
enum srdma_attr_kind {
	SRDMA_ATTR_U8,
	SRDMA_ATTR_U32,
	SRDMA_ATTR_U64,
	SRDMA_ATTR_ATOMIC,
	SRDMA_ATTR_ATOMIC64,
	SRDMA_ATTR_TEXT,	/* an array of characters */
};

/* When a member's value is known. */
enum srdma_attr_when {
	SRDMA_ATTR_ALWAYS,
	SRDMA_ATTR_NONZERO,
	SRDMA_ATTR_NOT_ONES,	/* not all of its bits are set */
	SRDMA_ATTR_GATED,	/* another member, a bool, says so */
};

/**
 * struct srdma_attr - an attribute that lies in a structure
 * @type: its number; 0: debugfs alone has it
 * @kind: enum srdma_attr_kind
 * @when: enum srdma_attr_when
 * @width: of its column in debugfs, if it has one
 * @n_names: how many @names there are
 * @offset: of the member
 * @gate: offset of the bool of %SRDMA_ATTR_GATED
 * @per: debugfs divides the value by the u64 at this offset; 0: it does not
 * @div: debugfs divides the value by this number, too; 0: it does not
 * @label: its name in debugfs; NULL: netlink alone has it
 * @names: debugfs shows the value by name
 */
struct srdma_attr {
	u8 type, kind, when, width, n_names;
	u16 offset, gate, per;
	u32 div;
	const char *label;
	const char *const *names;
};

/**
 * struct srdma_attr_set - the attributes of a structure
 * @attr: the rows, in the order in which they are written and shown
 * @n: how many
 */
struct srdma_attr_set {
	const struct srdma_attr *attr;
	int n;
};

#define SRDMA_ATTR_SET(rows)	{ .attr = (rows), .n = ARRAY_SIZE(rows) }

#define SRDMA_MEMBER_IS(s, member, type)	__same_type(typeof_member(struct s, member), type)
#define SRDMA_ATTR_KIND(s, member)						\
	(SRDMA_MEMBER_IS(s, member, u64) ? SRDMA_ATTR_U64 :			\
	 SRDMA_MEMBER_IS(s, member, atomic64_t) ? SRDMA_ATTR_ATOMIC64 :		\
	 SRDMA_MEMBER_IS(s, member, atomic_t) ? SRDMA_ATTR_ATOMIC :		\
	 sizeof_field(struct s, member) == 1 ? SRDMA_ATTR_U8 :			\
	 sizeof_field(struct s, member) == 4 ? SRDMA_ATTR_U32 : SRDMA_ATTR_TEXT)

/* A row: the attribute's number, the member, and what else it has by name. */
#define SRDMA_ATTR(number, s, member, ...)					\
	{ .type = (number), .kind = SRDMA_ATTR_KIND(s, member),			\
	  .offset = offsetof(struct s, member), __VA_ARGS__ }
#define SRDMA_IF(s, member)							\
	.when = SRDMA_ATTR_GATED, .gate = offsetof(struct s, member)

bool srdma_attr_known(const struct srdma_attr *a, const void *obj);
/* Value of an attribute that is a number. */
u64 srdma_attr_value(const struct srdma_attr *a, const void *obj);

/**
 * struct srdma_msg - a message that attributes are written into
 * @skb: the buffer, which has the message's header
 * @hdr: that header, for srdma_msg_end()
 * @at: where the next attribute goes
 * @end: of the room there is
 * @full: an attribute did not fit: the message will be dropped as a whole
 *
 * Each function that writes checks the room and keeps a failure in @full, so that callers
 * check once, at the end. nla_put() looks for the buffer's tail each time, which took most
 * of a dump of thousands of QPs with thirty attributes each.
 */
struct srdma_msg {
	struct sk_buff *skb;
	void *hdr;
	u8 *at, *end;
	bool full;
};

/*
 * Reserve the next attribute. Returns its @len bytes, or NULL where it does not fit. All
 * functions that write are inlined, so that the members of a message that is a local
 * variable stay in registers.
 */
static __always_inline void *srdma_put(struct srdma_msg *m, int type, size_t len)
{
	struct nlattr *a = (struct nlattr *)m->at;

	if (unlikely(m->end - m->at < NLA_HDRLEN + NLA_ALIGN(len))) {
		m->full = true;
		return NULL;
	}
	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	m->at += NLA_HDRLEN + NLA_ALIGN(len);
	if (len % NLA_ALIGNTO)
		memset((u8 *)(a + 1) + len, 0, NLA_ALIGN(len) - len);
	return a + 1;
}

static __always_inline void srdma_put_flag(struct srdma_msg *m, int type)
{
	srdma_put(m, type, 0);
}

static __always_inline void srdma_put_u32(struct srdma_msg *m, int type, u32 value)
{
	u32 *p = srdma_put(m, type, sizeof(value));

	if (p)
		*p = value;
}

static __always_inline void srdma_put_u64(struct srdma_msg *m, int type, u64 value)
{
	void *p;

	/* The condition of nla_need_padding_for_64bit(), for @at instead of the buffer's end. */
	if (!IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS) &&
	    IS_ALIGNED((unsigned long)m->at, 8))
		srdma_put(m, SWIFTRDMA_A_PAD, 0);	/* every set uses this number for padding */
	p = srdma_put(m, type, sizeof(value));
	if (p)
		memcpy(p, &value, sizeof(value));
}

static __always_inline void srdma_put_data(struct srdma_msg *m, int type, const void *data,
					   size_t len)
{
	void *p = srdma_put(m, type, len);

	if (p)
		memcpy(p, data, len);
}

static __always_inline void srdma_put_text(struct srdma_msg *m, int type, const char *s)
{
	srdma_put_data(m, type, s, strlen(s) + 1);
}

/* Begin a nest; srdma_nest_end() writes its length. */
static __always_inline struct nlattr *srdma_nest(struct srdma_msg *m, int type)
{
	void *p = srdma_put(m, type | NLA_F_NESTED, 0);

	return p ? p - NLA_HDRLEN : NULL;
}

static __always_inline void srdma_nest_end(struct srdma_msg *m, struct nlattr *nest)
{
	if (nest)
		nest->nla_len = m->at - (u8 *)nest;
}

/* Write every attribute of @set whose value is known of @obj. */
void srdma_put_attrs(struct srdma_msg *m, const struct srdma_attr_set *set, const void *obj);

#endif /* SRDMA_ATTR_H */
