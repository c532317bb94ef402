/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * SwiftRDMA: the memory that a process and the kernel module share.
 *
 * Documentation
 * =============
 *
 * A process that wants its RDMA traffic measured and steered from within opens
 * %SWIFTRDMA_SHARE_PATH for reading, calls %SWIFTRDMA_IOC_ATTACH once for each RDMA device
 * that it has opened, and closes the file again. Each call gives two memory files:
 *
 * *report*	the process writes, the kernel reads and trusts nothing in it;
 * *control*	the kernel writes, the process can only read.
 *
 * Both have a fixed size and are sealed against shrinking and growing, control against
 * writing too. Neither has file operations of the module: an open descriptor or a mapping
 * keeps the memory alive, and does not keep the module loaded. A process maps the files and
 * closes the descriptors. It keeps the mappings out of its children (MADV_DONTFORK); a child
 * attaches by itself.
 *
 * An attachment belongs to the process (thread group) and user context that made it. It
 * ends with the process, when the process attaches the same device again, or when the module
 * is disarmed. A process whose attachment has ended may go on writing to its report, which the
 * kernel does not read any more.
 *
 * Layout
 * ------
 *
 * Each file starts with a header that gives offset and size of everything after it. A
 * reader takes offsets and sizes from the header, checks that they lie within the file and
 * are multiples of 64, and ignores what it does not know: newer writers append fields to
 * structures and structures to files. What is not written yet is zero. A field is never
 * moved and never changes its meaning within a %SWIFTRDMA_SHARE_VERSION.
 *
 * report:
 *
 *	struct swiftrdma_report		at 0
 *	struct swiftrdma_hist		at .latency_off, post to completion
 *	struct swiftrdma_hist		at .hol_off, head-of-line wait
 *	struct swiftrdma_slot[]		at .slots_off, .slots of .slot_size bytes
 *
 * control:
 *
 *	struct swiftrdma_control	at 0
 *	struct swiftrdma_block		at .job_off, knobs of the job
 *	struct swiftrdma_block[]	at .blocks_off, .blocks of .block_size bytes;
 *					block i belongs to the QP in slot i of report
 *
 * Units: times are ns; points in time are CLOCK_MONOTONIC as the process reads it, in its
 * own time namespace; rates are per second.
 * All numbers are in the host's byte order and naturally aligned.
 *
 * Memory order in report
 * ----------------------
 *
 * Every counter is a u64 that only grows, and is read and written by single 8-byte accesses.
 * There is no lock and no sequence counter: a process that is killed in the middle of an
 * update leaves each counter at its old or its new value, and no reader waits for anyone.
 * A counter has one writer at a time, or is written by atomic additions; which of the two
 * is the library's business.
 *
 * A reader may assume
 *  - that a counter it reads twice did not step back, if the slot has the same
 *    generation both times;
 *  - that the fields of a struct swiftrdma_report up to .attached_ns but for .slots_used, and
 *    the identity of a slot but for .flags, .stopped and what follows it, once published (by magic,
 *    generation), do not change until the generation does.
 *
 * A reader may not assume
 *  - any order between two counters. WRs that are done may exceed WRs posted for a moment
 *    (the outstanding ones are then 0), buckets need not add up to the number of WRs, sums
 *    may be ahead of counts;
 *  - that a process which is not under its control obeys any of this. The kernel checks
 *    bounds, that counters grow, and that the QP of a slot is the owner's.
 *
 * Publication: the writer fills a structure, then stores magic (or generation) with release
 * order; the reader loads it with acquire order, and ignores a structure whose magic is
 * wrong or whose generation is 0. To reuse a slot, the writer stores generation 0, adds what
 * the slot counted to struct swiftrdma_report.gone, clears the slot, fills it, and stores
 * the new generation. The total of a process is therefore gone plus all slots with a
 * generation, dead ones included. Between the first two steps it is too small: a reader
 * that sees a total step back keeps the greater one until the total has passed it.
 *
 * Cache lines: identity, the poster's counters, the poller's and the sampled latencies are
 * on lines of their own. Counters of posting and polling exist twice, in owner and others:
 * the first thread that posts (polls) has owner to itself, all other threads share others.
 * A figure is the sum of both.
 *
 * Latency
 * -------
 *
 * The latency of a work request is the time from the call that posted it until the
 * process polled the completion that covers it: that of the request itself if it was
 * signalled, else of the next signalled one in its queue. It includes the time that the
 * process took to poll. The head-of-line wait of a work request is the time from the call
 * that posted it until the process knew that all work requests before it in the same send
 * queue were complete; 0 if none was outstanding.
 *
 * Both are sampled. Each sample stands for as many work requests as lie, on average,
 * between two samples at that moment: its weight, which is what is added to the bucket.
 * .samples counts the samples, .wrs adds up their weights.
 *
 * The kernel collects, for the job, the buckets of the latency histogram, and only the sums of
 * everything else. The buckets of the head-of-line wait and struct swiftrdma_slot.coarse are for
 * readers that have the file: the process itself (swiftrdma_read_quantile()), or a debugger.
 *
 * Memory order in control
 * -----------------------
 *
 * A structure that must be read as one exists in two copies and has a change counter
 * (a latch). The kernel writes the copy that is not current, then stores the counter plus
 * one with release order; copy [counter & 1] is current. The reader loads the counter with
 * acquire order, copies copy [counter & 1], executes a load barrier, and loads the counter
 * again; if that differs, it starts over. A kernel that stops at any point makes no reader
 * wait: the counter then stays as it is, and the current copy is not written. A reader
 * bounds its attempts and keeps what it read last.
 *
 * %SWIFTRDMA_SHARE_KNOB_UAR is the only knob of single QPs. The part of the file with their blocks
 * has no memory until it is read, or the kernel writes a block there. After each such write the
 * kernel raises struct swiftrdma_control.qp_changes, and then the change counter of the job's
 * block. So a process that looks at the job's counter in its posts need not look at anything else,
 * and reads blocks of QPs only up to .blocks_used.
 *
 * A knob holds until struct swiftrdma_knob_value.until_ns. Past that time the process
 * drops it by itself, whatever else the file says. When struct swiftrdma_control.state is
 * not %SWIFTRDMA_CONTROL_LIVE, no knob holds.
 *
 * Messages between two ends
 * -------------------------
 *
 * A process that calls %SWIFTRDMA_IOC_LISTEN for an attachment has an inbox there, in the
 * kernel. From then on a process that holds the other end of one of its connected QPs can send it
 * a message (%SWIFTRDMA_IOC_TELL). The modules of both hosts relay the message to the inbox. The
 * eventfd of the listener is signalled, and the listener takes the message out of the inbox
 * (%SWIFTRDMA_IOC_HEAR). Both ends may be on one host, or in one process.
 *
 * A message may be lost, and no message arrives twice. Success of TELL means that the message is
 * in the inbox; -ETIMEDOUT leaves open whether it is. An inbox holds %SWIFTRDMA_INBOX_MESSAGES; a
 * message for which there is no room is dropped and counted. Messages that were sent one after
 * the other arrive in this order. The sender's kernel checks that the sending process owns a QP
 * which is connected to the receiver's QP. The receiver's kernel accepts a message only if its
 * sender has received a random number at the address to which the receiver's QP is connected.
 * Nothing checks the contents of a message.
 *
 * The inbox ends with the attachment; the eventfd is signalled then, too. A child of a fork
 * has neither.
 *
 * Errors of the ioctls
 * --------------------
 *
 * -EINVAL: unknown flags, reserved fields that are not zero, a size below that of version 1,
 * a name that is not terminated; -E2BIG: the caller's structure is larger than a page, or
 * than the kernel's and what the kernel does not know is not zero; -ENODEV: no such device;
 * -ENXIO: the process has not opened the device, or asks and is not attached; -ENOENT: there is
 * no job of the name that was asked for; -EAGAIN: the process changes its wish too often;
 * -EDQUOT: too many attachments of this user; -ESHUTDOWN: the module is disarmed;
 * -ENOTTY: unknown command; -ENOMEM: also where the process's memory cgroup has not enough;
 * -EFAULT: the caller's structure is not mapped, or is not in memory at the moment. The kernel
 * does not wait for it, so that no caller can hold up the removal of the module: a caller writes
 * to its structure and tries again, a few times.
 *
 * Of LISTEN: -EBADF, -EINVAL: no eventfd. Of HEAR: -ENXIO: no inbox, or none any more; -ENOMSG: it
 * is empty. Of TELL: -EMSGSIZE: no byte, or too many; -ENOENT: the process has no such QP;
 * -ENOTCONN: the QP is not connected; -EADDRNOTAVAIL: its peer's address is not known, because the
 * QP is older than the module; -EAGAIN: too many messages of this process; -ENODEV: also
 * where the port has no channel; -EOPNOTSUPP: the other host has no module, or one that is too
 * old; -ECONNREFUSED: no process listens at the other end; -ENOBUFS: its inbox is full;
 * -ETIMEDOUT: no answer; -EHOSTUNREACH: nothing could be sent; -EINTR: the caller is being killed.
 * A call of TELL takes 2 s at most.
 */
