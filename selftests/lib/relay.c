// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "relay.h"

static int event = -1;

static int door(unsigned long cmd, void *arg)
{
	int fd = open(SWIFTRDMA_SHARE_PATH, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ioctl(fd, cmd, arg) ? -errno : 0;
	close(fd);
	return err;
}

int relay_attach(const char *dev_name)
{
	struct swiftrdma_attach a = {
		.size = sizeof(a), .version = SWIFTRDMA_SHARE_VERSION, .slots = 16,
	};
	int err;

	snprintf(a.dev_name, sizeof(a.dev_name), "%s", dev_name);
	err = door(SWIFTRDMA_IOC_ATTACH, &a);
	if (!err) {
		close(a.report_fd);
		close(a.control_fd);
	}
	return err;
}

int relay_listen(uint32_t dev)
{
	struct swiftrdma_listen l = { .size = sizeof(l), .dev_index = dev };

	if (event >= 0)
		close(event);
	event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (event < 0)
		return -errno;
	l.event_fd = event;
	return door(SWIFTRDMA_IOC_LISTEN, &l);
}

int relay_tell(uint32_t dev, uint32_t qpn, const void *bytes, uint32_t length)
{
	struct swiftrdma_tell t = {
		.size = sizeof(t), .dev_index = dev, .qpn = qpn, .length = length,
	};

	memcpy(t.bytes, bytes, length < sizeof(t.bytes) ? length : sizeof(t.bytes));
	return door(SWIFTRDMA_IOC_TELL, &t);
}

int relay_hear(uint32_t dev, struct swiftrdma_hear *h)
{
	*h = (struct swiftrdma_hear){ .size = sizeof(*h), .dev_index = dev };
	return door(SWIFTRDMA_IOC_HEAR, h);
}

int relay_wait(int ms)
{
	struct pollfd p = { .fd = event, .events = POLLIN };
	uint64_t n = 0;

	if (poll(&p, 1, ms) <= 0 || read(event, &n, sizeof(n)) != sizeof(n))
		return -ETIMEDOUT;
	return (int)n;
}
