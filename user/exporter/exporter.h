/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * swiftrdma-exporter: one thread with one event loop, and the reader (reader.h).
 *
 *	reader or recording -> source -> figures -> metrics -> http
 *
 * A reading is made at each interval, and for a scrape if the last one is older than
 * %EXPORTER_FRESH, so that scrapes get present figures.
 */
#ifndef SRDMA_EXPORTER_EXPORTER_H
#define SRDMA_EXPORTER_EXPORTER_H

#include "exporter/http.h"
#include "exporter/source.h"

#define EXPORTER_LISTEN		"localhost:9891"
#define EXPORTER_INTERVAL	1000000000ULL	/* ns */
#define EXPORTER_FRESH		100000000ULL	/* ns */
#define EXPORTER_SERIES		20000
#define EXPORTER_TOP		20

struct exporter_options {
	const char *listen;
	const char *web_config;		/* NULL: neither TLS nor passwords */
	const char *replay;		/* a recording; NULL: the module */
	double speed;			/* of the replay; 0: all at once */
	uint64_t interval;		/* ns */
	struct figures_options figures;
};

struct exporter {
	struct exporter_options opt;
	sd_event *event;
	sd_event_source *timer, *io;
	uint64_t next;			/* us */
	struct source source;
	struct figures figures;
	struct http http;
	bool said_away;			/* logged that the module is away */
};

/* Returns the exit status of the process. */
int exporter_run(const struct exporter_options *opt);

#endif /* SRDMA_EXPORTER_EXPORTER_H */