#ifndef _UAPI_RDMA_SWIFTRDMA_SHARE_H
#define _UAPI_RDMA_SWIFTRDMA_SHARE_H

#include <linux/ioctl.h>
#include <linux/types.h>
#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/build_bug.h>
#else
#include <assert.h>
#endif

#define SWIFTRDMA_SHARE_PATH		"/proc/swiftrdma"
#define SWIFTRDMA_SHARE_VERSION		1
/* "SRDMARPT" and "SRDMACTL" in little-endian byte order. */
#define SWIFTRDMA_REPORT_MAGIC		0x545052414d445253ULL
#define SWIFTRDMA_CONTROL_MAGIC		0x4c5443414d445253ULL
#define SWIFTRDMA_SHARE_LINE		64	/* all offsets and sizes are multiples */
#define SWIFTRDMA_SHARE_NAME_LEN	64	/* of a device; with the final 0 */
#define SWIFTRDMA_SHARE_JOB_LEN		32	/* of a job; with the final 0 */
#define SWIFTRDMA_SHARE_LIB_LEN		32	/* of the library's version; with the final 0 */
#define SWIFTRDMA_SLOTS_MAX		16384	/* QPs of one attachment that have slots */
#define SWIFTRDMA_SHARE_KNOBS		14	/* capacity of each list of knobs */

/* --- ioctls -------------------------------------------------------------- */

#define SWIFTRDMA_IOC_MAGIC		0xCE

/**
 * struct swiftrdma_attach - %SWIFTRDMA_IOC_ATTACH
 * @size: in: size of this structure as the caller knows it
 * @flags: in: 0
 * @dev_name: in: the RDMA device, by name; empty: by @dev_index. Out: its name
 * @dev_index: in: the RDMA device, by index, if @dev_name is empty. Out: its index
 * @version: in: the %SWIFTRDMA_SHARE_VERSION that the caller writes. Out: the one
 *	that the kernel writes; the kernel refuses one that it cannot read (-EINVAL)
 * @slots: in: slots for QPs that the caller would like, 1 to %SWIFTRDMA_SLOTS_MAX. Out:
 *	those it got, at least 1. A user who has many attachments gets fewer for each
 * @reserved: 0
 * @report_fd: out: the report file, O_RDWR | O_CLOEXEC
 * @control_fd: out: the control file, O_RDONLY | O_CLOEXEC
 * @report_size: out: bytes of the report file, a multiple of the page size
 * @control_size: out: bytes of the control file, a multiple of the page size
 *
 * The report file is zero; its header and slots are the caller's to write. The kernel
 * uses the report when it finds its magic. The slots must begin at the offset and have
 * the size that follow from version 1's structures and @slots, see swiftrdma_report_bytes().
 * Attaching the same device a second time ends the first attachment.
 */
