// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include <rdma/swiftrdma.h>

#include "base/array.h"
#include "io/answer.h"
#include "io/io.h"
#include "io/merge.h"
#include "io/notification.h"
#include "io/recorder.h"

/* Most bytes of one read: a damaged length must not reserve more memory than the file is long. */
#define STEP		65536

struct player {
	FILE *f;
	z_stream z;
	uint64_t offset;		/* of the record that is read, in the file */
	const char *problem;
	struct srdma_bytes packed, content;
	uint64_t time;

	struct snapshot snap;
	struct snap_qp *delta;
	size_t n_delta, cap_delta;
	struct srdma_notification notification;
	struct snap_event lost;
	char why[SNAP_REASON];
	bool is_lost;			/* the last event is .lost */
};

/* --- the container ----------------------------------------------------------------- */

int player_open(struct player **out, FILE *f, uint32_t *version)
{
	const struct recording_file want = { .magic = RECORDING_MAGIC };
	struct recording_file head;
	struct player *p;

	*out = NULL;
	if (fread(&head, sizeof(head), 1, f) != 1 ||
	    memcmp(head.magic, want.magic, sizeof(head.magic)))
		return -EINVAL;
	if (version)
		*version = le32toh(head.version);
	if (le32toh(head.version) != RECORDING_VERSION)
		return -EPROTONOSUPPORT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->f = f;
	p->offset = sizeof(head);
	if (inflateInit2(&p->z, RECORDING_WBITS) != Z_OK) {
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void player_close(struct player *p)
{
	if (!p)
		return;
	inflateEnd(&p->z);
	free(p->packed.p);
	free(p->content.p);
	free(p->delta);
	snapshot_free(&p->snap);
	srdma_notification_free(&p->notification);
	free(p);
}

static int stop_player(struct player *p, const char *why)
{
	p->problem = why;
	return PLAYER_END;
}

/* The packed bytes of a record. 1; 0: there are none, p->problem may say why; -ENOMEM. */
static int read_record(struct player *p)
{
	struct recording_head head;
	size_t len, got = fread(&head, 1, sizeof(head), p->f);

	if (!got)
		return 0;
	if (got < sizeof(head))
		return stop_player(p, "the last record is cut off");
	len = le32toh(head.len);
	if (!len || len > RECORDING_MAX)
		return stop_player(p, "a record is damaged");
	p->packed.len = 0;
	while (p->packed.len < len) {
		size_t part = len - p->packed.len < STEP ? len - p->packed.len : STEP;

		if (!array_reserve(&p->packed.p, &p->packed.cap, p->packed.len + part, 1))
			return -ENOMEM;
		got = fread(p->packed.p + p->packed.len, 1, part, p->f);
		p->packed.len += got;
		if (got < part)
			return stop_player(p, "the last record is cut off");
	}
	if (crc32(0, p->packed.p, (uInt)len) != le32toh(head.crc))
		return stop_player(p, "a record is damaged");
	return 1;
}

/* Inflates the packed bytes. A record ends where the stream was flushed. */
static int inflate_record(struct player *p)
{
	struct srdma_bytes *to = &p->content;
	int err;

	to->len = 0;
	p->z.next_in = p->packed.p;
	p->z.avail_in = (uInt)p->packed.len;
	do {
		if (to->len >= RECORDING_MAX)
			return stop_player(p, "a record is damaged");
		if (!array_reserve(&to->p, &to->cap, to->len + STEP, 1))
			return -ENOMEM;
		p->z.next_out = to->p + to->len;
		p->z.avail_out = (uInt)(to->cap - to->len);
		err = inflate(&p->z, Z_SYNC_FLUSH);
		to->len = to->cap - p->z.avail_out;
		if (err == Z_MEM_ERROR)
			return -ENOMEM;
		/* Z_BUF_ERROR: the input ended just when the output was full. */
		if (err != Z_OK && err != Z_BUF_ERROR)
			return stop_player(p, "a record is damaged");
	} while (!p->z.avail_out);
	if (p->z.avail_in || to->len < sizeof(struct recording_content))
		return stop_player(p, "a record is damaged");
	return 1;
}

/* --- a reading --------------------------------------------------------------------- */

/* A request, and as much of the answer to it as was read. */
struct exchange {
	struct srdma_reading r;
	struct srdma_answer a;
	uint16_t family;
	uint32_t seq;
	int cmd;		/* 0: there was no request yet */
	bool delta;
};

static bool is_request(const struct nlmsghdr *nlh)
{
	return nlh->nlmsg_flags & NLM_F_REQUEST && nlmsg_valid_hdr(nlh, GENL_HDRLEN);
}

static int command_of(const struct nlmsghdr *nlh)
{
	return ((const struct genlmsghdr *)nlmsg_data(nlh))->cmd;
}

static bool asks_for_changes(const struct nlmsghdr *nlh)
{
	return command_of(nlh) == SWIFTRDMA_CMD_QP_GET &&
	       nlmsg_find_attr((struct nlmsghdr *)nlh, GENL_HDRLEN, SWIFTRDMA_A_SINCE);
}

/* True: the reading keeps the QPs of the reading before, so it keeps their owners, too. */
static bool keeps_qps(const void *buf, size_t len)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	int left = (int)len;

	for (; nlmsg_ok(nlh, left); nlh = nlmsg_next(nlh, &left))
		if (is_request(nlh) && command_of(nlh) == SWIFTRDMA_CMD_QP_GET)
			return asks_for_changes(nlh);
	return false;
}

/* A repeated request drops the objects of its first answer, which was interrupted. */
static void begin_exchange(struct player *p, struct exchange *x, const struct nlmsghdr *nlh)
{
	struct snapshot *s = &p->snap;

	x->cmd = command_of(nlh);
	x->family = nlh->nlmsg_type;
	x->seq = nlh->nlmsg_seq;
	x->delta = asks_for_changes(nlh);
	x->a = (struct srdma_answer){ 0 };
	x->r.qps = x->delta ? &p->delta : &s->qps;
	x->r.n_qps = x->delta ? &p->n_delta : &s->n_qps;
	x->r.cap_qps = x->delta ? &p->cap_delta : &s->cap_qps;
	switch (x->cmd) {
	case SWIFTRDMA_CMD_DEV_GET:
		s->n_devs = 0;
		break;
	case SWIFTRDMA_CMD_PORT_GET:
		s->n_ports = s->n_prios = 0;
		break;
	case SWIFTRDMA_CMD_UAR_GET:
		s->n_uars = 0;
		break;
	case SWIFTRDMA_CMD_JOB_GET:
		s->n_jobs = 0;
		break;
	case SWIFTRDMA_CMD_REPORT_GET:
		s->n_job_reports = s->n_qp_reports = 0;
		break;
	case SWIFTRDMA_CMD_QP_GET:
		*x->r.n_qps = 0;
		s->n_qp_keys = x->delta ? s->n_qp_keys : 0;
	}
}

/* 0; -EBADMSG: its answer has no end; -ENOMEM. */
static int end_exchange(struct player *p, struct exchange *x)
{
	struct snapshot *s = &p->snap;

	if (!x->cmd)
		return 0;
	if (!x->a.done)
		return -EBADMSG;
	if (x->cmd == SWIFTRDMA_CMD_JOB_GET) {
		s->admin = !x->a.error;
		s->n_jobs = s->admin ? s->n_jobs : 0;
	}
	/* Any answer may have QPs, although only one request asks for them. */
	srdma_sort_qps(*x->r.qps, *x->r.n_qps);
	if (!x->delta || x->a.error || x->a.interrupted)
		return 0;
	return srdma_merge_qps(s, p->delta, p->n_delta) < 0 ? -ENOMEM : 0;
}

static int take_messages(struct player *p, struct exchange *x, const void *buf, size_t len)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	int left = (int)len, err = 0;

	for (; nlmsg_ok(nlh, left) && !err; nlh = nlmsg_next(nlh, &left)) {
		if (is_request(nlh)) {
			err = end_exchange(p, x);
			if (!err)
				begin_exchange(p, x, nlh);
		} else if (x->cmd && !x->a.done) {
			err = srdma_answer(nlh, nlh->nlmsg_len, x->family, x->seq, &x->r,
					   &x->a);
		}
	}
	return err ? err : left > 0 ? -EBADMSG : end_exchange(p, x);
}

