// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * dlverbs DEV: uses verbs by functions that it looks up with dlvsym() in a handle of
 * libibverbs, as NCCL does. Prints which library each function is from, and how many receives
 * of a QP it posted and got back.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECVS 100

static void *handle;

static void *find(const char *name)
{
	void *f = dlvsym(handle, name, "IBVERBS_1.1");

	if (!f) {
		fprintf(stderr, "dlverbs: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return f;
}

static const char *library_of(void *f)
{
	const char *slash;
	Dl_info info;

	if (!f || !dladdr(f, &info))
		return "none";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

static struct ibv_device *device(const char *name)
{
	struct ibv_device **(*list)(int *) = find("ibv_get_device_list");
	struct ibv_device **d = list(NULL);

	while (d && *d && strcmp((*d)->name, name))
		d++;
	if (d && *d)
		return *d;
	fprintf(stderr, "dlverbs: no device %s\n", name);
	exit(1);
}

static int failed(const char *what)
{
	perror(what);
	return 1;
}

/* Receives of a QP that gets into the error state come back as they were posted. */
static int use(const char *name)
{
	struct ibv_context *(*open_device)(struct ibv_device *) = find("ibv_open_device");
	int (*close_device)(struct ibv_context *) = find("ibv_close_device");
	struct ibv_pd *(*alloc_pd)(struct ibv_context *) = find("ibv_alloc_pd");
	int (*dealloc_pd)(struct ibv_pd *) = find("ibv_dealloc_pd");
	struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *, struct ibv_comp_channel *,
				    int) = find("ibv_create_cq");
	int (*destroy_cq)(struct ibv_cq *) = find("ibv_destroy_cq");
	struct ibv_qp *(*create_qp)(struct ibv_pd *, struct ibv_qp_init_attr *) =
		find("ibv_create_qp");
	int (*modify_qp)(struct ibv_qp *, struct ibv_qp_attr *, int) = find("ibv_modify_qp");
	int (*destroy_qp)(struct ibv_qp *) = find("ibv_destroy_qp");
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = RECVS, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	int flushed = 0, posted = 0, n;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_pd *pd;
	struct ibv_wc wc;

	ctx = open_device(device(name));
	pd = ctx ? alloc_pd(ctx) : NULL;
	cq = pd ? create_cq(ctx, RECVS, NULL, NULL, 0) : NULL;
	if (!cq)
		return failed("device, PD or CQ");
	init.send_cq = init.recv_cq = cq;
	qp = create_qp(pd, &init);
	if (!qp || modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS))
		return failed("QP");
	while (posted < RECVS && !ibv_post_recv(qp, &wr, &bad))
		posted++;
	attr.qp_state = IBV_QPS_ERR;
	if (modify_qp(qp, &attr, IBV_QP_STATE))
		return failed("to ERR");
	while (flushed < posted) {
		n = ibv_poll_cq(cq, 1, &wc);
		if (n < 0)
			return failed("poll");
		flushed += n;
	}
	printf("posted %d flushed %d\n", posted, flushed);
	return destroy_qp(qp) || destroy_cq(cq) || dealloc_pd(pd) || close_device(ctx);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: dlverbs DEV\n", stderr);
		return 2;
	}
	handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "dlverbs: %s\n", dlerror());
		return 1;
	}
	printf("open_device %s\n", library_of(find("ibv_open_device")));
	printf("next %s\n", library_of(dlvsym(RTLD_NEXT, "ibv_open_device", "IBVERBS_1.1")));
	printf("get_device_list %s\n", library_of(find("ibv_get_device_list")));
	printf("compatible %s\n", library_of(dlvsym(handle, "ibv_open_device", "IBVERBS_1.0")));
	printf("missing %s\n", library_of(dlvsym(handle, "ibv_open_device", "IBVERBS_9.9")));
	return use(argv[1]);
}