struct swiftrdma_attach {
	__u32 size;
	__u32 flags;
	char dev_name[SWIFTRDMA_SHARE_NAME_LEN];
	__u32 dev_index;
	__u32 version;
	__u32 slots;
	__u32 reserved;
	__s32 report_fd;
	__s32 control_fd;
	__u64 report_size;
	__u64 control_size;
};

/**
 * struct swiftrdma_ask - %SWIFTRDMA_IOC_ASK
 * @size: in: size of this structure as the caller knows it
 * @flags: in: 0
 * @job: in: the job that the process would like to be in; empty: no wish
 * @slo_p99_ns: in: the 99th percentile of latency that the process would like; 0: no wish
 * @reserved: 0
 *
 * The rules decide whether a process that asks is in the job, and whether it may have the
 * objective (%SWIFTRDMA_RULE_A_ASKED, %SWIFTRDMA_RULE_A_SLO_P99_MIN).
 * Success means that the kernel took note of the wish, in place of the former one. What holds
 * is in struct swiftrdma_control_job when the call returns; QPs that exist follow soon after.
 * The kernel decides anew when the rules change. After an error the former wish stands.
 *
 * The wish is the process's, for all its devices. It ends with the last attachment of the
 * process, and when the process executes another program.
 */
struct swiftrdma_ask {
	__u32 size;
	__u32 flags;
	char job[SWIFTRDMA_SHARE_JOB_LEN];
	__u64 slo_p99_ns;
	__u64 reserved;
};

#define SWIFTRDMA_TELL_BYTES		128	/* of a message, at most */
#define SWIFTRDMA_INBOX_MESSAGES	32	/* that an inbox holds */

/**
 * struct swiftrdma_listen - %SWIFTRDMA_IOC_LISTEN
 * @size: in: size of this structure as the caller knows it
 * @flags: in: 0
 * @dev_index: in: the RDMA device, by index; the process is attached to it
 * @event_fd: in: an eventfd, which is signalled for each message. The kernel keeps a reference
 *	to it until the attachment ends or another one is given; the descriptor may be closed
 *
 * Messages that are in the inbox already stay there.
 */
struct swiftrdma_listen {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__s32 event_fd;
};

/**
 * struct swiftrdma_tell - %SWIFTRDMA_IOC_TELL
 * @size: in: size of this structure as the caller knows it
 * @flags: in: 0
 * @dev_index: in: the RDMA device, by index; the process is attached to it
 * @qpn: in: a connected QP of the calling process; the message goes to its peer
 * @length: in: bytes of the message, 1 to %SWIFTRDMA_TELL_BYTES
 * @reserved: 0
 * @bytes: in: the message
 */
struct swiftrdma_tell {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 qpn;
	__u32 length;
	__u32 reserved;
	__u8 bytes[SWIFTRDMA_TELL_BYTES];
};

/**
 * struct swiftrdma_hear - %SWIFTRDMA_IOC_HEAR
 * @size: in: size of this structure as the caller knows it
 * @flags: in: 0
 * @dev_index: in: the RDMA device, by index
 * @qpn: out: the QP of the calling process whose peer sent the message
 * @length: out: bytes of the message
 * @reserved: 0
 * @dropped: out: messages for which the inbox had no room, since the process began to listen
 * @bytes: out: the message
 */
struct swiftrdma_hear {
	__u32 size;
	__u32 flags;
	__u32 dev_index;
	__u32 qpn;
	__u32 length;
	__u32 reserved;
	__u64 dropped;
	__u8 bytes[SWIFTRDMA_TELL_BYTES];
};

/* The size is in the structure, so that the number stays when the structure grows. */
#define SWIFTRDMA_IOC_ATTACH	_IO(SWIFTRDMA_IOC_MAGIC, 1)
#define SWIFTRDMA_IOC_ASK	_IO(SWIFTRDMA_IOC_MAGIC, 2)
#define SWIFTRDMA_IOC_LISTEN	_IO(SWIFTRDMA_IOC_MAGIC, 3)
#define SWIFTRDMA_IOC_TELL	_IO(SWIFTRDMA_IOC_MAGIC, 4)
#define SWIFTRDMA_IOC_HEAR	_IO(SWIFTRDMA_IOC_MAGIC, 5)

/* --- report -------------------------------------------------------------- */

/*
 * Buckets of a struct swiftrdma_hist. Bucket 0 has what is below 64 ns and the last one
 * what is 2^37 ns (137 s) and above. In between, each power of two is split into 32 buckets
 * of equal width, so that a bucket is at most 1/32 (3.2 %) of its lower bound wide.
 */
#define SWIFTRDMA_HIST_SUB_BITS		5
#define SWIFTRDMA_HIST_MIN_BITS		6
#define SWIFTRDMA_HIST_MAX_BITS		37
#define SWIFTRDMA_HIST_BUCKETS \
	(((SWIFTRDMA_HIST_MAX_BITS - SWIFTRDMA_HIST_MIN_BITS) << SWIFTRDMA_HIST_SUB_BITS) + 2)

/*
 * Buckets of a slot: bucket 0 has what is below 128 ns, bucket i, 1 to 30, what is at least
 * 2^(i + 6) ns and below 2^(i + 7) ns, bucket 31 what is 2^37 ns (137 s) and above.
 */
#define SWIFTRDMA_COARSE_BUCKETS	32

/**
 * struct swiftrdma_hist - a log-linear histogram of times
 * @samples: samples taken
 * @wrs: work requests that they stand for, the sum of all weights
 * @sum_ns: sum of weight times value; with @wrs, the mean
 * @max_ns: the greatest value
 * @reserved: 0
 * @bucket: weights, by swiftrdma_hist_bucket()
 */
