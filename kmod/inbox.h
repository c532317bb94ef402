/* SPDX-License-Identifier: GPL-2.0 */
/* The inbox of an attachment: messages from the other ends of the process's connections. */
#ifndef SRDMA_INBOX_H
#define SRDMA_INBOX_H

#include <linux/types.h>

#include <rdma/swiftrdma_share.h>

struct pid;
struct srdma_dev;
struct srdma_inbox;

/* What became of a message. Goes over the wire: values do not change. */
enum srdma_told {
	SRDMA_TOLD_UNSPEC,
	SRDMA_TOLD_IN,		/* it is in the inbox */
	SRDMA_TOLD_NOBODY,	/* no process listens */
	SRDMA_TOLD_FULL,	/* the inbox was full */
};

/*
 * From now on the calling process listens, and each message signals the eventfd @event_fd. -EBADF,
 * -EINVAL: @event_fd is no eventfd; -ENXIO: the process is not attached to the device; -ENOMEM.
 * Takes srdma_share_lock.
 */
int srdma_inbox_listen(struct srdma_dev *dev, int event_fd);
/* The attachment ends: wake its process a last time. NULL: does nothing. */
void srdma_inbox_close(struct srdma_inbox *inbox);

/*
 * Put a message that came by QP @qpn of process @pid into the process's inbox. A message whose @id
 * came lately is not put there again. Takes spinlocks only.
 */
enum srdma_told srdma_inbox_put(const struct srdma_dev *dev, const struct pid *pid, u32 qpn,
				u64 id, const u8 *bytes, u32 length);

/* Take the oldest message of the calling process. -ENXIO: it does not listen; -ENOMSG. */
int srdma_inbox_take(const struct srdma_dev *dev, struct swiftrdma_hear *h);
/* Return the message that was taken last and did not reach the process. It is the oldest again. */
void srdma_inbox_give_back(const struct srdma_dev *dev, const struct swiftrdma_hear *h);

#endif /* SRDMA_INBOX_H */
