/* SPDX-License-Identifier: GPL-2.0 */
/*
 * softhca: a software ConnectX under the unmodified mlx5 drivers.
 *
 * Everything the device does, it does in one kernel thread, under one mutex:
 * commands, doorbells, data movement, events. So device objects need no locks
 * and no reference counts. Only debugfs comes from outside, and takes the mutex.
 */
#ifndef SOFTHCA_H
#define SOFTHCA_H

#include <linux/if_ether.h>
#include <linux/list.h>
#include <linux/mlx5/cq.h>
#include <linux/mlx5/device.h>
#include <linux/mlx5/driver.h>
#include <linux/mlx5/mlx5_ifc.h>
#include <linux/mlx5/qp.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/skbuff.h>
#include <linux/xarray.h>

#define SH_MAX_HCAS	4
#define SH_WINDOW_SIZE	(64UL << 20)
#define SH_LAG_PORTS	2
#define SH_BAR_SIZE	(8UL << 20)
#define SH_MSIX_TABLE	0x4000
#define SH_MSIX_PBA	0x5000
#define SH_MSIX_VECTORS	32
/* The pages of the initialization segment and the MSI-X table are no UARs. */
#define SH_FIRST_UAR	16
#define SH_UARS		(SH_BAR_SIZE / PAGE_SIZE)
#define SH_MASK24	0xffffff
#define SH_MAX_SEGS	64
#define SH_MAX_INDIRECTION 4	/* keys that refer to keys that refer to ... */
#define SH_LOG_MAX_KLMS	16
#define SH_MAX_WQE	1024
#define SH_GIDS		8
#define SH_ROCE_GIDS	128
#define SH_PORT_ROCE	4791	/* UDP destination port of RoCE v2 */
#define SH_ROCE_MIN_SPORT 0xc000	/* least UDP source port */
#define SH_NO_VLAN	0xffff
#define SH_GRH		40
#define SH_MTU		4096
#define SH_ST_SQ	0xff	/* service type: none, it is a send queue alone, */
#define SH_ST_RQ	0xfe	/* or a receive queue */
#define SH_LOG_MAX_FT	16	/* entries of a flow table */
#define SH_OBJ_SCHED	0x26	/* type of a general object: scheduling element */
#define SH_SCHEDS	4096	/* scheduling elements; 0 is the default one */

/* Kinds of objects that commands create and destroy. */
enum sh_kind {
	SH_PD, SH_UAR, SH_XRCD, SH_TD, SH_MKEY, SH_EQ, SH_CQ, SH_QP, SH_SRQ,
	SH_UCTX, SH_UMEM, SH_QCOUNTER, SH_SCHED, SH_TIS, SH_TIR, SH_RQT, SH_FT, SH_FG, SH_FC,
	SH_KINDS
};

struct sh_hca;
struct sh_contention;

/* What every object starts with. A uid of 0 is the kernel driver itself,
 * MLX5_SHARED_RESOURCE_UID is everybody.
 */
struct sh_obj {
	u32 id;
	u16 uid;
};

struct sh_table {
	struct xarray xa;
	const char *name;
	u32 min, max, next, count;
};

/* A queue in guest memory, as a list of its pages' bus addresses. */
struct sh_buf {
	u64 *pas;
	u32 npas;
	u8 shift;
	u32 offset;
};

struct sh_umem {
	struct sh_obj obj;
	struct sh_buf buf;
};

/* The destination of a flow rule: one receive queue, or one of the queues of a table. */
struct sh_tir {
	struct sh_obj obj;
	u32 td;		/* transport domain */
	u32 rqn;
	u32 rqtn;	/* the table; 0: the queue is @rqn */
	u8 l3, l4;	/* protocols whose fields are hashed */
	u32 fields;	/* the fields that are hashed, a bit each */
	u8 hash_key[40];
};

/* How the frames of a send queue leave. */
struct sh_tis {
	struct sh_obj obj;
	u32 td;
	u8 lag_port, prio;
};

struct sh_uar {
	struct sh_obj obj;
	void __iomem *page;
	struct list_head qps;
	struct list_head cqs;
	u64 doorbells;
	u64 wqebbs;
	u32 nqps;
	u8 rung;	/* registers of it, in this look */
};

struct sh_eq {
	struct sh_obj obj;
	struct list_head link;
	struct sh_buf buf;
	u64 mask[4];
	u32 pi, ci;
	u8 log_size;
	u8 intr;
	bool raise;
	u8 eqc[MLX5_ST_SZ_BYTES(eqc)];
};