struct swiftrdma_hist {
	__u64 samples;
	__u64 wrs;
	__u64 sum_ns;
	__u64 max_ns;
	__u64 reserved[2];
	__u64 bucket[SWIFTRDMA_HIST_BUCKETS];
};

/**
 * enum swiftrdma_slot_flags - what is true of the figures of a slot
 * @SWIFTRDMA_SLOT_DEAD: the QP was destroyed; the figures are its last
 * @SWIFTRDMA_SLOT_NO_ORDER: completions are not matched with work requests, and there is no
 *	outstanding and no latency: the library only counts, or lost the order of the send queue
 *	and waits for the QP's next RESET
 * @SWIFTRDMA_SLOT_ERROR: the QP had an error completion since its last RESET
 * @SWIFTRDMA_SLOT_WR_API: requests are posted by ibv_wr_*
 * @SWIFTRDMA_SLOT_CHUNK: requests can be split
 * @SWIFTRDMA_SLOT_FIXED: the library moves QPs to other registers, but can never move this one
 * @SWIFTRDMA_SLOT_DOMAIN: the program has put the QP in a parent domain, which determines its
 *	register: the library neither places nor moves it
 */
enum swiftrdma_slot_flags {
	SWIFTRDMA_SLOT_DEAD	= 1 << 0,
	SWIFTRDMA_SLOT_NO_ORDER	= 1 << 1,
	SWIFTRDMA_SLOT_ERROR	= 1 << 2,
	SWIFTRDMA_SLOT_WR_API	= 1 << 3,
	SWIFTRDMA_SLOT_CHUNK	= 1 << 4,
	SWIFTRDMA_SLOT_FIXED	= 1 << 5,
	SWIFTRDMA_SLOT_DOMAIN	= 1 << 6,
};

/**
 * struct swiftrdma_slot_id - which QP, and what is true of it; one cache line
 * @generation: of this use of the slot, written last; 0: unused. Generations of an
 *	attachment start at 1 and are not reused
 * @qpn: QP number
 * @type: enum ibv_qp_type, as the process created it
 * @flags: enum swiftrdma_slot_flags; changes while the generation stays
 * @max_send_wr: size of the send queue as the provider gave it
 * @created_ns: when the QP was created
 * @stopped: how often the library lost the order of the send queue
 * @now_qpn: the QP that carries the requests of this one since it has moved; 0: itself. The kernel
 *	accepts only a QP of the same process and device
 * @uar_state: what the library does about %SWIFTRDMA_SHARE_KNOB_UAR, enum swiftrdma_knob_state:
 *	IN_FORCE: the QP has moved, or need not; UNABLE: it cannot, or the move has failed
 * @uar_qpn: the value of the knob that @uar_state answers, written after it; 0: none yet, or, if
 *	@uar_state is UNABLE, every one: the QP can never move
 * @moves: how often it has moved
 * @reserved: 0
 */
struct swiftrdma_slot_id {
	__u64 generation;
	__u32 qpn;
	__u32 type;
	__u32 flags;
	__u32 max_send_wr;
	__u64 created_ns;
	__u64 stopped;
	__u32 now_qpn;
	__u32 uar_state;
	__u32 uar_qpn;
	__u32 moves;
	__u64 reserved;
};

/**
 * struct swiftrdma_posted - counted when requests are posted; one cache line
 * @wrs: work requests that the send queue took
 * @bytes: bytes in their scatter/gather lists and inline data
 * @calls: calls that posted at least one
 * @recv_wrs: work requests that the receive queue took
 * @reserved: 0
 */
struct swiftrdma_posted {
	__u64 wrs;
	__u64 bytes;
	__u64 calls;
	__u64 recv_wrs;
	__u64 reserved[4];
};

/**
 * struct swiftrdma_polled - counted when completions are polled; one cache line
 * @wcs: successful completions of the send queue
 * @wrs: work requests of the send queue that are complete, unsignalled ones included
 * @dropped: work requests of the send queue whose completion the library will not see:
 *	outstanding at a RESET, at the end of the QP, or when the order was lost
 * @recv_wcs: successful completions of the receive queue
 * @recv_bytes: bytes that these brought
 * @errors: completions with an error, of both queues
 * @reserved: 0
 *
 * Outstanding work requests: struct swiftrdma_posted.wrs - @wrs - @dropped, where
 * %SWIFTRDMA_SLOT_NO_ORDER is not set; a negative result is 0.
 */
struct swiftrdma_polled {
	__u64 wcs;
	__u64 wrs;
	__u64 dropped;
	__u64 recv_wcs;
	__u64 recv_bytes;
	__u64 errors;
	__u64 reserved[2];
};

/**
 * struct swiftrdma_times - a sum of sampled times
 * @samples: samples taken
 * @wrs: work requests that they stand for
 * @sum_ns: sum of weight times value
 * @max_ns: the greatest value
 */
struct swiftrdma_times {
	__u64 samples;
	__u64 wrs;
	__u64 sum_ns;
	__u64 max_ns;
};

/**
 * struct swiftrdma_slot - figures of one QP
 * @id: which QP
 * @post_owner: of the first thread that posted
 * @post_others: of all other threads
 * @poll_owner: of the first thread that polled
 * @poll_others: of all other threads
 * @latency: post to completion
 * @hol: head-of-line wait
 * @coarse: latencies by swiftrdma_coarse_bucket(). Each entry wraps at 2^32:
 *	a reader takes differences modulo 2^32
 */
struct swiftrdma_slot {
	struct swiftrdma_slot_id id;
	struct swiftrdma_posted post_owner;
	struct swiftrdma_posted post_others;
	struct swiftrdma_polled poll_owner;
	struct swiftrdma_polled poll_others;
	struct swiftrdma_times latency;
	struct swiftrdma_times hol;
	__u32 coarse[SWIFTRDMA_COARSE_BUCKETS];
};