static int take_reading(struct player *p, const void *buf, size_t len)
{
	struct snapshot *s = &p->snap;
	struct exchange x = { .r = { .snap = s } };
	int err;

	s->n_devs = s->n_ports = s->n_prios = s->n_uars = s->n_jobs = 0;
	s->n_job_reports = s->n_qp_reports = 0;
	s->admin = false;
	if (!keeps_qps(buf, len))
		s->n_qps = s->n_qp_keys = s->n_owners = 0;
	err = take_messages(p, &x, buf, len);
	free(x.r.actions);
	if (err)
		return err;
	srdma_sort_others(s);
	s->armed = x.r.has_end && !x.r.disarmed;
	s->time = x.r.time;
	s->generation = x.r.generation;
	return PLAYER_READING;
}

/* --- an event ---------------------------------------------------------------------- */

static int take_event(struct player *p, const void *buf, size_t len)
{
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;
	int got;

	p->is_lost = false;
	if (!nlmsg_ok(nlh, (int)len) || !nlmsg_valid_hdr(nlh, GENL_HDRLEN))
		return -EBADMSG;
	got = srdma_notification_parse(&p->notification, (uint8_t)command_of(nlh),
				       (const char *)nlmsg_data(nlh) + GENL_HDRLEN,
				       (size_t)nlmsg_datalen(nlh) - GENL_HDRLEN);
	return got < 0 ? got : got ? PLAYER_EVENT : -EBADMSG;
}