struct sh_cq {
	struct sh_obj obj;
	struct list_head on_uar;
	struct sh_hca *hca;
	struct sh_uar *uar;
	struct sh_buf buf;
	__be32 *dbrec;
	u32 pi;
	u32 sol_pi;	/* one past the last CQE of interest to a solicited arm */
	u32 arm_ci;
	__be32 arm_seen;
	u32 last_notified;
	u32 eqn;
	u32 nqps;
	u8 log_size;
	bool cqe128;
	bool oi;
	bool armed, armed_sol;
	bool failed;
	u8 cqc[MLX5_ST_SZ_BYTES(cqc)];
};

struct sh_srq {
	struct sh_obj obj;
	struct sh_hca *hca;
	struct sh_buf buf;
	__be32 *dbrec;
	u32 pd;
	u32 nqps;
	u32 xrcd, user_index;	/* of XRC */
	struct sh_cq *cq;
	u16 next;	/* the WQE that the next message takes */
	u16 taken;
	u16 lwm;
	u8 log_size, log_stride;
	bool wq_sig;
	bool failed;
	bool xrc;
	bool cyclic;	/* the next WQE is the one behind this, whatever this says, */
	bool plain;	/* and has no room to say it */
};

/* A piece of another key's memory, in the list of an indirect key. */
struct sh_klm {
	u64 addr;
	u64 end;	/* of it, in the list */
	u32 key;
	u16 stride;	/* added to the address at each repetition of the list */
};

/* Where a byte of an indirect key is, and how many follow it there. */
struct sh_piece {
	u64 addr, len;
	u32 key;
};

struct sh_mr {
	struct sh_obj obj;
	u64 start, len;
	u32 pd;
	u32 qpn;
	u32 nmtt;
	u64 *mtt;	/* page addresses; what is not mapped is 0 */
	struct sh_klm *klm;	/* of an indirect key, in place of pages */
	u32 nklm, klm_room, repeat;
	u8 key;
	u8 mode;
	u8 shift;
	bool free, length64;
	bool lr, lw, rr, rw, atomic, umr, rinval;
	u8 mkc[MLX5_ST_SZ_BYTES(mkc)];
};

struct sh_seg {
	void *inl;
	u64 addr;
	u32 lkey;
	u32 len;
};

/* A list of segments and how far into it we are. */
struct sh_sgl {
	struct sh_seg seg[SH_MAX_SEGS];
	u32 n;
	u64 len;
};

/* A send WQE that is being worked on: our own copy, so what user space does to
 * the original meanwhile has no effect.
 */
struct sh_tx {
	bool active;
	bool sent;	/* the responder has accepted its first byte */
	bool held;	/* it is done, and its completion is delayed */
	u8 opcode;
	u8 ce_se;
	u8 bbs;
	u16 index;
	__be32 imm;
	u32 srqn;	/* that an XRC request is for */
	u64 raddr;
	u32 rkey;
	u64 done;
	u64 swap_add, compare;
	struct mlx5_av av;
	struct sh_sgl sgl;
	u8 wqe[SH_MAX_WQE];
};

/* A receive WQE that a message is being written to. */
struct sh_rx {
	bool active;
	u16 index;
	struct sh_sgl sgl;
};

/* Of a send queue, in WQEBBs; see latency.c. */
struct sh_latency {
	u64 wqebbs, own_ns;
	u64 covered, covered_ns;
	u16 uncovered;	/* the first one that no completion has told of */
};

struct sh_qp {
	struct sh_obj obj;
	struct list_head on_uar;
	struct list_head run;
	struct list_head on_err;
	struct list_head on_wait;
	struct sh_hca *hca;
	struct sh_uar *uar;
	struct sh_cq *scq, *rcq;
	struct sh_srq *srq;
	struct sh_buf buf;
	__be32 *dbrec;
	u32 pd;
	u32 xrcd;
	u32 user_index;
	u32 tisn;	/* of a send queue alone; 0: it sends no frames */
	u32 sq_offset;
	u16 sq_ci, sq_pi;
	u16 sq_go;	/* WQEs before it may be executed */
	u16 sq_told;	/* the contention model knows of those before it */
	u64 *due;	/* ps, when a WQE was done in the model, by its index */
	u32 sched;	/* scheduling element */
	u64 cnp_ps;	/* when a CNP was sent for it last */
	u8 reg;		/* doorbell register of its UAR */
	bool reg_known;
	u16 rq_ci;
	u8 log_sq, log_rq, log_rq_stride;
	u8 st, state;
	u8 qset;
	bool wq_sig;
	bool has_sq, has_rq;
	bool record_false;	/* see falsify.c */
	bool come;	/* COMM_EST was told */
	u8 retries, rnr_retries;
	u64 wake_ns;
	u64 bytes, msgs;
	u64 *rung;	/* ns, when the device saw the doorbell of a WQEBB, by its index */
	struct sh_latency latency;
	u32 mcgs;
	struct sh_tx *tx;
	struct sh_rx *rx;
	u8 qpc[MLX5_ST_SZ_BYTES(qpc)];
};