/**
 * enum swiftrdma_share_knob - knobs that a library in the process enforces
 * @SWIFTRDMA_SHARE_KNOB_WR_RATE: ceiling of the process, WR/s (job)
 * @SWIFTRDMA_SHARE_KNOB_BIT_RATE: ceiling of the process, bit/s (job)
 * @SWIFTRDMA_SHARE_KNOB_CREDITS: limit on the process's outstanding WRs (job)
 * @SWIFTRDMA_SHARE_KNOB_WEIGHT: weight of the job's task queue on a shared QP (job)
 * @SWIFTRDMA_SHARE_KNOB_QPS: merge onto, or spread over, so many QPs (job)
 * @SWIFTRDMA_SHARE_KNOB_UAR: move the QP to another UAR, the one with least to do or a new one, if
 *	the QP whose number is the value carries its requests (QP)
 * @SWIFTRDMA_SHARE_KNOB_PLACE: where new QPs go, enum swiftrdma_place (job)
 * @SWIFTRDMA_SHARE_KNOB_CHUNK: size above which writes and reads are split, bytes, a power of
 *	two (job)
 * @SWIFTRDMA_SHARE_KNOB_HUGE_PAGES: 1: collapse memory before it is registered; 0: not (job)
 * @__SWIFTRDMA_SHARE_KNOB_MAX: one past the last
 *
 * If the job has WR_RATE, BIT_RATE or CREDITS, the kernel writes the share of this process; of any
 * other knob it writes the job's own value. 0 may be a value: struct
 * swiftrdma_knob_value.until_ns says whether a knob is set. If PLACE or HUGE_PAGES is not set, the
 * process does what its environment says, and as for 0 if that says nothing. If CHUNK is not set,
 * the process splits nothing.
 *
 * UAR asks for one move. A QP cannot change its UAR, so the process creates another QP, with
 * another number, which carries the requests from then on. So the same value does not move
 * the QP twice, however often it is written, and a process that could not move it does not try
 * again while the knob holds. A QP that has its UAR for itself stays. When the knob ends, nothing
 * moves back. The process answers in struct swiftrdma_slot_id.
 */
enum swiftrdma_share_knob {
	SWIFTRDMA_SHARE_KNOB_WR_RATE,
	SWIFTRDMA_SHARE_KNOB_BIT_RATE,
	SWIFTRDMA_SHARE_KNOB_CREDITS,
	SWIFTRDMA_SHARE_KNOB_WEIGHT,
	SWIFTRDMA_SHARE_KNOB_QPS,
	SWIFTRDMA_SHARE_KNOB_UAR,
	SWIFTRDMA_SHARE_KNOB_PLACE,
	SWIFTRDMA_SHARE_KNOB_CHUNK,
	SWIFTRDMA_SHARE_KNOB_HUGE_PAGES,
	__SWIFTRDMA_SHARE_KNOB_MAX
};

/**
 * enum swiftrdma_place - values of %SWIFTRDMA_SHARE_KNOB_PLACE
 * @SWIFTRDMA_PLACE_DEFAULT: where the provider puts them
 * @SWIFTRDMA_PLACE_LIGHTEST: on the UAR with least to do
 * @SWIFTRDMA_PLACE_BY_THREAD: on one UAR for each thread that creates QPs
 */
enum swiftrdma_place {
	SWIFTRDMA_PLACE_DEFAULT,
	SWIFTRDMA_PLACE_LIGHTEST,
	SWIFTRDMA_PLACE_BY_THREAD,
};

/**
 * enum swiftrdma_knob_state - what a library does about a knob
 * @SWIFTRDMA_KNOB_STATE_NONE: it cannot enforce the knob
 * @SWIFTRDMA_KNOB_STATE_IDLE: it can; none is in force
 * @SWIFTRDMA_KNOB_STATE_IN_FORCE: it enforces the value in control
 * @SWIFTRDMA_KNOB_STATE_UNABLE: it can in general, but not for this program, or not now
 */
enum swiftrdma_knob_state {
	SWIFTRDMA_KNOB_STATE_NONE,
	SWIFTRDMA_KNOB_STATE_IDLE,
	SWIFTRDMA_KNOB_STATE_IN_FORCE,
	SWIFTRDMA_KNOB_STATE_UNABLE,
};

/**
 * struct swiftrdma_knob_report - what the library does about one knob
 * @state: enum swiftrdma_knob_state
 * @reserved: 0
 * @value: the value in force
 */
struct swiftrdma_knob_report {
	__u32 state;
	__u32 reserved;
	__u64 value;
};

/* The knobs that make posts wait: the first of enum swiftrdma_share_knob. */
#define SWIFTRDMA_SHARE_HELD		(SWIFTRDMA_SHARE_KNOB_CREDITS + 1)

/**
 * struct swiftrdma_held - posts that waited for a knob; each field only grows
 * @posts: calls that waited
 * @wrs: their work requests
 * @ns: how long they waited, added up; counted while they still wait, too
 * @passed: calls that were let through because they had waited for as long as a call may, or
 *	that waited and whose work requests take longer than the next call may wait. Their work
 *	requests are charged all the same, up to what the next call may wait for
 */
struct swiftrdma_held {
	__u64 posts;
	__u64 wrs;
	__u64 ns;
	__u64 passed;
};

/**
 * struct swiftrdma_gone - sums over QPs whose slots were used again, or that got none
 * @wrs: as in struct swiftrdma_posted
 * @bytes: as in struct swiftrdma_posted
 * @calls: as in struct swiftrdma_posted
 * @recv_wrs: as in struct swiftrdma_posted
 * @wcs: as in struct swiftrdma_polled
 * @done_wrs: struct swiftrdma_polled.wrs
 * @dropped: as in struct swiftrdma_polled
 * @recv_wcs: as in struct swiftrdma_polled
 * @recv_bytes: as in struct swiftrdma_polled
 * @errors: as in struct swiftrdma_polled
 * @stopped: as in struct swiftrdma_slot_id
 * @qps: QPs that are in these sums; those without a slot from their destruction on
 * @reserved: 0
 */
