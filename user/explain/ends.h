/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Words for how the two ends of a connection stand to the level that one of them wishes. */
#ifndef SRDMA_EXPLAIN_ENDS_H
#define SRDMA_EXPLAIN_ENDS_H

#include "core/snapshot.h"

/* How the QP stands to its peer: "both", "one-sided", "waiting"; NULL: no end wishes a level. */
const char *ends_word(const struct snap_qp *qp);
/* Why only one end is raised: a key ("no_agent"), a few words, a sentence. NULL: both are. */
const char *ends_why_key(const struct snap_qp *qp);
const char *ends_why_word(const struct snap_qp *qp);
const char *ends_why_words(const struct snap_qp *qp);
/* Is that about what this end wishes? False: about what the peer wishes of this end. */
bool ends_is_wished_here(const struct snap_qp *qp);

#endif /* SRDMA_EXPLAIN_ENDS_H */