/* The counters of QUERY_Q_COUNTER, named as there. */
struct sh_qset {
	struct sh_obj obj;
	u32 rx_write_requests, rx_read_requests, rx_atomic_requests;
	u32 out_of_buffer, rnr_nak_retry_err;
	u32 resp_local_length_error, resp_local_protection;
	u32 resp_remote_access_errors, resp_remote_invalid_request;
	u32 req_local_length_error, req_local_protection, req_remote_invalid_request;
	u32 req_remote_access_errors, req_remote_operation_errors;
	u32 req_transport_retries_exceeded, local_operation_error;
	u32 resp_cqe_error, req_cqe_error, resp_cqe_flush_error, req_cqe_flush_error;
	u32 cq_overflow, local_ack_timeout_err;
};

struct sh_sched {
	struct sh_obj obj;
	u32 nqps;
	u8 ctx[MLX5_ST_SZ_BYTES(scheduling_context)];
};

struct sh_mcg {
	struct list_head link;
	u32 qpn;
	u8 gid[16];
};

/* Of one priority; the pauses in modelled time. */
struct sh_prio {
	u64 tx_bytes, rx_bytes, tx_pkts, rx_pkts;
	u64 tx_pause, rx_pause, tx_pause_ps, rx_pause_ps, rx_pause_transition;
};

struct sh_port {
	bool up;
	u16 lid;
	u32 cap_mask;
	u64 sl2vl;	/* a digit for each SL, SL 0 in the uppermost */
	u64 guid;
	u64 tx_bytes, rx_bytes, tx_pkts, rx_pkts;	/* multicast apart */
	u64 tx_mc, rx_mc, tx_mc_bytes, rx_mc_bytes;
	struct sh_prio prio[8];
	u64 ecn_marked, cnp_sent, cnp_handled;
	u32 link_downs;
};

/* What the QPs of one port of the LAG sent. */
struct sh_lag {
	u64 msgs, bytes, pkts;
};

/* What SET_ROCE_ADDRESS gave; no GID: not used. */
struct sh_roce_addr {
	u8 gid[16];
	u8 mac[ETH_ALEN];
	u8 version, l3_type;	/* MLX5_ROCE_VERSION_2, MLX5_ROCE_L3_TYPE_IPV4, ... */
	u16 vlan;
};

/* How an Ethernet port sorts what it sends; see qos.c. */
struct sh_qos {
	u8 trust;	/* MLX5_QPTS_TRUST_DSCP, ... */
	u8 dscp_prio[64];
	u8 prio_tc[8];
	u8 group[8], share[8];	/* of traffic classes; share in percent */
	u8 cls[8];	/* of traffic classes: the model's classes, */
	u8 strict;	/* and which of these are strict */
	u8 pfc_tx, pfc_rx;	/* priorities that it may pause, that it pauses for */
};

/* What the driver of an Ethernet port's netdev remembers; under RTNL. */
struct sh_dcb {
	struct sh_hca *hca;
	u8 tsa[8];	/* of traffic classes: strict (0), or a share of what is left */
	u8 dcbx;
	u8 dscps;	/* that were given a priority */
};

/* The end of the wire where what others send arrives; see wire.c. */
struct sh_wire {
	u64 from_ps[SH_MAX_HCAS];	/* when each other's link has brought what it sent, */
	u64 free_ps;	/* and when all of it is through */
	u8 full;	/* priorities of which too much came in this look */
	u8 xoff;	/* those that were told to wait, and since when */
	u64 xoff_ps[8];
	/* Who tells us to wait, with which priorities: HCAs, and a switch. */
	u8 paused_by[SH_MAX_HCAS + 1];
	u64 paused_ps[8];
};