struct swiftrdma_gone {
	__u64 wrs;
	__u64 bytes;
	__u64 calls;
	__u64 recv_wrs;
	__u64 wcs;
	__u64 done_wrs;
	__u64 dropped;
	__u64 recv_wcs;
	__u64 recv_bytes;
	__u64 errors;
	__u64 stopped;
	__u64 qps;
	__u64 reserved[4];
};

/**
 * struct swiftrdma_report - header of the report file
 * @magic: %SWIFTRDMA_REPORT_MAGIC, written last
 * @version: %SWIFTRDMA_SHARE_VERSION of the writer
 * @header_size: bytes of this structure as the writer knows it
 * @latency_off: struct swiftrdma_hist of latency
 * @hol_off: struct swiftrdma_hist of head-of-line wait
 * @hist_size: bytes of a struct swiftrdma_hist as the writer knows it
 * @hist_buckets: buckets of each
 * @slots_off: the first slot
 * @slot_size: bytes from one slot to the next
 * @slots: number of slots
 * @pid: the process, in its own pid namespace
 * @start_time: of the process, as in field 22 of /proc/PID/stat. The kernel goes by the
 *	process that attached; a reader of a stale copy can tell by pid and start time
 * @generation: of this use of the file, from 1; another one: everything was cleared
 * @dev_index: the RDMA device, as in struct swiftrdma_attach
 * @slots_used: slots up to this one may have a generation; those above never had one
 * @attached_ns: when the process attached
 * @lib_version: of the library, for people
 * @knob: what the library does about each knob, by enum swiftrdma_share_knob
 * @control_seen: the job's change counter in control that @knob answers. Control is read at
 *	the start of each call that a knob acts on: one that posts, for PLACE one that creates a
 *	QP, for HUGE_PAGES one that registers memory. So a process that made no such call since a
 *	change obeys it without an answer
 * @srq_recv_wrs: work requests that shared receive queues took
 * @qps: QPs created since @attached_ns
 * @qps_unslotted: QPs of them that got no slot
 * @unmatched: completions of QPs that the library does not know
 * @held: posts that waited, by enum swiftrdma_share_knob
 * @huge_regions: registrations before which the library looked for memory to collapse
 * @huge_ranges: ranges of the size of a huge page of these regions that it made one, or that
 *	were one before
 * @huge_left: other such ranges
 * @chunk_wrs: work requests that were split
 * @chunk_left: work requests of more bytes than %SWIFTRDMA_SHARE_KNOB_CHUNK that were not
 * @gone: sums over QPs that have no slot any more
 */
struct swiftrdma_report {
	__u64 magic;
	__u32 version;
	__u32 header_size;
	__u32 latency_off;
	__u32 hol_off;
	__u32 hist_size;
	__u32 hist_buckets;
	__u32 slots_off;
	__u32 slot_size;
	__u32 slots;
	__u32 pid;
	__u64 start_time;
	__u64 generation;
	__u32 dev_index;
	__u32 slots_used;
	__u64 attached_ns;
	char lib_version[SWIFTRDMA_SHARE_LIB_LEN];
	struct swiftrdma_knob_report knob[SWIFTRDMA_SHARE_KNOBS];
	__u64 control_seen;
	__u64 srq_recv_wrs;
	__u64 qps;
	__u64 qps_unslotted;
	__u64 unmatched;
	struct swiftrdma_held held[SWIFTRDMA_SHARE_HELD];
	__u64 huge_regions;
	__u64 huge_ranges;
	__u64 huge_left;
	__u64 chunk_wrs;
	__u64 chunk_left;
	struct swiftrdma_gone gone;
};

/* --- control ------------------------------------------------------------- */

/**
 * struct swiftrdma_knob_value - a knob in force
 * @value: its value, in the unit of enum swiftrdma_share_knob
 * @until_ns: until when it holds; 0: not set
 */
struct swiftrdma_knob_value {
	__u64 value;
	__u64 until_ns;
};

/**
 * struct swiftrdma_block - the knobs of a job or of a QP, a latch
 * @changes: change counter; copy [@changes & 1] of @knob is current
 * @generation: of the slot that the kernel answers, 0: none; the process obeys the block
 *	only if this and @qpn are those of its slot. In the job's block: 1
 * @qpn: of the QP in that slot, once the kernel found that the QP is the owner's
 * @reserved: 0
 * @knob: two copies, by enum swiftrdma_share_knob
 *
 * The kernel clears @knob, with two changes, before it stores another @generation.
 */
struct swiftrdma_block {
	__u64 changes;
	__u64 generation;
	__u32 qpn;
	__u32 reserved[11];
	struct swiftrdma_knob_value knob[2][SWIFTRDMA_SHARE_KNOBS];
};

/**
 * struct swiftrdma_control_job - the job that the process is in, and its objective
 * @job_id: the job that new QPs of the process are in; 0: unassigned
 * @job_class: enum swiftrdma_job_class of the job
 * @slo_p99_ns: the objective that the process asked for and was granted; 0: none
 * @refused: 1: the process asked for another job, or for an objective and was not granted it
 * @reserved: 0
 * @name: of the job
 */
struct swiftrdma_control_job {
	__u32 job_id;
	__u32 job_class;
	__u64 slo_p99_ns;
	__u32 refused;
	__u32 reserved[3];
	char name[SWIFTRDMA_SHARE_JOB_LEN];
};

/**
 * enum swiftrdma_control_state - whether the module writes to control
 * @SWIFTRDMA_CONTROL_NONE: not yet
 * @SWIFTRDMA_CONTROL_LIVE: it does
 * @SWIFTRDMA_CONTROL_ENDED: not any more, and never again; no knob holds. The process may attach
 *	again
 */
