/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The NIC as the checks use it: a context, memory, connected pairs of QPs, and writes that are
 * waited for. All of it belongs to the process, so the kernel takes it back when the process
 * ends, however it does.
 *
 * Functions return 0 or -errno; nic_words() then says what failed.
 */
#ifndef SRDMA_PROBE_NIC_H
#define SRDMA_PROBE_NIC_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define NIC_BUFFER	65536	/* the memory that is written, also by all QPs at once */
#define NIC_CQES	8192	/* completions under way on one context */

struct nic {
	const char *name;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
	union ibv_gid gid;
	uint8_t gid_index;
	uint16_t lid;
	enum ibv_mtu mtu;
	bool eth;
};

/* @a sends, @b receives. */
struct nic_pair {
	struct nic *from, *to;
	struct ibv_qp *a, *b;
	uint32_t outstanding;	/* sends of @a without a completion */
};

struct nic_want {
	uint32_t depth;		/* sends under way */
	uint32_t inline_bytes;
	struct ibv_pd *pd;	/* of @a; NULL: the context's */
	struct ibv_cq *cq;	/* of @a; NULL: the context's */
};

const char *nic_words(void);
/* Sets nic_words() of this thread: a thread passes on the words of another one. */
void nic_say(const char *words);

/*
 * Opens a context. @bare: with MLX5_SHUT_UP_BF, by which libmlx5 gives all QPs of the context
 * one doorbell register, and a lock to it.
 */
int nic_open(struct nic *nic, const char *name, bool bare);
void nic_close(struct nic *nic);

/* A PD whose QPs have a doorbell register that no other QP has, and which one thread may use. */
struct ibv_pd *nic_own_register(struct nic *nic, struct ibv_td **td);

/* A QP that is not connected yet. NULL with errno set. */
struct ibv_qp *nic_create_qp(struct nic *nic, const struct nic_want *want);
int nic_pair_open(struct nic_pair *pair, struct nic *from, struct nic *to,
		  const struct nic_want *want);
void nic_pair_close(struct nic_pair *pair);

/* One call of ibv_post_send() with @n writes of @bytes each. */
int nic_write(struct nic_pair *pair, uint32_t n, uint32_t bytes, bool in_wqe);
/* Sends that need a receive at the other end, and the receives. */
int nic_send(struct nic_pair *pair, uint32_t n);
int nic_receive(struct nic_pair *pair, uint32_t n);

/*
 * Takes completions of sends until at most @left are outstanding, within NIC_WAIT_MS. The
 * context's CQ must be used by this pair alone.
 */
int nic_wait(struct nic_pair *pair, uint32_t left);
#define NIC_WAIT_MS	20000

/*
 * Completions; 0: there are none now; -EIO: one failed. The wr_id of a send is the address of its
 * pair.
 */
int nic_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n);

/* ns of CLOCK_MONOTONIC */
uint64_t nic_now(void);
void nic_sleep_us(uint32_t us);

#endif /* SRDMA_PROBE_NIC_H */
