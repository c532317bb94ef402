/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Shared by scenario.c, which reads a scenario, and scenario_claim.c, which reads its claim.
 */
#ifndef SRDMA_SIM_SCENARIO_H
#define SRDMA_SIM_SCENARIO_H

#include "policy/doc.h"
#include "policy/schema.h"
#include "sim/sim.h"

/* Index of a word in a list that ends with NULL. */
bool scenario_word(struct diag *r, const struct node *n, const char *key,
		   const char *const *words, unsigned int *place);

/* Reads the sections shows, published and sweep, after the jobs. */
void scenario_load_claim(struct scenario *sc, const struct node *root, struct diag *r);
/* The numbers of the NIC that the scenario sets itself. */
void scenario_note_nic(struct scenario *sc, const struct node *nic);

#endif /* SRDMA_SIM_SCENARIO_H */
