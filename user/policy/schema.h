/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Readers of values in a policy file. All report mistakes and return false; the caller
 * continues, to find more mistakes.
 */
#ifndef SRDMA_POLICY_SCHEMA_H
#define SRDMA_POLICY_SCHEMA_H

#include "policy/config.h"
#include "policy/doc.h"

/* @keys: all that the map may have, to NULL; @what: "a policy", for the message. */
bool check_map(struct diag *r, const struct node *n, const char *what,
	       const char *const *keys);
bool check_list(struct diag *r, const struct node *n, const char *what);
/* The value of a required key; NULL, with an error, if it is missing. */
const struct node *need(struct diag *r, const struct node *map,
			const char *key, const char *what,
			const char *example);

/* The value of @n; @what names it in messages. */
bool get_text(struct diag *r, const struct node *n, const char *what,
	      const char **s);
/* 1 to @cap - 1 bytes. */
bool get_string(struct diag *r, const struct node *n, const char *what,
		char *buf, size_t cap);
/* Name of a job or a policy: [A-Za-z0-9_.-], 1 to 31 bytes. */
bool get_name(struct diag *r, const struct node *n, const char *what,
	      char *buf);
bool get_uint(struct diag *r, const struct node *n, const char *what,
	      uint32_t min, uint32_t max, uint32_t *v);
bool get_value(struct diag *r, const struct node *n, const char *what,
	       enum unit unit, double min, double max, double *v);
bool get_time(struct diag *r, const struct node *n, const char *what,
	      uint64_t min, uint64_t max, uint64_t *ns);

/* The value of @key in @map. True also if @map has no such key, which leaves the variable. */
bool opt_string(struct diag *r, const struct node *map, const char *key,
		char *buf, size_t cap);
bool opt_uint(struct diag *r, const struct node *map, const char *key,
	      uint32_t min, uint32_t max, uint32_t *v);
bool opt_value(struct diag *r, const struct node *map, const char *key,
	       enum unit unit, double min, double max, double *v);
bool opt_time(struct diag *r, const struct node *map, const char *key,
	      uint64_t min, uint64_t max, uint64_t *ns);

/* {p99: TIME, byte_rate: RATE}, at least one of them. */
bool get_slo(struct diag *r, const struct node *n, struct signal_slo *slo);

/* A zeroed array of @n entries. NULL, with an error: no memory. */
void *get_array(struct diag *r, size_t n, size_t size);

/* The name of a job of the file that is most similar; NULL: none is. */
const char *suggest_job(const struct config *cfg, const char *name, size_t n);

/* Suggested to files without class levels. */
#define LEVELS_EXAMPLE "levels: [{level: 1, dscp: 10, sl: 1}]"

/* Sections of the file. */
void load_ports(struct config *cfg, const struct node *n, struct diag *r);
void load_criteria(struct config *cfg, const struct node *n, struct diag *r);
void load_jobs(struct config *cfg, const struct node *n, struct diag *r);
void load_order(struct config *cfg, const struct node *n, struct diag *r);
void load_policies(struct config *cfg, const struct node *n, struct diag *r);
/* cross_check.c: checks that need all sections. */
void check_config(struct config *cfg, struct diag *r);

#endif /* SRDMA_POLICY_SCHEMA_H */
