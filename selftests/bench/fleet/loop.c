// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The loop of a fleet: what is due in each tick, and whatever comes in between. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fleet.h"
#include "stat.h"

/* How many of @per_second are due in this tick. */
static uint64_t due_this_tick(const struct fleet *f, uint64_t per_second)
{
	uint64_t hz = 1000000000 / TICK_NS;

	return (f->ticks + 1) * per_second / hz - f->ticks * per_second / hz;
}

static int handle_tick(struct fleet *f)
{
	const struct options *o = f->o;
	uint64_t now = now_ns(), n;
	uint64_t expired;
	int ret;

	if (read(f->timer, &expired, sizeof(expired)) < 0)
		return fail_with("timer", errno);
	ret = send_messages(f, due_this_tick(f, o->rate));
	for (n = due_this_tick(f, o->modify); !ret && n; n--)
		ret = modify_any(f);
	for (n = due_this_tick(f, o->sqd); !ret && n; n--)
		ret = drain_any(f);
	for (n = due_this_tick(f, o->churn); !ret && n; n--)
		ret = churn_pair(f);
	f->ticks++;
	check_drains(f, now);
	if (!ret && o->watch_ns && now - f->watched >= o->watch_ns) {
		f->watched = now;
		ret = print_classes(f, false);
	}
	return ret;
}

static int handle_signal(struct fleet *f)
{
	struct signalfd_siginfo si;

	if (read(f->signals, &si, sizeof(si)) != sizeof(si))
		return fail_with("signals", errno);
	switch (si.ssi_signo) {
	case SIGUSR1:
		return release_stuck(f);
	case SIGUSR2:
		return print_classes(f, true);
	case SIGHUP:
		return end_stuck_pairs(f);
	default:
		f->done = true;
		return 0;
	}
}

enum { CH0, CH1, EV0, EV1, SIGNALS, WIRE, TIMER, N_FDS };

static int wait_and_handle(struct fleet *f, struct pollfd *fds)
{
	int i, ret = 0;

	if (poll(fds, N_FDS, 100) < 0)
		return fail_with("poll", errno);
	for (i = 0; i < 2; i++) {
		if (!ret && fds[CH0 + i].revents)
			ret = handle_completions(f, &f->side[i]);
		if (!ret && fds[EV0 + i].revents)
			ret = handle_async_events(f, &f->side[i]);
	}
	if (!ret && fds[WIRE].revents)
		read_wire(f);
	if (!ret && fds[SIGNALS].revents)
		ret = handle_signal(f);
	if (!ret && fds[TIMER].revents)
		ret = handle_tick(f);
	return ret;
}

int run_fleet(struct fleet *f)
{
	struct pollfd fds[N_FDS] = {
		[CH0] = { .fd = f->side[0].channel->fd, .events = POLLIN },
		[CH1] = { .fd = f->side[1].channel->fd, .events = POLLIN },
		[EV0] = { .fd = f->side[0].dev.ctx->async_fd, .events = POLLIN },
		[EV1] = { .fd = f->side[1].dev.ctx->async_fd, .events = POLLIN },
		[SIGNALS] = { .fd = f->signals, .events = POLLIN },
		[WIRE] = { .fd = f->wire, .events = POLLIN },
		[TIMER] = { .fd = f->timer, .events = POLLIN },
	};
	uint64_t end = f->o->duration_ns ? now_ns() + f->o->duration_ns : UINT64_MAX;
	int ret = 0;

	f->begun = now_ns();
	while (!ret && !f->done && now_ns() < end)
		ret = wait_and_handle(f, fds);
	/* Every message that was posted must still complete. */
	fds[TIMER].fd = -1;
	end = now_ns() + 20000000000ull;
	while (!ret && !f->sum.errors && count_outstanding(f) && now_ns() < end) {
		ret = wait_and_handle(f, fds);
		check_drains(f, now_ns());
	}
	return ret;
}