/* Of the netdev, or of raw packet QPs. */
struct sh_frames {
	u64 tx, rx, tx_bytes, rx_bytes;
};

#define SH_OPCODES	0x1000	/* that are counted apart */

/* What debugfs asks for. */
struct sh_knobs {
	u32 fail_opcode, fail_count, fail_syndrome;
	u8 fail_status;
	u32 hold_opcode;	/* 0: none */
	u32 held;	/* slots of the command queue with such commands */
	u32 delay_us;
	u32 drop_cqes;
	u32 hold_us;
	bool refuse_uars;
};

/* What is untrue of this device, see falsify.c. */
enum sh_falsity {
	SH_FALSE_DBREC,		/* the doorbell record is one behind */
	SH_FALSE_UAR_PAGE,	/* QUERY_QP: another page for each second QP */
	SH_FALSE_UAR_NUMBER,	/* QUERY_QP: other numbers of the same pages */
	SH_FALSE_WQE_COUNTERS,	/* QUERY_QP: what is posted counts as completed */
	SH_FALSE_DSCP,		/* RTS2RTS_QP accepts these three and ignores them */
	SH_FALSE_UDP_SPORT,
	SH_FALSE_LAG_PORT,
	SH_FALSE_PRIORITY,	/* a DSCP changes no priority */
	SH_FALSE_WIRE_SPORT,	/* packets have one UDP source port, whatever the QP has */
	SH_FALSE_WIRE_LAG,	/* packets leave by the first port, whatever the QP has */
	SH_FALSE_SCHED_RATE,	/* an element that is made now has no rate */
	SH_FALSE_SCHED_WEIGHT,	/* an element that is made now has no share */
	SH_FALSE_CONGESTION,	/* no event 0x1a */
	SH_FALSE_DIAG,		/* a diagnostic counter has another id */
	SH_FALSE_COMMANDS,	/* QUERY_QP takes 100 ms */
	SH_FALSITIES
};

struct sh_hca {
	int index;
	bool vf;
	void __iomem *bar;
	phys_addr_t bar_phys;
	u8 cfg[PCI_CFG_SPACE_EXP_SIZE];
	u8 wmask[PCI_CFG_SPACE_EXP_SIZE];
	u64 cmdq;
	bool inited;
	u32 health;
	u64 health_ns;
	u64 born_ns;
	struct sh_table tab[SH_KINDS];
	struct list_head eqs;
	struct list_head run;	/* QPs with work, in the order of their turns */
	struct list_head err;	/* QPs in error, whose new receives are to be flushed */
	struct list_head mcgs;
	u32 qp1, qp0;
	bool rescan_cqs;
	struct sh_port port;
	/* If the link is Ethernet: */
	u8 mac[ETH_ALEN];
	bool roce_en;
	struct sh_lag lag[SH_LAG_PORTS + 1];	/* 0: of QPs that chose none */
	struct net_device *netdev;	/* from before drivers come until after they left */
	struct net_device *lag_netdev;	/* that of the LAG's second port, if the module has one */
	struct sh_roce_addr roce[SH_ROCE_GIDS];
	struct sh_qos qos;
	struct sh_wire wire;
	struct sk_buff_head frames;	/* from other netdevs, before flow rules saw them */
	struct sh_frames raw;	/* of raw packet QPs */
	u32 flow_root;	/* flow table that frames see first; 0: none */
	u32 flows;	/* rules; frames bypass the device where there are none */
	u32 sent_root, sent_flows;	/* the same of RoCE's packets that are sent */
	struct sh_knobs knob;
	unsigned long falsified;	/* bits, enum sh_falsity */
	struct sh_qset dflt;
	struct sh_contention *contention;	/* NULL: nothing takes time */
	struct dentry *dir;
	u64 cmds, cqes, eqes, events_lost;
	u32 served[SH_OPCODES];	/* commands, by opcode */
	u32 left;	/* objects that no driver destroyed */
	char node_desc[64];
	u8 hca_cap[MLX5_ST_SZ_BYTES(cmd_hca_cap)];
	u8 atomic_cap[MLX5_ST_SZ_BYTES(atomic_caps)];
};

/* One command while it runs. in and out are zero-padded to SH_MIN_MBOX bytes, so
 * the functions may look at a whole fixed layout; lists are checked by length.
 */
#define SH_MIN_MBOX	0x1200

