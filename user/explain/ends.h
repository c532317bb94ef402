/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Words for whether both ends of a connection have the level that one of them asks for. */
#ifndef SRDMA_EXPLAIN_ENDS_H
#define SRDMA_EXPLAIN_ENDS_H

#include "core/snapshot.h"

/* Which ends have the level: "both", "one-sided", "waiting"; NULL: no end asks for one. */
const char *ends_word(const struct snap_qp *qp);
/* Why only one end is raised: a key ("no_agent"), a few words, a sentence. NULL: both are. */
const char *ends_why_key(const struct snap_qp *qp);
const char *ends_why_word(const struct snap_qp *qp);
const char *ends_why_words(const struct snap_qp *qp);
/* True: this end asks its peer for a level. False: the peer asks this end. */
bool ends_is_wished_here(const struct snap_qp *qp);

#endif /* SRDMA_EXPLAIN_ENDS_H */