static int take_lost(struct player *p, const char *why, size_t len)
{
	size_t n = len < sizeof(p->why) ? len : sizeof(p->why) - 1;

	memcpy(p->why, why, n);
	p->why[n] = '\0';
	p->lost = (struct snap_event){ .kind = SNAP_EVENT_LOST, .why = p->why };
	p->is_lost = true;
	return PLAYER_EVENT;
}

/* enum player_what, -EBADMSG or -ENOMEM. */
static int take_content(struct player *p)
{
	const unsigned char *at = p->content.p + sizeof(struct recording_content);
	size_t len = p->content.len - sizeof(struct recording_content);
	struct recording_content head;

	memcpy(&head, p->content.p, sizeof(head));
	p->time = head.time;
	switch (head.kind) {
	case RECORDING_READING:
		return take_reading(p, at, len);
	case RECORDING_EVENT:
		return take_event(p, at, len);
	case RECORDING_LOST:
		return take_lost(p, (const char *)at, len);
	}
	return -EBADMSG;
}

int player_next(struct player *p)
{
	int got;

	if (p->problem)
		return PLAYER_END;
	got = read_record(p);
	if (got > 0)
		got = inflate_record(p);
	if (got <= 0)
		return got;
	got = take_content(p);
	if (got == -EBADMSG)
		return stop_player(p, "a record has invalid content");
	if (got > 0)
		p->offset += sizeof(struct recording_head) + p->packed.len;
	return got;
}

uint64_t player_time(const struct player *p)
{
	return p->time;
}

const struct snapshot *player_snapshot(const struct player *p)
{
	return &p->snap;
}

const struct snap_event *player_event(const struct player *p)
{
	return p->is_lost ? &p->lost : &p->notification.event;
}

const char *player_problem(const struct player *p, uint64_t *offset)
{
	*offset = p->offset;
	return p->problem;
}