struct sh_cmd {
	struct sh_hca *hca;
	u16 op, op_mod, uid;
	void *in, *out;
	u32 inlen, outlen;
	u32 syndrome;
};

struct sh_device {
	struct mutex lock;	/* everything above, against debugfs */
	bool eth;	/* the link layer, else InfiniBand */
	u64 look_ns;	/* when this look began: the device's own time */
	int nhcas;
	struct sh_hca *hca[SH_MAX_HCAS];
	phys_addr_t base;
	struct task_struct *poller;
	struct dentry *dir;
};

extern struct sh_device softhca;

/* pci.c */
int sh_pci_add(void);
void sh_pci_remove(void);
/* INIT_HCA: the netdev of an Ethernet port is mlx5_core's. */
void sh_pci_uplink(struct sh_hca *h);
void sh_pci_irq(struct sh_hca *h, int vector);

/* bar.c */
void sh_bar_init(struct sh_hca *h);
bool sh_bar_poll(struct sh_hca *h, u64 now);
void sh_bar_health(struct sh_hca *h, u8 syndrome);

/* table.c: objects by id, and memory of the guest */
void sh_tables_init(struct sh_hca *h);
u32 sh_tables_destroy(struct sh_hca *h, bool tell);
void *sh_new(struct sh_cmd *c, enum sh_kind kind, size_t size, int *status);
void *sh_find(struct sh_hca *h, enum sh_kind kind, u32 id);
void *sh_find_own(struct sh_cmd *c, enum sh_kind kind, u32 id);
void *sh_find_shared(struct sh_cmd *c, enum sh_kind kind, u32 id);
void sh_del(struct sh_hca *h, enum sh_kind kind, void *obj);
bool sh_phys_ok(u64 addr, u64 len);
void *sh_virt(u64 addr, u32 len);
int sh_buf_load(struct sh_cmd *c, struct sh_buf *b, const __be64 *pas, u64 bytes, u8 shift,
		u32 offset64);
int sh_buf_umem(struct sh_cmd *c, struct sh_buf *b, u32 id, u64 start, u64 bytes);
int sh_dbrec(struct sh_cmd *c, __be32 **rec, u64 addr, bool in_umem, u32 umem);
void sh_buf_free(struct sh_buf *b);
void *sh_buf_at(const struct sh_buf *b, u32 at);

/* cmd.c */
void sh_cmd_run(struct sh_hca *h, u32 bells);
typedef int (*sh_cmd_fn)(struct sh_cmd *c);
sh_cmd_fn sh_cmd_obj(u16 op);
sh_cmd_fn sh_cmd_port(u16 op);
sh_cmd_fn sh_cmd_queue(u16 op);
sh_cmd_fn sh_cmd_qp(u16 op);
sh_cmd_fn sh_cmd_telemetry(u16 op);

struct sh_cmd_entry {
	u16 op;
	sh_cmd_fn fn;
};

static inline sh_cmd_fn sh_cmd_lookup(const struct sh_cmd_entry *e, int n, u16 op)
{
	for (; n; e++, n--)
		if (e->op == op)
			return e->fn;
	return NULL;
}

/* caps.c */
void sh_caps_init(struct sh_hca *h);
int sh_cmd_query_hca_cap(struct sh_cmd *c);
int sh_cmd_set_hca_cap(struct sh_cmd *c);

/* eq.c */
int sh_cmd_create_eq(struct sh_cmd *c);
int sh_cmd_destroy_eq(struct sh_cmd *c);
int sh_cmd_query_eq(struct sh_cmd *c);
void sh_eq_free(struct sh_hca *h, struct sh_eq *eq);
bool sh_eq_put(struct sh_hca *h, struct sh_eq *eq, u8 type, u8 sub, const void *data);
void sh_eq_bell(struct sh_hca *h, u32 val, bool arm);
void sh_eq_flush(struct sh_hca *h);

/* event.c */
bool sh_event_subscribed(struct sh_hca *h, u8 type);
void sh_event(struct sh_hca *h, u8 type, u8 sub, const void *data);
void sh_event_cmd(struct sh_hca *h, u32 vector);
void sh_event_qp(struct sh_qp *qp, u8 type);
void sh_event_srq(struct sh_srq *srq, u8 type);
void sh_event_cq_error(struct sh_cq *cq, u8 syndrome);
void sh_event_port(struct sh_hca *h, bool up);
void sh_event_congestion(struct sh_hca *h, u8 level);

