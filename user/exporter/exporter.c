// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/exporter.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <systemd/sd-daemon.h>

#include "exporter/clock.h"
#include "io/io.h"

#define NSEC_PER_USEC	1000ULL

static int print_error(const char *what, const char *why)
{
	fprintf(stderr, "swiftrdma-exporter: %s: %s\n", what, why);
	return EXIT_FAILURE;
}

/* --- readings --------------------------------------------------------------------- */

static void note_module(struct exporter *x, int kind)
{
	if (kind == SOURCE_FAILED && !x->said_away)
		print_error("no reading, trying again", x->source.why);
	if (kind == SOURCE_READING && x->said_away)
		fprintf(stderr, "swiftrdma-exporter: readings succeed again\n");
	x->said_away = kind == SOURCE_FAILED;
}

/* Takes one item of the source. 0: there is none now; -errno: there will be no more. */
static int take_item(struct exporter *x)
{
	int kind = source_next(&x->source), err;

	if (kind <= SOURCE_NOTHING)
		return kind;
	if (kind == SOURCE_DAMAGED) {
		print_error(x->opt.replay, x->source.why);
		return kind;
	}
	err = figures_take(&x->figures, &x->source, kind);
	if (err)
		return err;
	if (kind == SOURCE_EVENT)
		return kind;
	note_module(x, kind);
	http_reading(&x->http);
	return kind;
}

static int end_readings(struct exporter *x, int err)
{
	print_error(x->opt.replay ? x->opt.replay : "the reader",
		    err == -EPIPE ? "ended" : err == -EAGAIN ? "hangs" : strerror(-err));
	return sd_event_exit(x->event, EXIT_FAILURE);
}

static int on_source(sd_event_source *src, int fd, uint32_t revents, void *arg)
{
	struct exporter *x = arg;
	int err = take_item(x);

	(void)src;
	(void)fd;
	(void)revents;
	return err < 0 ? end_readings(x, err) : 0;
}

/* Asks for a reading. A recording has all items that are due at once. */
static int ask_source(struct exporter *x)
{
	int err = source_ask(&x->source);

	if (err || x->source.fd >= 0)
		return err;
	do {
		err = take_item(x);
	} while (err > 0);
	return err;
}

/* For a scrape. */
static bool refresh_figures(void *arg)
{
	struct exporter *x = arg;
	const struct figures *f = &x->figures;

	if (f->read_at && clock_monotonic() - f->read_at < EXPORTER_FRESH)
		return true;
	/* on_interval() meets the same error again, and ends the loop. */
	return ask_source(x) || x->source.fd < 0;
}

static int on_interval(sd_event_source *src, uint64_t usec, void *arg)
{
	struct exporter *x = arg;
	uint64_t now, step = x->opt.interval / NSEC_PER_USEC;
	int err = ask_source(x);

	(void)usec;
	if (err < 0)
		return end_readings(x, err);
	sd_event_now(x->event, CLOCK_MONOTONIC, &now);
	x->next += step;
	if (x->next <= now)
		x->next = now + step;
	sd_event_source_set_time(src, x->next);
	return sd_event_source_set_enabled(src, SD_EVENT_ONESHOT);
}

/* --- start and end ---------------------------------------------------------------- */

/* False: the file has errors, which are printed. */
static bool load_web(const struct exporter *x, struct web_config *c)
{
	struct diag r;

	*c = (struct web_config){ 0 };
	if (!x->opt.web_config)
		return true;
	diag_init(&r, x->opt.web_config);
	if (web_config_load(c, x->opt.web_config, &r))
		return true;
	diag_print(&r, stderr);
	return false;
}

static int start_http(struct exporter *x, const struct web_config *c)
{
	char why[256];

	return http_start(&x->http, c, why, sizeof(why)) ?
	       print_error(x->opt.web_config ? x->opt.web_config : x->opt.listen, why) : 0;
}

