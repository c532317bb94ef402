// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "agent/agent.h"
#include "agent/log.h"

#define NSEC_PER_USEC 1000ULL
#define USEC_PER_SEC 1000000ULL
/* Time between attempts to connect to the module. */
#define RETRY_USEC 500000ULL
/* Least time between two status lines to systemd. */
#define STATUS_USEC 1000000ULL

struct loop {
	struct agent *agent;
	sd_event *event;
	sd_event_source *timer, *events;
	int events_fd;
	uint64_t next, last_status;	/* us */
	bool leave;			/* leave the overrides to the next agent */
};

static int on_events(sd_event_source *src, int fd, uint32_t revents, void *arg)
{
	struct loop *l = arg;

	(void)src;
	(void)fd;
	(void)revents;
	agent_events(l->agent);
	return 0;
}

/* Listens to the events of the present connection to the module. */
static void follow_events(struct loop *l, bool reconnected)
{
	int fd = l->agent->events_fd;

	if (fd == l->events_fd && !reconnected)
		return;
	l->events = sd_event_source_disable_unref(l->events);
	l->events_fd = fd;
	if (fd >= 0 && sd_event_add_io(l->event, &l->events, fd, POLLIN,
				       on_events, l) < 0)
		l->events_fd = -1;
}

static void notify_status(struct loop *l, uint64_t now)
{
	char line[256];

	if (now - l->last_status < STATUS_USEC && l->last_status)
		return;
	l->last_status = now;
	agent_status(l->agent, line, sizeof(line));
	sd_notifyf(0, "STATUS=%s", line);
}

static int on_timer(sd_event_source *src, uint64_t usec, void *arg)
{
	struct loop *l = arg;
	struct io *was = l->agent->io;
	uint64_t now, step = agent_interval(l->agent) / NSEC_PER_USEC;
	int err;

	(void)usec;
	/* epoll drops a closed descriptor, and a new connection may get the same number. */
	err = agent_tick(l->agent);
	follow_events(l, l->agent->io != was || l->agent->readings <= 1);
	if (err == -EPERM)
		return sd_event_exit(l->event, EXIT_FAILURE);
	if (err == -ENODEV && step < RETRY_USEC)
		step = RETRY_USEC;
	sd_event_now(l->event, CLOCK_MONOTONIC, &now);
	/* Ticks keep their rhythm; missed ticks are not repeated. */
	l->next += step;
	if (l->next <= now)
		l->next = now + step;
	notify_status(l, now);
	sd_event_source_set_time(src, l->next);
	return sd_event_source_set_enabled(src, SD_EVENT_ONESHOT);
}

static void reload_policies(struct agent *a)
{
	char line[DIAG_MSG + 512];
	struct config cfg;
	struct diag r;
	size_t i;

	if (!strcmp(a->opt.config, "-")) {
		log_msg(LOG_ERR,
			"the policies came from standard input, which cannot be read again: they stay in force");
		return;
	}
	diag_init(&r, a->opt.config);
	if (config_load_file(&cfg, a->opt.config, &r)) {
		log_msg(LOG_INFO, "%s loaded: %zu jobs, %zu policies",
			a->opt.config, cfg.n_jobs, cfg.policies.n);
		for (i = 0; i < r.n; i++)
			log_msg(LOG_WARNING, "%s",
				diag_line(&r, i, line, sizeof(line)));
		agent_reload(a, &cfg);
		return;
	}
	for (i = 0; i < r.n; i++)
		log_msg(LOG_ERR, "%s", diag_line(&r, i, line, sizeof(line)));
	if (r.total > r.n)
		log_msg(LOG_ERR, "%s: and %zu more", r.name, r.total - r.n);
	log_msg(LOG_ERR, "the old policies stay in force");
}

static int on_hup(sd_event_source *src, const struct signalfd_siginfo *si,
		  void *arg)
{
	struct loop *l = arg;
	uint64_t now;

	(void)src;
	(void)si;
	sd_event_now(l->event, CLOCK_MONOTONIC, &now);
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)now);
	reload_policies(l->agent);
	sd_notify(0, "READY=1");
	return 0;
}

static int on_term(sd_event_source *src, const struct signalfd_siginfo *si,
		   void *arg)
{
	struct loop *l = arg;

	(void)src;
	log_msg(LOG_INFO, "stopping on %s",
		strsignal((int)si->ssi_signo));
	sd_notify(0, "STOPPING=1");
	l->leave = si->ssi_signo == SIGUSR1;
	return sd_event_exit(l->event, EXIT_SUCCESS);
}

static int loop_setup(struct loop *l)
{
	static const int signals[] = { SIGHUP, SIGTERM, SIGINT, SIGUSR1 };
	sigset_t mask;
	size_t i;
	int err;

	sigemptyset(&mask);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&mask, signals[i]);
	if (sigprocmask(SIG_BLOCK, &mask, NULL))
		return -errno;
	err = sd_event_default(&l->event);
	for (i = 0; err >= 0 && i < sizeof(signals) / sizeof(signals[0]); i++)
		err = sd_event_add_signal(l->event, NULL, signals[i],
					  signals[i] == SIGHUP ? on_hup :
								 on_term, l);
	if (err >= 0)
		err = sd_event_set_watchdog(l->event, true);
	if (err >= 0)
		err = sd_event_now(l->event, CLOCK_MONOTONIC, &l->next);
	if (err >= 0)
		err = sd_event_add_time(l->event, &l->timer, CLOCK_MONOTONIC,
					l->next, 1000, on_timer, l);
	return err;
}

int agent_loop(struct agent *a)
{
	struct loop l = { .agent = a, .events_fd = -1 };
	int err = loop_setup(&l);

	if (err < 0) {
		log_msg(LOG_ERR, "no event loop: %s", strerror(-err));
		return EXIT_FAILURE;
	}
	agent_publish(a);
	/*
	 * The agent is ready even if the module is away: units ordered after it
	 * need the agent, which then waits for the module.
	 */
	sd_notify(0, "READY=1");
	err = sd_event_loop(l.event);
	if (l.leave)
		agent_leave(a);
	else
		agent_stop(a);
	sd_event_source_disable_unref(l.events);
	sd_event_source_disable_unref(l.timer);
	sd_event_unref(l.event);
	if (err < 0) {
		log_msg(LOG_ERR, "event loop: %s", strerror(-err));
		return EXIT_FAILURE;
	}
	return err;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / (NSEC_PER_USEC * USEC_PER_SEC)),
		.tv_nsec = (long)(ns % (NSEC_PER_USEC * USEC_PER_SEC)),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
		;
}

/*
 * A decision needs three readings: the first to set the jobs in the kernel, the other
 * two for rates.
 */
int agent_once(struct agent *a)
{
	struct pollfd pfd;
	int i, err;

	for (i = 0; i < 3; i++) {
		if (i == 2)
			sleep_ns(agent_interval(a));
		/* Only the last two readings are compared: they are one interval apart. */
		if (i == 1)
			a->readings = 0;
		err = agent_tick(a);
		if (err < 0)
			return EXIT_FAILURE;
	}
	/* A failed reading was logged; agent_loop() would try again. */
	if (a->readings < 2)
		return EXIT_FAILURE;
	if (!a->acts && !policy_n_held(&a->state))
		log_msg(LOG_INFO, "nothing to do: no policy's state is true");
	pfd = (struct pollfd){ .fd = a->events_fd, .events = POLLIN };
	while (agent_awaits_results(a) && a->events_fd >= 0 && poll(&pfd, 1, 1000) > 0)
		agent_events(a);
	return EXIT_SUCCESS;
}
