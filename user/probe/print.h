/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What swiftrdma-probe prints: for people as it goes, or one JSON object at the end. */
#ifndef SRDMA_PROBE_PRINT_H
#define SRDMA_PROBE_PRINT_H

#include "cli/cli.h"
#include "probe/probe.h"

void print_device(const struct probe *p, struct out *o);
void print_finding(const struct cli *cli, struct out *o, const struct probe_finding *f);
void print_sum(const struct probe *p, struct out *o, const struct probe_finding *f, size_t n);
void print_json(const struct cli *cli, const struct probe *p, struct out *o,
		const struct probe_finding *f, size_t n);
/* "[3/13] uar-page" in place on a terminal, and nothing elsewhere; NULL: removes it. */
void print_progress(size_t i, size_t n, const char *check);

#endif /* SRDMA_PROBE_PRINT_H */
