/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * libswiftrdma: what the RDMA traffic of this process does, seen from within it.
 *
 * Preloaded (LD_PRELOAD, or swiftrdma run), the library watches every device that the
 * program opens. Linked, a program may also name its job and read its own figures. A function
 * that fails leaves the traffic as it is. All functions may be called from any thread.
 */
#ifndef SWIFTRDMA_LIB_H
#define SWIFTRDMA_LIB_H

#include <stdint.h>
#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * swiftrdma_version() - the version of the library
 *
 * Return: a string that stays.
 */
const char *swiftrdma_version(void);

/**
 * swiftrdma_attach() - watch a context
 * @ctx: an open context
 *
 * Contexts that ibv_open_device() and ibv_import_device() return while the library comes
 * before libibverbs in the search order (preloaded, or linked first) are watched already.
 * For QPs that were created before the call, requests are counted, but latency is not measured.
 *
 * Return: 0: it is watched; -ENOMEM; -ENODEV: the library is switched off, by
 * SWIFTRDMA_MODE=off or because the kernel lacks MADV_WIPEONFORK, by which the library notices forks.
 */
int swiftrdma_attach(struct ibv_context *ctx);

/**
 * swiftrdma_ask() - name this process's job, and its objective
 * @job: name of the job; NULL: no wish
 * @slo_p99_ns: the 99th percentile of latency to keep to, ns; 0: no wish
 *
 * The job's rules decide whether the process gets what it asks for. swiftrdma_read_job() says what
 * holds.
 *
 * Return: 0: the kernel took note, also of a wish that the rules do not permit
 * (swiftrdma_job_info.refused); -EINVAL: the name is too long; -ENOENT: no such job;
 * -EAGAIN: the process asked too often, try again later; -ENODEV: no module on this host, or the
 * library is switched off; -ENXIO: the process opened no device yet.
 */
int swiftrdma_ask(const char *job, uint64_t slo_p99_ns);

/**
 * struct swiftrdma_job_info - what the module makes of this process
 * @name: the job that it is in; empty: none
 * @slo_p99_ns: the objective that holds, ns; 0: none
 * @refused: what swiftrdma_ask() asked for was refused
 */
struct swiftrdma_job_info {
	char name[32];
	uint64_t slo_p99_ns;
	int refused;
};

/**
 * swiftrdma_read_job() - the job that this process is in
 * @ctx: a watched context
 * @info: result
 * @size: sizeof(*@info)
 *
 * Return: 0; -ENOENT: @ctx is not watched; -ENODEV: no module answers.
 */
int swiftrdma_read_job(struct ibv_context *ctx, struct swiftrdma_job_info *info, size_t size);

/**
 * struct swiftrdma_figures - what was counted, since the device or QP was first watched
 * @wrs: work requests posted to send queues
 * @bytes: bytes in them
 * @calls: calls that posted them
 * @recv_wrs: work requests posted to receive queues; of a device, those posted to shared ones, too
 * @wcs: successful completions of send queues
 * @done: work requests of send queues known to be complete, unsignalled ones included
 * @dropped: work requests of send queues whose completion the library will not see
 * @recv_wcs: successful completions of receive queues
 * @recv_bytes: bytes that these brought
 * @errors: completions with an error
 * @outstanding: work requests posted and not complete; 0 where @no_order
 * @stopped: how often the order of a send queue was lost
 * @no_order: of a QP: requests are counted only, without @done, @outstanding and latency
 * @qps: of a device: QPs created
 * @unmatched: of a device: completions of QPs that the library does not know
 */
struct swiftrdma_figures {
	uint64_t wrs, bytes, calls, recv_wrs;
	uint64_t wcs, done, dropped, recv_wcs, recv_bytes, errors;
	uint64_t outstanding, stopped, no_order;
	uint64_t qps, unmatched;
};

