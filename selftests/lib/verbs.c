// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "verbs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what, int err)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(err));
	return -err;
}

int complain(const char *what)
{
	return failed(what, errno ? errno : EIO);
}

int obey_lines(int (*obey)(const char *line))
{
	char line[128];
	int ret = 0;

	setlinebuf(stdout);
	puts("ready");
	while (!ret && fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n"))
		ret = obey(line);
	return ret;
}

uint32_t vrnd(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static bool is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, prefix, sizeof(prefix));
}

/*
 * Prefers an IPv4 address, which the VM routes across its wire and whose TOS tc finds; else
 * the first entry.
 */
static int pick_gid(struct vdev *dev, int entries)
{
	struct ibv_gid_entry e;
	bool found = false;
	int i;

	for (i = 0; i < entries; i++) {
		if (ibv_query_gid_ex(dev->ctx, dev->port, i, &e, 0))
			continue;
		if (found && (e.gid_type != IBV_GID_TYPE_ROCE_V2 || !is_ipv4(&e.gid)))
			continue;
		dev->gid = e.gid;
		dev->gid_index = i;
		found = true;
		if (e.gid_type == IBV_GID_TYPE_ROCE_V2 && is_ipv4(&e.gid))
			break;
	}
	return found ? 0 : failed("no GID", ENODEV);
}

int vdev_open(struct vdev *dev, const char *name)
{
	struct ibv_device **list, *found = NULL;
	struct ibv_port_attr port;
	int i, n, ret;

	memset(dev, 0, sizeof(*dev));
	dev->port = 1;
	list = ibv_get_device_list(&n);
	if (!list)
		return failed("devices", errno);
	for (i = 0; i < n && !found; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			found = list[i];
	if (found) {
		dev->index = ibv_get_device_index(found);
		dev->ctx = ibv_open_device(found);
	}
	ibv_free_device_list(list);
	if (!found)
		return failed(name ? name : "any device", ENODEV);
	if (!dev->ctx)
		return failed("open device", errno);

	ret = ibv_query_port(dev->ctx, dev->port, &port);
	if (ret) {
		ret = failed("query port", ret);
		goto close;
	}
	dev->lid = port.lid;
	dev->mtu = port.active_mtu;
	ret = pick_gid(dev, port.gid_tbl_len);
	if (ret)
		goto close;
	dev->pd = ibv_alloc_pd(dev->ctx);
	if (!dev->pd) {
		ret = failed("alloc pd", errno);
		goto close;
	}
	return 0;

close:
	ibv_close_device(dev->ctx);
	return ret;
}

void vdev_close(struct vdev *dev)
{
	ibv_dealloc_pd(dev->pd);
	ibv_close_device(dev->ctx);
}

struct vpeer vdev_peer(const struct vdev *dev, const struct ibv_qp *qp, uint32_t psn)
{
	return (struct vpeer) {
		.gid = dev->gid, .lid = dev->lid, .qpn = qp->qp_num, .psn = psn,
	};
}

struct ibv_pd *vdev_thread_pd(struct vdev *dev)
{
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = dev->pd };

	attr.td = ibv_alloc_td(dev->ctx, &td);
	return attr.td ? ibv_alloc_parent_domain(dev->ctx, &attr) : NULL;
}

static struct ibv_qp *new_sender(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth,
				 int sig_all)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq, .recv_cq = cq,
		.cap = {
			.max_send_wr = depth, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = sig_all,
	};

	return ibv_create_qp(pd, &attr);
}

struct ibv_qp *vqp_sender(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth)
{
	return new_sender(pd, cq, depth, 1);
}

struct ibv_qp *vqp_selective(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t depth)
{
	return new_sender(pd, cq, depth, 0);
}

struct ibv_qp *vqp_small(struct vdev *dev, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = 1, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(dev->pd, &attr);
}

int vqp_init(struct vdev *dev, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = dev->port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_LOCAL_WRITE,
	};
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);

	return ret ? failed("modify to INIT", ret) : 0;
}

int vqp_rtr(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to, const struct vconn *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = dev->mtu,
		.dest_qp_num = to->qpn,
		.rq_psn = to->psn,
		.max_dest_rd_atomic = c->rd_atomic ? c->rd_atomic : 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = !c->no_grh,
			.dlid = to->lid,
			.sl = c->sl,
			.port_num = dev->port,
			.grh = {
				.dgid = to->gid,
				.sgid_index = dev->gid_index,
				.hop_limit = 64,
				.traffic_class = c->tclass,
			},
		},
	};
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	return ret ? failed("modify to RTR", ret) : 0;
}

int vqp_rts(struct ibv_qp *qp, uint32_t psn, const struct vconn *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = c->timeout,
		.retry_cnt = c->retry,
		.rnr_retry = c->rnr_retry,
		.sq_psn = psn,
		.max_rd_atomic = c->rd_atomic ? c->rd_atomic : 1,
	};
	int ret = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);

	return ret ? failed("modify to RTS", ret) : 0;
}

int vqp_pair(struct vdev *dev_a, struct ibv_qp *a, struct vdev *dev_b, struct ibv_qp *b,
	     const struct vconn *c)
{
	struct vpeer peer_a = vdev_peer(dev_a, a, 0), peer_b = vdev_peer(dev_b, b, 0);

	if (vqp_init(dev_a, a) || vqp_init(dev_b, b) || vqp_rtr(dev_a, a, &peer_b, c) ||
	    vqp_rtr(dev_b, b, &peer_a, c) || vqp_rts(a, 0, c) || vqp_rts(b, 0, c))
		return -EIO;
	return 0;
}

int vqp_take(struct vdev *dev, struct ibv_qp *qp, const struct vpeer *to, enum vstate state)
{
	static const struct vconn conn = VCONN_DEFAULT;

	if (state < V_INIT)
		return 0;
	if (vqp_init(dev, qp))
		return 0;
	if (state < V_RTR)
		return 1;
	if (vqp_rtr(dev, qp, to, &conn))
		return 1;
	if (state < V_RTS)
		return 2;
	return vqp_rts(qp, 0, &conn) ? 2 : 3;
}

int vstate_parse(const char *s)
{
	static const char *const names[] = {
		[V_NONE] = "none", [V_INIT] = "init", [V_RTR] = "rtr", [V_RTS] = "rts",
	};
	int i;

	for (i = V_NONE; i <= V_RTS; i++)
		if (!strcmp(s, names[i]))
			return i;
	return -1;
}