/* cq.c */
int sh_cmd_create_cq(struct sh_cmd *c);
int sh_cmd_modify_cq(struct sh_cmd *c);
int sh_cmd_query_cq(struct sh_cmd *c);
int sh_cmd_destroy_cq(struct sh_cmd *c);
void sh_cq_free(struct sh_hca *h, struct sh_cq *cq);
void sh_cq_put(struct sh_cq *cq, struct mlx5_cqe64 *cqe, u8 opcode, bool solicited);
void sh_cq_put_err(struct sh_cq *cq, struct sh_qp *qp, u8 opcode, u8 syndrome, u16 index,
		   u8 wqe_opcode);
void sh_cq_bell(struct sh_cq *cq);

/* uar.c */
int sh_cmd_alloc_uar(struct sh_cmd *c);
int sh_cmd_dealloc_uar(struct sh_cmd *c);
bool sh_uar_poll(struct sh_hca *h);

/* qp.c */
struct sh_qp *sh_qp_own(struct sh_cmd *c, u32 qpn);
int sh_qp_open(struct sh_cmd *c, struct sh_qp *qp, int status);
void sh_qp_kick(struct sh_qp *qp);
void sh_qp_go(struct sh_qp *qp);
bool sh_qp_ready(const struct sh_qp *qp);
void sh_qp_to_err(struct sh_qp *qp);
void sh_qp_reset(struct sh_qp *qp);
void sh_qp_flush(struct sh_qp *qp);
void sh_qp_fatal(struct sh_qp *qp, u8 event);
void sh_qp_free(struct sh_hca *h, struct sh_qp *qp);
bool sh_qp_flush_rq(struct sh_qp *qp);
struct sh_qset *sh_qp_counters(struct sh_qp *qp);

/* What is sent arrives, or its sender is told. */
static inline bool sh_qp_reliable(const struct sh_qp *qp)
{
	return qp->st == MLX5_QPC_ST_RC || qp->st == MLX5_QPC_ST_XRC;
}

/* A send queue or a receive queue without a QP. */
static inline bool sh_qp_lone(const struct sh_qp *qp)
{
	return qp->st == SH_ST_SQ || qp->st == SH_ST_RQ;
}

static inline bool sh_qp_connected(const struct sh_qp *qp)
{
	return sh_qp_reliable(qp) || qp->st == MLX5_QPC_ST_UC;
}

/* sq.c: send queues without a QP, and what receive queues without a QP share with them */
sh_cmd_fn sh_cmd_sq(u16 op);
void sh_sq_path(struct sh_qp *sq, const struct sh_tis *tis);
u8 sh_wq_state(const struct sh_qp *qp);
int sh_wq_modify(struct sh_qp *qp, u8 from, u8 to);
int sh_wq_load(struct sh_cmd *c, struct sh_qp *qp, void *wq, u64 bytes);

/* rq.c: receive queues without a QP, TIRs, TISes */
sh_cmd_fn sh_cmd_rq(u16 op);

/* rss.c: picks one of several receive queues for a frame */
sh_cmd_fn sh_cmd_rss(u16 op);
bool sh_rqt_has(struct sh_hca *h, u32 rqn);
bool sh_rss_load(struct sh_tir *tir, const void *tirc);
struct sh_qp *sh_rss_pick(struct sh_hca *h, const struct sh_tir *tir, const u8 *fields);

/* flow.c: flow tables, which pick the receive queues of a frame */
#define SH_FLOW_TABLE	1	/* kinds of destinations */
#define SH_FLOW_TIR	2
sh_cmd_fn sh_cmd_flow(u16 op);
void sh_caps_flow(void *cap);
void sh_ft_free(struct sh_hca *h, void *table);
bool sh_flow_uses(struct sh_hca *h, u8 type, u32 id);
bool sh_flow_receive(struct sh_hca *h, const u8 *frame, u32 len, u32 td);
void sh_flow_sent(struct sh_qp *qp, u64 bytes, u64 pkts);

/* frame.c: moves frames between raw packet QPs and netdevs */
u8 sh_frame_send(struct sh_qp *sq);
bool sh_frame_run(struct sh_hca *h);

