// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/channel.h"
#include "lib/lib.h"

int channel_open(struct device *dev)
{
	struct swiftrdma_listen l = { .size = sizeof(l), .dev_index = dev->report->dev_index };
	int err;

	if (dev->listens)
		return 0;
	if (!dev->control)
		return -ENODEV;
	l.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l.event_fd < 0)
		return -errno;
	err = lib_share(SWIFTRDMA_IOC_LISTEN, &l);
	if (err) {
		close(l.event_fd);
		return err == -ENOTTY ? -ENODEV : err;
	}
	dev->event = l.event_fd;
	/* The thread that waits for messages reads .event after this. */
	atomic_store_explicit(&dev->listens, true, memory_order_release);
	return 0;
}

int channel_event(const struct device *dev)
{
	return atomic_load_explicit(&dev->listens, memory_order_acquire) ? dev->event : -1;
}

bool channel_signalled(const struct device *dev)
{
	ssize_t got = -1;
	uint64_t n;

	if (channel_event(dev) < 0)
		return false;
	do {
		got = read(dev->event, &n, sizeof(n));
	} while (got < 0 && errno == EINTR);
	return got > 0;
}

int channel_tell(const struct device *dev, uint32_t qpn, const void *bytes, uint32_t length)
{
	struct swiftrdma_tell t = {
		.size = sizeof(t), .dev_index = dev->report->dev_index, .qpn = qpn, .length = length,
	};

	if (length > sizeof(t.bytes))
		return -EMSGSIZE;
	memcpy(t.bytes, bytes, length);
	return lib_share(SWIFTRDMA_IOC_TELL, &t);
}

bool channel_hear(const struct device *dev, struct swiftrdma_hear *h)
{
	*h = (struct swiftrdma_hear){ .size = sizeof(*h), .dev_index = dev->report->dev_index };
	return channel_event(dev) >= 0 && !lib_share(SWIFTRDMA_IOC_HEAR, h) &&
	       h->length <= sizeof(h->bytes);
}
