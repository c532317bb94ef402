// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "explain/ends.h"

#include <rdma/swiftrdma.h>

static const struct {
	const char *key, *word, *words;
} whys[__SWIFTRDMA_ENDS_MAX] = {
	[SWIFTRDMA_ENDS_WAITING] = { "waiting", "not known yet", "the other end has not answered yet, or its class is being changed" },
	[SWIFTRDMA_ENDS_NO_AGENT] = { "no_agent", "no agent",
		"no agent runs on the host of the end that should follow" },
	[SWIFTRDMA_ENDS_NOT_FOLLOWED] = { "not_followed", "not followed",
		"the policy file on the host of the end that should follow has no 'follow:' for the job of the QP there" },
	[SWIFTRDMA_ENDS_REFUSED] = { "refused", "refused by its order",
		"the order, or the file, on the host of the end that should follow allows its job no such level" },
	[SWIFTRDMA_ENDS_NO_LEVEL] = { "no_level", "no such level there",
		"the level has no meaning on the host of the end that should follow ('levels:')" },
	[SWIFTRDMA_ENDS_CANNOT] = { "cannot", "cannot be changed there",
		"the class of the QP that should follow cannot be changed while it is connected" },
	[SWIFTRDMA_ENDS_UNKNOWN] = { "unknown", "QP not known there",
		"the module there knows no QP that is connected to this one: the QP is older than that module, or gone" },
	[SWIFTRDMA_ENDS_NO_ADDRESS] = { "no_address", "unknown address",
		"the address of the peer is not known: the QP here is older than the module" },
	[SWIFTRDMA_ENDS_NO_CHANNEL] = { "no_channel", "no channel",
		"the module here was loaded with peer=0, or the port has no QP 1" },
	[SWIFTRDMA_ENDS_UNREACHABLE] = { "unreachable", "unreachable",
		"nothing could be sent to the host of the peer" },
	[SWIFTRDMA_ENDS_NO_MODULE] = { "no_module", "no module there",
		"the host of the peer has no module: load it there" },
	[SWIFTRDMA_ENDS_VERSION] = { "version", "another version there",
		"the module of the peer's host speaks another version, or takes no wishes: upgrade the older one" },
	[SWIFTRDMA_ENDS_SILENT] = { "silent", "no answer",
		"the module of the peer's host did not answer" },
};

const char *ends_word(const struct snap_qp *qp)
{
	switch (qp->ends) {
	case SWIFTRDMA_ENDS_UNSPEC:
		return NULL;
	case SWIFTRDMA_ENDS_BOTH:
		return "both";
	case SWIFTRDMA_ENDS_WAITING:
		return "waiting";
	default:
		return "one-sided";
	}
}

/* A later module may report a state that whys[] lacks. Its reason is that of a waiting end. */
static uint32_t known_level(const struct snap_qp *qp)
{
	return qp->ends < __SWIFTRDMA_ENDS_MAX ? qp->ends : SWIFTRDMA_ENDS_WAITING;
}

const char *ends_why_key(const struct snap_qp *qp)
{
	return whys[known_level(qp)].key;
}

const char *ends_why_word(const struct snap_qp *qp)
{
	return whys[known_level(qp)].word;
}

const char *ends_why_words(const struct snap_qp *qp)
{
	return whys[known_level(qp)].words;
}

bool ends_is_wished_here(const struct snap_qp *qp)
{
	return qp->ends && snap_has(qp, SNAP_LEVEL) && !qp->follows &&
	       !(snap_has(qp, SNAP_PEER_WISH) && qp->peer_wish > qp->level);
}