/* srq.c */
int sh_cmd_create_rmp(struct sh_cmd *c);
int sh_cmd_modify_rmp(struct sh_cmd *c);
int sh_cmd_query_rmp(struct sh_cmd *c);
int sh_cmd_create_xrc_srq(struct sh_cmd *c);
int sh_cmd_arm_xrc_srq(struct sh_cmd *c);
int sh_cmd_query_xrc_srq(struct sh_cmd *c);
int sh_cmd_destroy_srq(struct sh_cmd *c);
void sh_srq_free(struct sh_hca *h, struct sh_srq *srq);

/* xrc.c */
bool sh_xrc_enter(struct sh_qp *tgt, u32 srqn);
void sh_xrc_leave(struct sh_qp *tgt);

/* latency.c */
int sh_latency_open(struct sh_qp *qp);
void sh_latency_close(struct sh_qp *qp);
void sh_latency_posted(struct sh_qp *qp, u16 pi);
void sh_latency_done(struct sh_qp *qp, u16 first, bool completion);
void sh_latency_flush(struct sh_qp *qp);
void sh_latency_add(struct sh_hca *h);

/* mr.c */
int sh_cmd_create_mkey(struct sh_cmd *c);
int sh_cmd_query_mkey(struct sh_cmd *c);
int sh_cmd_destroy_mkey(struct sh_cmd *c);
void sh_mr_free(struct sh_hca *h, struct sh_mr *mr);

enum sh_access {
	SH_LOCAL_READ, SH_LOCAL_WRITE, SH_REMOTE_READ, SH_REMOTE_WRITE, SH_REMOTE_ATOMIC
};

bool sh_mr_ok(struct sh_hca *h, u32 key, u32 pd, u64 addr, u64 len, enum sh_access access);
void *sh_mr_at(struct sh_hca *h, u32 key, u32 pd, u64 addr, u64 *len, enum sh_access access);
u8 sh_sgl_check(struct sh_hca *h, struct sh_sgl *sgl, u32 pd, enum sh_access access);
void *sh_sgl_map(struct sh_hca *h, struct sh_sgl *sgl, u32 pd, u64 at, enum sh_access access,
		 u64 *len);
int sh_mr_local_inval(struct sh_qp *qp, u32 key);
u8 sh_mr_remote_inval(struct sh_qp *qp, u32 key);
u8 sh_mr_umr(struct sh_qp *qp, const void *wqe, u32 bytes, u32 key);

/* indirect.c: memory keys that are lists of pieces of others */
int sh_klm_load(struct sh_mr *mr, const void *list, u32 octwords);
bool sh_klm_at(const struct sh_mr *mr, u64 pos, struct sh_piece *piece);

/* wqe.c */
enum sh_rx_status { SH_RX_OK, SH_RX_NONE, SH_RX_BAD };
u8 sh_wqe_load_tx(const struct sh_qp *qp, struct sh_tx *tx, u16 index);
enum sh_rx_status sh_wqe_load_rx(struct sh_qp *qp);
u16 sh_wqe_rq_pi(struct sh_qp *qp);

/* contention.c: when a WQE may be executed; without a model all of it does nothing */
int sh_contention_init(struct sh_hca *h);
void sh_contention_exit(struct sh_hca *h);
int sh_contention_open(struct sh_qp *qp);
void sh_contention_close(struct sh_qp *qp);
void sh_contention_modify(struct sh_qp *qp);
void sh_contention_flush(struct sh_qp *qp);
void sh_contention_reclass(struct sh_hca *h);
void sh_contention_rang(struct sh_uar *u, struct sh_hca *h, u32 reg, u32 qpn);
void sh_contention_post(struct sh_qp *qp);
bool sh_contention_run(struct sh_hca *h);
void sh_contention_executed(struct sh_qp *qp, u16 index);
u64 sh_contention_time(const struct sh_hca *h, const struct sh_hca *to, u64 at);
void sh_contention_command(struct sh_hca *h);
void sh_contention_received(struct sh_qp *peer, const struct sh_tx *tx, bool rdma, bool cqe);
void sh_contention_forget_cq(struct sh_cq *cq);
void sh_contention_forget_mr(struct sh_hca *h, struct sh_mr *mr);
void sh_contention_stalls(const struct sh_hca *h, u32 *percent, u32 *seconds);
int sh_contention_element(struct sh_hca *h, u32 element, u32 mbps, u32 weight);

/* diag.c: diagnostic counters */
sh_cmd_fn sh_cmd_diag(u16 op);
void sh_diag_caps_general(__be32 *cap);
void sh_diag_caps(const struct sh_hca *h, __be32 *cap);