enum swiftrdma_control_state {
	SWIFTRDMA_CONTROL_NONE,
	SWIFTRDMA_CONTROL_LIVE,
	SWIFTRDMA_CONTROL_ENDED,
};

/**
 * struct swiftrdma_control - header of the control file
 * @magic: %SWIFTRDMA_CONTROL_MAGIC, written last
 * @version: %SWIFTRDMA_SHARE_VERSION of the kernel
 * @header_size: bytes of this structure as the kernel knows it
 * @job_off: struct swiftrdma_block of the job
 * @blocks_off: the first QP's
 * @block_size: bytes from one block to the next
 * @blocks: number of QPs' blocks, that of the slots
 * @state: enum swiftrdma_control_state
 * @blocks_used: QPs' blocks up to this one may have been written
 * @reserved: 0
 * @changes: change counter of @job; copy [@changes & 1] is current
 * @qp_changes: grows after each write to a QP's block
 * @reserved2: 0
 * @job: two copies
 */
struct swiftrdma_control {
	__u64 magic;
	__u32 version;
	__u32 header_size;
	__u32 job_off;
	__u32 blocks_off;
	__u32 block_size;
	__u32 blocks;
	__u32 state;
	__u32 blocks_used;
	__u32 reserved[6];
	__u64 changes;
	__u64 qp_changes;
	__u64 reserved2[6];
	struct swiftrdma_control_job job[2];
};

/* --- functions for both sides ---------------------------------------------- */

/* Position of the highest bit that is set, from 1; @ns is not 0. */
static inline __u32 swiftrdma_share_bits(__u64 ns)
{
#ifdef __KERNEL__
	return (__u32)fls64(ns);
#else
	return 64 - (__u32)__builtin_clzll(ns);
#endif
}

/**
 * swiftrdma_hist_bucket - the bucket of a struct swiftrdma_hist that a time falls into
 * @ns: any value
 *
 * Return: 0 to %SWIFTRDMA_HIST_BUCKETS - 1; grows with @ns.
 */
static inline __u32 swiftrdma_hist_bucket(__u64 ns)
{
	__u32 top;

	if (ns < (1ULL << SWIFTRDMA_HIST_MIN_BITS))
		return 0;
	if (ns >> SWIFTRDMA_HIST_MAX_BITS)
		return SWIFTRDMA_HIST_BUCKETS - 1;
	top = swiftrdma_share_bits(ns) - 1;
	return 1 + ((top - SWIFTRDMA_HIST_MIN_BITS) << SWIFTRDMA_HIST_SUB_BITS) +
	       ((__u32)(ns >> (top - SWIFTRDMA_HIST_SUB_BITS)) &
		((1U << SWIFTRDMA_HIST_SUB_BITS) - 1));
}

/**
 * swiftrdma_hist_floor - the least time that falls into a bucket
 * @bucket: 0 to %SWIFTRDMA_HIST_BUCKETS - 1
 *
 * The times of a bucket end before swiftrdma_hist_floor(@bucket + 1); those of the last
 * bucket do not end.
 *
 * Return: ns.
 */
static inline __u64 swiftrdma_hist_floor(__u32 bucket)
{
	__u32 step;

	if (!bucket)
		return 0;
	bucket--;
	step = bucket >> SWIFTRDMA_HIST_SUB_BITS;
	bucket &= (1U << SWIFTRDMA_HIST_SUB_BITS) - 1;
	return (__u64)((1U << SWIFTRDMA_HIST_SUB_BITS) + bucket) <<
	       (step + SWIFTRDMA_HIST_MIN_BITS - SWIFTRDMA_HIST_SUB_BITS);
}

/**
 * swiftrdma_coarse_bucket - the bucket of struct swiftrdma_slot.coarse that a time falls into
 * @ns: any value
 *
 * Return: 0 to %SWIFTRDMA_COARSE_BUCKETS - 1; grows with @ns.
 */
static inline __u32 swiftrdma_coarse_bucket(__u64 ns)
{
	if (ns < 128)
		return 0;
	if (ns >> SWIFTRDMA_HIST_MAX_BITS)
		return SWIFTRDMA_COARSE_BUCKETS - 1;
	return swiftrdma_share_bits(ns) - 7;
}

#define SWIFTRDMA_SHARE_UP(bytes) \
	(((bytes) + SWIFTRDMA_SHARE_LINE - 1) & ~(__u64)(SWIFTRDMA_SHARE_LINE - 1))
#define SWIFTRDMA_REPORT_LATENCY_OFF	SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_report))
#define SWIFTRDMA_REPORT_HOL_OFF \
	(SWIFTRDMA_REPORT_LATENCY_OFF + SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_hist)))
#define SWIFTRDMA_REPORT_SLOTS_OFF \
	(SWIFTRDMA_REPORT_HOL_OFF + SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_hist)))

/**
 * swiftrdma_report_bytes - what a report with so many slots takes, in version 1
 * @slots: number of slots
 *
 * Return: bytes, before they are rounded up to pages.
 */
static inline __u64 swiftrdma_report_bytes(__u32 slots)
{
	return SWIFTRDMA_REPORT_SLOTS_OFF + (__u64)slots * sizeof(struct swiftrdma_slot);
}

/**
 * swiftrdma_control_bytes - what a control file with so many blocks takes, in version 1
 * @blocks: number of QPs' blocks
 *
 * Return: bytes, before they are rounded up to pages.
 */
static inline __u64 swiftrdma_control_bytes(__u32 blocks)
{
	return SWIFTRDMA_SHARE_UP(sizeof(struct swiftrdma_control)) +
	       (1 + (__u64)blocks) * sizeof(struct swiftrdma_block);
}

/* --- nothing of version 1 moves ---------------------------------------------- */

#define SWIFTRDMA_SHARE_HOLDS(what) static_assert(what, #what)
#define SWIFTRDMA_SHARE_AT(type, member, offset) \
	SWIFTRDMA_SHARE_HOLDS(__builtin_offsetof(struct type, member) == (offset))
