// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* SWIFTRDMA_STATS=FILE: one line of JSON for each process that used a device, at its end. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/lib.h"

/* The name of a program may contain any byte. */
static void write_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if ((unsigned char)*s < 0x20 || (unsigned char)*s >= 0x7f)
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

static void write_times(FILE *f, const char *name, const struct swiftrdma_hist *h)
{
	struct swiftrdma_quantile p50, p99;

	quantile_of(h, 0.5, &p50);
	quantile_of(h, 0.99, &p99);
	fprintf(f, ",\"%s\":{\"samples\":%" PRIu64 ",\"wrs\":%" PRIu64, name, p99.samples, p99.wrs);
	/* Without a sample there is no mean and no quantile. */
	if (p99.samples)
		fprintf(f, ",\"mean_ns\":%" PRIu64 ",\"p50_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
			",\"max_ns\":%" PRIu64 ",\"p99_samples_wanted\":%" PRIu64,
			p99.mean_ns, p50.ns, p99.ns, p99.max_ns, p99.samples_wanted);
	fputc('}', f);
}

/* Figures of each knob for which a call has waited. */
static void write_held(FILE *f, const struct swiftrdma_report *r)
{
	static const char *const name[SWIFTRDMA_SHARE_HELD] = { "wr_rate", "bit_rate", "credits" };
	const char *before = "";

	fputs(",\"held\":{", f);
	for (uint32_t k = 0; k < SWIFTRDMA_SHARE_HELD; k++) {
		const struct swiftrdma_held *h = &r->held[k];

		if (!read_counter(&h->posts) && !read_counter(&h->passed))
			continue;
		fprintf(f, "%s\"%s\":{\"posts\":%" PRIu64 ",\"wrs\":%" PRIu64 ",\"ns\":%" PRIu64
			",\"passed\":%" PRIu64 "}", before, name[k], read_counter(&h->posts),
			read_counter(&h->wrs), read_counter(&h->ns), read_counter(&h->passed));
		before = ",";
	}
	fputc('}', f);
}

/* Moves of QPs, and each reason of one that did not take place. */
static void write_moves(FILE *f, const struct move_figures *m)
{
	const char *why;

	fprintf(f, ",\"move\":{\"moved\":%" PRIu64 ",\"loaded\":%" PRIu64
		",\"rolled_back\":%" PRIu64 ",\"refused\":%" PRIu64,
		m->moved, m->loaded, m->rolled_back, m->refused);
	write_times(f, "drain", &m->drain);
	write_times(f, "pause", &m->pause);
	fputs(",\"why\":[", f);
	for (int i = 0; i < MOVE_WHYS; i++) {
		why = m->why[i];
		if (why)
			fprintf(f, "%s\"%s\"", i ? "," : "", why);
	}
	fputs("]}", f);
}

static void write_device(FILE *f, const struct device *dev)
{
	struct swiftrdma_figures n;

	figures_of_device(&n, dev);
	fprintf(f, "{\"dev\":\"%s\",\"module\":%s,\"qps\":%" PRIu64 ",\"wrs\":%" PRIu64
		",\"bytes\":%" PRIu64 ",\"calls\":%" PRIu64 ",\"recv_wrs\":%" PRIu64
		",\"wcs\":%" PRIu64 ",\"done\":%" PRIu64 ",\"dropped\":%" PRIu64
		",\"recv_wcs\":%" PRIu64 ",\"recv_bytes\":%" PRIu64 ",\"errors\":%" PRIu64
		",\"stopped\":%" PRIu64 ",\"unmatched\":%" PRIu64 ",\"placed\":%" PRIu64,
		dev->name, dev->control ? "true" : "false", n.qps, n.wrs, n.bytes, n.calls,
		n.recv_wrs, n.wcs, n.done, n.dropped, n.recv_wcs, n.recv_bytes, n.errors,
		n.stopped, n.unmatched, atomic_load(&dev->placed));
	write_times(f, "latency", dev->latency);
	write_times(f, "hol", dev->hol);
	write_held(f, dev->report);
	fprintf(f, ",\"huge_pages\":{\"regions\":%" PRIu64 ",\"ranges\":%" PRIu64 ",\"left\":%" PRIu64 "}",
		read_counter(&dev->report->huge_regions), read_counter(&dev->report->huge_ranges),
		read_counter(&dev->report->huge_left));
	fprintf(f, ",\"chunk\":{\"split\":%" PRIu64 ",\"left\":%" PRIu64 "}",
		read_counter(&dev->report->chunk_wrs), read_counter(&dev->report->chunk_left));
	if (settings.move)
		write_moves(f, &dev->moves);
	fputc('}', f);
}

void stats_write(void)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int fd;

	if (!f)
		return;
	fprintf(f, "{\"pid\":%d,\"program\":", getpid());
	write_string(f, program_invocation_short_name);
	fputs(",\"devices\":[", f);
	if (lib_lock()) {
		for (const struct device *dev = devices; dev; dev = dev->next) {
			write_device(f, dev);
			if (dev->next)
				fputc(',', f);
		}
		lib_unlock();
	}
	fputs("]}\n", f);
	fclose(f);
	/* One write, because several processes may share the file. */
	fd = open(settings.stats, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd >= 0) {
		if (write(fd, text, size) < 0)
			(void)0;
		close(fd);
	}
	free(text);
}