/* sched.c: shares and rates of QPs */
sh_cmd_fn sh_cmd_sched(u16 op);
int sh_sched_bind(struct sh_cmd *c, struct sh_qp *qp, u32 id);
void sh_sched_unbind(struct sh_qp *qp);

/* eth.c: the netdev of an Ethernet port */
int sh_eth_add(struct sh_hca *h, struct device *parent);
void sh_eth_remove_all(void);
void sh_eth_link(struct sh_hca *h);
u32 sh_eth_mtu(const struct sh_hca *h);
void sh_eth_stats(const struct sh_hca *h, struct sh_frames *f);
void sh_eth_receive(struct sh_hca *h, struct sk_buff *skb);

/* dcb.c: of that netdev, whose private data is a struct sh_dcb */
void sh_dcb_init(struct net_device *dev, struct sh_hca *h);
void sh_dcb_start(struct net_device *dev);
void sh_dcb_stop(struct net_device *dev);
bool sh_port_active(const struct sh_hca *h);

/* roce.c: addresses */
sh_cmd_fn sh_cmd_roce(u16 op);
void sh_caps_roce(void *cap);
struct sh_hca *sh_roce_at(struct sh_hca *from, u32 sgid_index, const u8 *gid, const u8 *mac);
u8 sh_roce_head(u8 *head, struct sh_hca *from, const struct mlx5_av *av, u64 len);

/* qos.c: priorities and classes */
void sh_qos_init(struct sh_qos *q);
int sh_qos_set(struct sh_hca *h, const u8 *prio_tc, const u8 *group, const u8 *share);
void sh_qos_model(const struct sh_qos *q, u8 *strict, u8 *weight);
u8 sh_qos_prio(const struct sh_hca *h, const struct sh_qp *qp, const struct sh_tx *tx);
u8 sh_qos_class_of(const struct sh_hca *h, u8 prio);
u8 sh_qos_class(const struct sh_qp *qp, const struct sh_tx *tx);
bool sh_reg_qos(struct sh_cmd *c, void *in, void *r, bool write, int *status);

/* wire.c: several that send to one; ECN, pause */
void sh_wire_add(struct sh_hca *h);
void sh_wire_done(struct sh_qp *qp, u16 index, u32 bytes, u64 at);
bool sh_wire_run(struct sh_hca *h);
void sh_wire_forget(struct sh_hca *h);
void sh_wire_reclass(struct sh_hca *h);
int sh_cmd_query_cong(struct sh_cmd *c);

/* mover.c */
bool sh_move(struct sh_hca *h, u64 now);

/* respond.c: the responder's half of a message */
enum sh_result { SH_DONE, SH_MORE, SH_RNR, SH_LOST, SH_FAIL };
struct sh_qp *sh_peer(struct sh_qp *qp);
enum sh_result sh_respond(struct sh_qp *qp, struct sh_qp *peer, u64 *budget, u8 *syndrome);
void sh_respond_ud(struct sh_qp *qp);
void sh_respond_frame(struct sh_qp *rq, const u8 *frame, u32 len, u32 tag);

/* telemetry.c */
int sh_cmd_query_qp(struct sh_cmd *c);
int sh_reg_mpcnt(struct sh_cmd *c, void *reg, bool write);
void sh_count_syndrome(struct sh_qp *qp, u8 syndrome, bool responder);

/* ppcnt.c: counters of the port */
int sh_reg_ppcnt(struct sh_cmd *c, void *reg, bool write);
int sh_cmd_query_vport_counter(struct sh_cmd *c);
void sh_count_message(struct sh_qp *qp, struct sh_hca *to, u64 bytes);
u64 sh_packets(const struct sh_qp *qp, u64 bytes);
void sh_count_lag(struct sh_qp *qp, u64 bytes, u64 pkts);
void sh_count_multicast(struct sh_qp *qp, struct sh_hca *to);

/* falsify.c */
void sh_falsify_add(struct sh_hca *h);
bool sh_record_falsified(const struct sh_qp *qp, u16 pi);
void sh_falsify_record(struct sh_qp *qp);

static inline bool sh_false(const struct sh_hca *h, enum sh_falsity what)
{
	return test_bit(what, &h->falsified);
}

/* knob.c */
void sh_knob_add(struct sh_hca *h);
int sh_knob_cmd(struct sh_cmd *c);
bool sh_knob_hold(struct sh_hca *h, int slot, u16 op);

#endif