#define SWIFTRDMA_SHARE_SIZE(type, bytes) \
	SWIFTRDMA_SHARE_HOLDS(sizeof(struct type) == (bytes))

SWIFTRDMA_SHARE_AT(swiftrdma_attach, dev_name, 8);
SWIFTRDMA_SHARE_AT(swiftrdma_attach, dev_index, 72);
SWIFTRDMA_SHARE_AT(swiftrdma_attach, slots, 80);
SWIFTRDMA_SHARE_AT(swiftrdma_attach, report_fd, 88);
SWIFTRDMA_SHARE_AT(swiftrdma_attach, report_size, 96);
SWIFTRDMA_SHARE_SIZE(swiftrdma_attach, 112);
SWIFTRDMA_SHARE_AT(swiftrdma_ask, job, 8);
SWIFTRDMA_SHARE_AT(swiftrdma_ask, slo_p99_ns, 40);
SWIFTRDMA_SHARE_SIZE(swiftrdma_ask, 56);
SWIFTRDMA_SHARE_AT(swiftrdma_listen, event_fd, 12);
SWIFTRDMA_SHARE_SIZE(swiftrdma_listen, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_tell, bytes, 24);
SWIFTRDMA_SHARE_SIZE(swiftrdma_tell, 152);
SWIFTRDMA_SHARE_AT(swiftrdma_hear, dropped, 24);
SWIFTRDMA_SHARE_AT(swiftrdma_hear, bytes, 32);
SWIFTRDMA_SHARE_SIZE(swiftrdma_hear, 160);

SWIFTRDMA_SHARE_HOLDS(SWIFTRDMA_HIST_BUCKETS == 994);
SWIFTRDMA_SHARE_AT(swiftrdma_hist, bucket, 48);
SWIFTRDMA_SHARE_SIZE(swiftrdma_hist, 8000);
SWIFTRDMA_SHARE_HOLDS(sizeof(struct swiftrdma_hist) % SWIFTRDMA_SHARE_LINE == 0);
SWIFTRDMA_SHARE_SIZE(swiftrdma_slot_id, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_slot_id, qpn, 8);
SWIFTRDMA_SHARE_AT(swiftrdma_slot_id, flags, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_slot_id, created_ns, 24);
SWIFTRDMA_SHARE_AT(swiftrdma_slot_id, stopped, 32);
SWIFTRDMA_SHARE_AT(swiftrdma_slot_id, now_qpn, 40);
SWIFTRDMA_SHARE_AT(swiftrdma_slot_id, moves, 52);
SWIFTRDMA_SHARE_SIZE(swiftrdma_posted, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_posted, recv_wrs, 24);
SWIFTRDMA_SHARE_SIZE(swiftrdma_polled, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_polled, dropped, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_polled, errors, 40);
SWIFTRDMA_SHARE_SIZE(swiftrdma_times, 32);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, post_owner, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, post_others, 128);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, poll_owner, 192);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, poll_others, 256);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, latency, 320);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, hol, 352);
SWIFTRDMA_SHARE_AT(swiftrdma_slot, coarse, 384);
SWIFTRDMA_SHARE_SIZE(swiftrdma_slot, 512);
SWIFTRDMA_SHARE_SIZE(swiftrdma_knob_report, 16);
SWIFTRDMA_SHARE_HOLDS(__SWIFTRDMA_SHARE_KNOB_MAX <= SWIFTRDMA_SHARE_KNOBS);
SWIFTRDMA_SHARE_SIZE(swiftrdma_held, 32);
SWIFTRDMA_SHARE_SIZE(swiftrdma_gone, 128);
SWIFTRDMA_SHARE_AT(swiftrdma_report, latency_off, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_report, slots_off, 32);
SWIFTRDMA_SHARE_AT(swiftrdma_report, pid, 44);
SWIFTRDMA_SHARE_AT(swiftrdma_report, start_time, 48);
SWIFTRDMA_SHARE_AT(swiftrdma_report, generation, 56);
SWIFTRDMA_SHARE_AT(swiftrdma_report, dev_index, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_report, attached_ns, 72);
SWIFTRDMA_SHARE_AT(swiftrdma_report, lib_version, 80);
SWIFTRDMA_SHARE_AT(swiftrdma_report, knob, 112);
SWIFTRDMA_SHARE_AT(swiftrdma_report, control_seen, 336);
SWIFTRDMA_SHARE_AT(swiftrdma_report, unmatched, 368);
SWIFTRDMA_SHARE_AT(swiftrdma_report, held, 376);
SWIFTRDMA_SHARE_AT(swiftrdma_report, huge_regions, 472);
SWIFTRDMA_SHARE_AT(swiftrdma_report, gone, 512);
SWIFTRDMA_SHARE_SIZE(swiftrdma_report, 640);

SWIFTRDMA_SHARE_SIZE(swiftrdma_knob_value, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_block, qpn, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_block, knob, 64);
SWIFTRDMA_SHARE_SIZE(swiftrdma_block, 512);
SWIFTRDMA_SHARE_AT(swiftrdma_control_job, slo_p99_ns, 8);
SWIFTRDMA_SHARE_AT(swiftrdma_control_job, name, 32);
SWIFTRDMA_SHARE_SIZE(swiftrdma_control_job, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_control, job_off, 16);
SWIFTRDMA_SHARE_AT(swiftrdma_control, state, 32);
SWIFTRDMA_SHARE_AT(swiftrdma_control, blocks_used, 36);
SWIFTRDMA_SHARE_AT(swiftrdma_control, changes, 64);
SWIFTRDMA_SHARE_AT(swiftrdma_control, qp_changes, 72);
SWIFTRDMA_SHARE_AT(swiftrdma_control, job, 128);
SWIFTRDMA_SHARE_SIZE(swiftrdma_control, 256);

#endif /* _UAPI_RDMA_SWIFTRDMA_SHARE_H */