static int on_hup(sd_event_source *src, const struct signalfd_siginfo *si, void *arg)
{
	struct exporter *x = arg;
	struct web_config c;

	(void)src;
	(void)si;
	/* A policy file is read again, too. */
	x->figures.by_policy = false;
	if (!x->opt.web_config)
		return 0;
	if (!load_web(x, &c)) {
		fprintf(stderr, "swiftrdma-exporter: the old web configuration stays in force\n");
		return 0;
	}
	if (start_http(x, &c))
		sd_event_exit(x->event, EXIT_FAILURE);
	else
		fprintf(stderr, "swiftrdma-exporter: %s loaded\n", x->opt.web_config);
	web_config_free(&c);
	return 0;
}

static int on_term(sd_event_source *src, const struct signalfd_siginfo *si, void *arg)
{
	struct exporter *x = arg;

	(void)src;
	(void)si;
	sd_notify(0, "STOPPING=1");
	return sd_event_exit(x->event, EXIT_SUCCESS);
}

static int setup_loop(struct exporter *x)
{
	static const int signals[] = { SIGHUP, SIGTERM, SIGINT };
	sigset_t mask;
	int err;

	sigemptyset(&mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&mask, signals[i]);
	if (sigprocmask(SIG_BLOCK, &mask, NULL))
		return -errno;
	signal(SIGPIPE, SIG_IGN);
	err = sd_event_default(&x->event);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]) && err >= 0; i++)
		err = sd_event_add_signal(x->event, NULL, signals[i],
					  signals[i] == SIGHUP ? on_hup : on_term, x);
	if (err >= 0)
		err = sd_event_set_watchdog(x->event, true);
	if (err >= 0)
		err = sd_event_now(x->event, CLOCK_MONOTONIC, &x->next);
	if (err >= 0)
		err = sd_event_add_time(x->event, &x->timer, CLOCK_MONOTONIC, x->next, 1000,
					on_interval, x);
	if (err >= 0 && x->source.fd >= 0)
		err = sd_event_add_io(x->event, &x->io, x->source.fd, EPOLLIN, on_source, x);
	x->http.event = x->event;
	return err < 0 ? err : 0;
}

/* Starts the reader before dropping the capabilities, because the reader needs them. */
static int open_source(struct exporter *x)
{
	int err = x->opt.replay ?
		  source_open_recording(&x->source, x->opt.replay, x->opt.speed) :
		  source_open_module(&x->source);

	if (err)
		return print_error(x->opt.replay ? x->opt.replay : "the reader",
				   x->source.why[0] ? x->source.why : strerror(-err));
	err = io_drop_privileges(false);
	return err ? print_error("privileges are not dropped", strerror(-err)) : 0;
}

static int start_exporter(struct exporter *x)
{
	struct web_config c;
	char why[256];
	int err;

	if (!load_web(x, &c))
		return EXIT_FAILURE;
	x->http.fd = http_listen(x->opt.listen, why, sizeof(why));
	if (x->http.fd < 0) {
		web_config_free(&c);
		return print_error("--web.listen-address", why);
	}
	err = open_source(x);
	if (!err) {
		err = figures_init(&x->figures, &x->opt.figures);
		if (!err)
			err = stream_init(&x->http.stream, &x->figures);
		if (!err)
			err = setup_loop(x);
		if (err)
			print_error("no event loop", strerror(-err));
	}
	if (!err)
		err = start_http(x, &c);
	web_config_free(&c);
	return err;
}

int exporter_run(const struct exporter_options *opt)
{
	struct exporter *x = calloc(1, sizeof(*x));
	int status;

	if (!x)
		return print_error("start", strerror(ENOMEM));
	x->opt = *opt;
	x->source.fd = -1;
	x->http.fd = -1;
	x->http.figures = &x->figures;
	x->http.refresh = refresh_figures;
	x->http.arg = x;
	status = start_exporter(x) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (!status) {
		sd_notify(0, "READY=1");
		status = sd_event_loop(x->event);
		if (status < 0)
			status = print_error("event loop", strerror(-status));
	}
	http_stop(&x->http);
	sd_event_source_disable_unref(x->timer);
	sd_event_source_disable_unref(x->io);
	sd_event_unref(x->event);
	source_close(&x->source);
	figures_free(&x->figures);
	if (x->http.fd >= 0)
		close(x->http.fd);
	free(x);
	return status;
}