/**
 * swiftrdma_read_device() - figures of all QPs of a device in this process
 * @ctx: a watched context of the device
 * @figures: result
 * @size: sizeof(*@figures)
 *
 * Counting begins anew when the process has closed all its contexts of a device and opens
 * the device again.
 *
 * Return: 0; -ENOENT: @ctx is not watched.
 */
int swiftrdma_read_device(struct ibv_context *ctx, struct swiftrdma_figures *figures, size_t size);

/**
 * swiftrdma_read_qp() - figures of a QP
 * @qp: a QP of a watched context
 * @figures: result
 * @size: sizeof(*@figures)
 *
 * Return: 0; -ENOENT: the library does not know it.
 */
int swiftrdma_read_qp(struct ibv_qp *qp, struct swiftrdma_figures *figures, size_t size);

/**
 * enum swiftrdma_time - times that are measured
 * @SWIFTRDMA_TIME_LATENCY: from posting a request to polling the completion that covers it
 * @SWIFTRDMA_TIME_HOL: from posting a request until all before it in its QP were complete
 */
enum swiftrdma_time {
	SWIFTRDMA_TIME_LATENCY,
	SWIFTRDMA_TIME_HOL,
};

/**
 * struct swiftrdma_quantile - a quantile, and what it rests on
 * @ns: the upper end of the bucket that it falls into, at most 3.2 % above it; 0: no sample
 * @mean_ns: mean of all
 * @max_ns: greatest of all
 * @samples: samples that were taken
 * @samples_wanted: samples that it takes for ten to lie above the quantile
 * @wrs: work requests that the samples stand for
 */
struct swiftrdma_quantile {
	uint64_t ns, mean_ns, max_ns;
	uint64_t samples, samples_wanted;
	uint64_t wrs;
};

/**
 * swiftrdma_read_quantile() - a quantile of a time, over all QPs of a device
 * @ctx: a watched context of the device
 * @which: of which time
 * @q: the quantile, above 0 and below 1, as 0.99
 * @result: result
 * @size: sizeof(*@result)
 *
 * Return: 0; -ENOENT: @ctx is not watched; -EINVAL: @q or @which is out of bounds.
 */
int swiftrdma_read_quantile(struct ibv_context *ctx, enum swiftrdma_time which, double q,
			    struct swiftrdma_quantile *result, size_t size);

/**
 * swiftrdma_move_qp() - move a connected QP to another doorbell register
 * @qp: an RC QP that was created with SWIFTRDMA_MOVE=yes in the environment
 *
 * A second QP takes the place of the first: on mlx5 in a register of the library, else in the one that
 * the provider gives a new QP. The program goes on with @qp and its number. Both ends of the connection
 * take part, so the peer's process needs the library and this setting, too. Posts wait until nothing is
 * outstanding. No request is lost, and after an error the QP works as before, unless the connection
 * itself has failed. The call waits for the end of the move, up to some seconds; a move that the peer
 * has begun counts. Do not call it while another thread may destroy @qp.
 *
 * Return: 0: it has moved; -EOPNOTSUPP: such a QP cannot move, or its peer cannot; -ECONNREFUSED: the
 * peer's process has no library that can move it; -ENOTCONN: the QP or the peer's is not in RTS; -EACCES,
 * -EPERM: a request of the library would need access that the peer did not grant; -EIO: a request has
 * failed; -ETIMEDOUT: requests did not complete in time, or the peer did not answer; -EBUSY: the peer has
 * asked for a move itself, or too many QPs move; -EAGAIN: too many messages between the ends; -EINTR: the
 * program changed the QP; -ENOENT: the QP is gone; other: -errno of what failed.
 */
int swiftrdma_move_qp(struct ibv_qp *qp);

/**
 * swiftrdma_move_reason() - why a QP cannot move, or has not moved
 * @qp: the QP
 *
 * Return: a text in English, which stays valid; NULL: the library knows no reason, or the last move has
 * succeeded.
 */
const char *swiftrdma_move_reason(struct ibv_qp *qp);

#ifdef __cplusplus
}
#endif

#endif /* SWIFTRDMA_LIB_H */
