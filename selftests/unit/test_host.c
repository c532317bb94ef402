// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What io reads of the machine, out of a sysfs and a procfs that were made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/dcbnl.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "io/host_read.h"
#include "io/io.h"

static char top[] = "/tmp/test_host.XXXXXX";
static int root;
static struct host h;

static void make_dirs(const char *path)
{
	char buf[256];

	snprintf(buf, sizeof(buf), "%s", path);
	for (char *s = strchr(buf, '/'); s; s = strchr(s + 1, '/')) {
		*s = '\0';
		mkdirat(root, buf, 0755);
		*s = '/';
	}
}

static void put_bytes(const char *path, const void *data, size_t n)
{
	int fd;

	make_dirs(path);
	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), (ssize_t)n);
	close(fd);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static void put_link(const char *path, const char *to)
{
	make_dirs(path);
	assert_int_equal(symlinkat(to, root, path), 0);
}

static int setup(void **state)
{
	(void)state;
	strcpy(top + strlen(top) - 6, "XXXXXX");
	assert_non_null(mkdtemp(top));
	root = open(top, O_PATH | O_DIRECTORY);
	memset(&h, 0, sizeof(h));
	return root < 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	host_free(&h);
	close(root);
	return nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- devices -------------------------------------------------------------------- */

#define PCI	"sys/devices/pci0000:00/0000:00:02.0/"

/* A device of the class, at @at below /sys/devices. */
static void put_dev(const char *name, const char *at)
{
	char path[256], to[256];

	snprintf(path, sizeof(path), "sys/devices/%s/infiniband/%s/fw_ver", at,
		 name);
	put(path, "16.35.2000\n");
	snprintf(path, sizeof(path), "sys/class/infiniband/%s", name);
	snprintf(to, sizeof(to), "../../devices/%s/infiniband/%s", at, name);
	put_link(path, to);
}

static void put_port(const char *dev, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/%s", dev,
		 file);
	put(path, text);
}

static void functions(void **state)
{
	(void)state;
	put_dev("mlx5_0", "pci0000:00/0000:03:00.0");
	put_link("sys/devices/pci0000:00/0000:03:00.0/driver",
		 "../../../bus/pci/drivers/mlx5_core");
	put_link("sys/class/infiniband/mlx5_0/device", "../../../0000:03:00.0");
	put_dev("mlx5_1", "pci0000:00/0000:03:00.1");
	put_link("sys/class/infiniband/mlx5_1/device", "../../../0000:03:00.1");
	put_link("sys/devices/pci0000:00/0000:03:00.1/physfn",
		 "../0000:03:00.0");
	put_dev("mlx5_2", "pci0000:00/0000:03:00.0/mlx5_core.sf.4");
	put_link("sys/class/infiniband/mlx5_2/device", "../../../mlx5_core.sf.4");
	put_link("sys/devices/pci0000:00/0000:03:00.0/mlx5_core.sf.4/driver",
		 "../../../../bus/auxiliary/drivers/mlx5_core.sf");
	put_dev("rxe0", "virtual");
	assert_int_equal(srdma_host_devs(root, &h), 0);
	assert_int_equal(h.n_devs, 4);
	assert_string_equal(h.devs[0].name, "mlx5_0");
	assert_int_equal(h.devs[0].function, HOST_PF);
	assert_string_equal(h.devs[0].bus, "0000:03:00.0");
	assert_string_equal(h.devs[0].driver, "mlx5_core");
	assert_string_equal(h.devs[0].firmware, "16.35.2000");
	assert_int_equal(h.devs[1].function, HOST_VF);
	assert_string_equal(h.devs[1].bus, "0000:03:00.1");
	assert_int_equal(h.devs[2].function, HOST_SF);
	assert_string_equal(h.devs[2].bus, "0000:03:00.0");
	assert_string_equal(h.devs[2].driver, "mlx5_core.sf");
	assert_int_equal(h.devs[3].function, HOST_SOFTWARE);
	assert_string_equal(h.devs[3].bus, "");
	assert_string_equal(h.devs[3].driver, "");
}

static void ports(void **state)
{
	(void)state;
	put_dev("mlx5_0", "pci0000:00/0000:03:00.0");
	put_port("mlx5_0", "link_layer", "InfiniBand\n");
	put_port("mlx5_0", "state", "2: INIT\n");
	put_dev("mlx5_1", "pci0000:00/0000:03:00.1");
	put_port("mlx5_1", "link_layer", "Ethernet\n");
	put_port("mlx5_1", "state", "4: ACTIVE\n");
	put_port("mlx5_1", "gid_attrs/ndevs/0", "eth0\n");
	put_port("mlx5_1", "gid_attrs/ndevs/1", "eth0.7\n");
	put("sys/class/infiniband/mlx5_1/tc/1/traffic_class",
	    "Global tclass=106\n");
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth0/phys_port_name", "p0\n");
	put("sys/class/net/eth0/ecn/roce_np/cnp_dscp", "40\n");
	put_link("sys/class/net/eth0/device/driver",
		 "../../../../bus/pci/drivers/mlx5_core");
	put_dev("rxe0", "virtual");
	put_port("rxe0", "link_layer", "Ethernet\n");
	put("sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos", "104\n");
	assert_int_equal(srdma_host_devs(root, &h), 0);
	assert_int_equal(h.n_ports, 3);
	assert_int_equal(h.ports[0].link_layer, 1);
	assert_int_equal(h.ports[0].state, 2);
	assert_int_equal(h.ports[0].tclass, -1);
	assert_int_equal(h.ports[1].dev, 1);
	assert_int_equal(h.ports[1].index, 1);
	assert_int_equal(h.ports[1].link_layer, 2);
	assert_int_equal(h.ports[1].state, 4);
	assert_int_equal(h.ports[1].tclass, 106);
	assert_int_equal(h.ports[2].tclass, 104);
	/* The first GID's, not the VLAN's. */
	assert_int_equal(h.n_nets, 1);
	assert_string_equal(h.nets[0].name, "eth0");
	assert_int_equal(h.nets[0].port, 1);
	assert_true(h.nets[0].up);
	assert_string_equal(h.nets[0].driver, "mlx5_core");
	assert_string_equal(h.nets[0].represents, "");
	assert_int_equal(h.nets[0].cnp_dscp, 40);
}

/* DCB is that of what is at the bottom. */
static void bonds(void **state)
{
	(void)state;
	put_dev("mlx5_bond_0", "pci0000:00/0000:03:00.0");
	put_port("mlx5_bond_0", "link_layer", "Ethernet\n");
	put_port("mlx5_bond_0", "gid_attrs/ndevs/0", "bond0.5\n");
	put_link("sys/class/net/bond0.5/lower_bond0", "../bond0");
	put_link("sys/class/net/bond0/lower_eth0", "../eth0");
	put_link("sys/class/net/bond0/lower_eth1", "../eth1");
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth1/operstate", "down\n");
	put("sys/class/net/eth1/phys_port_name", "c1pf0vf3\n");
	put("sys/kernel/debug/mlx5/0000:03:00.0/cc_params/np_cnp_dscp", "46\n");
	assert_int_equal(srdma_host_devs(root, &h), 0);
	assert_int_equal(h.n_nets, 2);
	assert_string_equal(h.nets[0].name, "eth0");
	assert_int_equal(h.nets[0].cnp_dscp, 46);
	assert_true(h.nets[0].up);
	assert_string_equal(h.nets[1].name, "eth1");
	assert_false(h.nets[1].up);
	assert_string_equal(h.nets[1].represents, "c1pf0vf3");
	/* A ring of them, which cannot be, has an end. */
	host_free(&h);
	put_link("sys/class/net/eth0/lower_bond0", "../bond0");
	assert_int_equal(srdma_host_devs(root, &h), 0);
	assert_true(h.n_nets >= 1);
}

static void nothing_there(void **state)
{
	(void)state;
	assert_int_equal(srdma_host_devs(root, &h), 0);
	assert_int_equal(srdma_host_procs(root, &h), 0);
	assert_int_equal(srdma_host_maxima(root, &h), 0);
	srdma_host_module(root, &h.module, "6.1.0");
	strcpy(h.kernel.release, "6.1.0");
	srdma_host_kernel(root, &h.kernel);
	assert_false(h.module.loaded || h.module.installed || h.module.at_boot);
	assert_int_equal(h.kernel.kprobes, HOST_UNKNOWN);
	assert_int_equal(h.n_devs + h.n_procs + h.n_maxima, 0);
}

/* --- module and kernel ------------------------------------------------------------- */

static void module(void **state)
{
	struct host_module *m = &h.module;

	(void)state;
	put("lib/modules/6.1.0/modules.dep",
	    "kernel/drivers/x/notswiftrdma.ko: kernel/y/swiftrdma.ko.xz\n"
	    "updates/dkms/swiftrdma.ko.xz: kernel/drivers/infiniband/core/ib_core.ko\n");
	put("etc/modules-load.d/rdma.conf", "# swiftrdma_mlx5\nib_umad\n");
	srdma_host_module(root, m, "6.1.0");
	assert_true(m->installed);
	assert_false(m->provider_installed || m->at_boot || m->loaded);
	put("lib/modules/6.1.0/modules.dep",
	    "extra/swiftrdma_mlx5.ko: extra/swiftrdma.ko\n");
	put("usr/lib/modules-load.d/x.conf", " swiftrdma \n");
	put("sys/module/swiftrdma/version", "0.1.0\n");
	put("sys/module/swiftrdma/initstate", "live\n");
	put("sys/kernel/debug/swiftrdma/disarm", "armed: why\nnot\n");
	srdma_host_module(root, m, "6.1.0");
	assert_false(m->installed);
	assert_true(m->provider_installed && m->at_boot && m->loaded);
	assert_false(m->provider_at_boot || m->provider);
	assert_string_equal(m->version, "0.1.0");
	assert_string_equal(m->hooks, "armed: why\nnot");
	assert_int_equal(m->hooks_error, 0);
	put("etc/modules", "swiftrdma-mlx5\n");
	put("sys/module/swiftrdma_mlx5/version", "0.2.0\n");
	unlinkat(root, "sys/kernel/debug/swiftrdma/disarm", 0);
	srdma_host_module(root, m, "6.1.0");
	assert_true(m->provider_at_boot && m->provider);
	assert_string_equal(m->provider_version, "0.2.0");
	assert_int_equal(m->hooks_error, -ENOENT);
}

static void kernel(void **state)
{
	static const char config[] = "CONFIG_CGROUP_RDMA=y\n"
				     "# CONFIG_KRETPROBES is not set\n";
	char path[64];
	gzFile f;

	(void)state;
	strcpy(h.kernel.release, "6.1.0");
	put("boot/config-6.1.0", config);
	srdma_host_kernel(root, &h.kernel);
	assert_int_equal(h.kernel.kprobes, HOST_NO);
	assert_int_equal(h.kernel.rdma_cgroup, HOST_YES);
	/* the running one's goes before */
	make_dirs("proc/x");
	snprintf(path, sizeof(path), "%s/proc/config.gz", top);
	f = gzopen(path, "w");
	gzputs(f, "CONFIG_KRETPROBES=y\n");
	gzclose(f);
	srdma_host_kernel(root, &h.kernel);
	assert_int_equal(h.kernel.kprobes, HOST_YES);
	assert_int_equal(h.kernel.rdma_cgroup, HOST_NO);
	put("proc/config.gz", "");
	srdma_host_kernel(root, &h.kernel);
	assert_int_equal(h.kernel.kprobes, HOST_NO);
	make_dirs("sys/kernel/debug/kprobes/");
	srdma_host_kernel(root, &h.kernel);
	assert_int_equal(h.kernel.kprobes, HOST_YES);
}

/* --- processes and cgroups ----------------------------------------------------------- */

static void processes(void **state)
{
	static const char words[] = "swiftrdma-agent\0--config\0/etc/a.yaml";
	static const char dry[] = "swiftrdma-agent\0-cb.yaml\0--dry-run";

	(void)state;
	put("proc/10/comm", "kv-server\n");
	put("proc/10/status",
	    "Name:\tPid: 5\nUmask:\t0022\nPid:\t10\nPPid:\t1\nUid:\t1000\t0\t0\t0\n"
	    "VmPin:\t    2048 kB\nCapEff:\t0000000000004000\n");
	put("proc/10/limits",
	    "Limit                     Soft Limit           Hard Limit           Units     \n"
	    "Max processes             7                    7                    processes \n"
	    "Max locked memory         8388608              unlimited            bytes     \n");
	put("proc/10/cgroup", "1:rdma:/\n0::/system.slice/kv.service\n");
	put_link("proc/10/fd/0", "/dev/null");
	put_link("proc/10/fd/7", "/dev/infiniband/uverbs0");
	put("proc/11/comm", "rdmacm\n");
	put_link("proc/11/fd/7", "/dev/infiniband/rdma_cm");
	put("proc/12/comm", "swiftrdma-agent\n");
	put_bytes("proc/12/cmdline", words, sizeof(words));
	put("proc/13/comm", "swiftrdma-agent\n");
	put_bytes("proc/13/cmdline", dry, sizeof(dry));
	put("proc/meminfo", "MemTotal: 1\n");
	assert_int_equal(srdma_host_procs(root, &h), 0);
	assert_int_equal(h.n_procs, 1);
	assert_int_equal(h.procs[0].pid, 10);
	assert_string_equal(h.procs[0].comm, "kv-server");
	assert_true(h.procs[0].may_lock);
	assert_int_equal(h.procs[0].pinned, 2048 * 1024);
	assert_int_equal(h.procs[0].memlock, 8388608);
	assert_true(h.procs[0].memlock_hard == HOST_NO_LIMIT);
	assert_string_equal(h.procs[0].cgroup, "/system.slice/kv.service");
	assert_int_equal(h.n_agents, 2);
	assert_int_equal(h.agents[0].pid, 12);
	assert_false(h.agents[0].dry_run);
	assert_true(h.agents[1].dry_run);
}

static void cgroups(void **state)
{
	(void)state;
	put("sys/fs/cgroup/cgroup.procs", "");
	put("sys/fs/cgroup/kv/rdma.max",
	    "mlx5_0 hca_handle=max hca_object=max\n"
	    "mlx5_1 hca_handle=2 hca_object=2000\n"
	    "mlx5_10 hca_handle=max hca_object=max\n");
	put("sys/fs/cgroup/kv/rdma.current",
	    "mlx5_10 hca_handle=9 hca_object=9\n"
	    "mlx5_1 hca_handle=1 hca_object=1999\n");
	put("sys/fs/cgroup/kv/in/side/rdma.max",
	    "rxe0 hca_handle=max hca_object=0\n");
	put("sys/fs/cgroup/other/cgroup.procs", "");
	assert_int_equal(srdma_host_maxima(root, &h), 0);
	assert_int_equal(h.n_maxima, 3);
	assert_string_equal(h.maxima[0].cgroup, "/kv");
	assert_string_equal(h.maxima[0].dir, "/sys/fs/cgroup/kv");
	assert_string_equal(h.maxima[0].dev, "mlx5_1");
	assert_string_equal(h.maxima[0].what, "hca_handle");
	assert_int_equal(h.maxima[0].max, 2);
	assert_int_equal(h.maxima[0].current, 1);
	assert_string_equal(h.maxima[1].what, "hca_object");
	assert_int_equal(h.maxima[1].max, 2000);
	assert_int_equal(h.maxima[1].current, 1999);
	assert_string_equal(h.maxima[2].cgroup, "/kv/in/side");
	assert_int_equal(h.maxima[2].max, 0);
	/* the controller's own hierarchy, if it has one */
	host_free(&h);
	put("sys/fs/cgroup/rdma/cgroup.procs", "");
	put("sys/fs/cgroup/rdma/a/rdma.max", "rxe0 hca_handle=1 hca_object=max\n");
	assert_int_equal(srdma_host_maxima(root, &h), 0);
	assert_int_equal(h.n_maxima, 1);
	assert_string_equal(h.maxima[0].dir, "/sys/fs/cgroup/rdma/a");
}

/* --- DCB ------------------------------------------------------------------------------ */

static void put_app(struct nl_msg *msg, uint8_t selector, uint16_t protocol,
		    uint8_t priority)
{
	struct dcb_app app = {
		.selector = selector, .protocol = protocol,
		.priority = priority,
	};

	nla_put(msg, DCB_ATTR_IEEE_APP, sizeof(app), &app);
}

static struct nlattr *begin_dcb(struct nl_msg *msg)
{
	struct ieee_ets ets = { .willing = 1, .ets_cap = 8 };
	struct ieee_pfc pfc = { .pfc_cap = 8, .pfc_en = 0x18 };
	struct nlattr *ieee;

	for (int i = 0; i < 8; i++) {
		ets.prio_tc[i] = (uint8_t)(7 - i);
		ets.tc_tsa[i] = i ? IEEE_8021QAZ_TSA_ETS :
				    IEEE_8021QAZ_TSA_VENDOR;
		ets.tc_tx_bw[i] = (uint8_t)(10 * i);
		ets.tc_rx_bw[i] = 1;
	}
	nla_put_string(msg, DCB_ATTR_IFNAME, "hca0");
	ieee = nla_nest_start(msg, DCB_ATTR_IEEE);
	nla_put(msg, DCB_ATTR_IEEE_ETS, sizeof(ets), &ets);
	nla_put(msg, DCB_ATTR_IEEE_PFC, sizeof(pfc), &pfc);
	return ieee;
}

static struct host_dcb end_dcb(struct nl_msg *msg)
{
	struct host_dcb dcb = { .error = 0 };
	struct nlmsghdr *nlh = nlmsg_hdr(msg);

	srdma_dcb_parse(nlmsg_attrdata(nlh, 0), (size_t)nlmsg_attrlen(nlh, 0),
			&dcb);
	nlmsg_free(msg);
	return dcb;
}

static struct nl_msg *new_msg(void)
{
	return nlmsg_alloc_simple(78, 0);
}

static void dcb_in_full(void **state)
{
	struct nl_msg *msg = new_msg();
	struct nlattr *ieee = begin_dcb(msg), *apps;
	struct host_dcb dcb;

	(void)state;
	apps = nla_nest_start(msg, DCB_ATTR_IEEE_APP_TABLE);
	put_app(msg, IEEE_8021QAZ_APP_SEL_DSCP, 26, 3);
	put_app(msg, IEEE_8021QAZ_APP_SEL_DSCP, 26, 5);
	put_app(msg, IEEE_8021QAZ_APP_SEL_DSCP, 26, 4);
	put_app(msg, IEEE_8021QAZ_APP_SEL_DGRAM, 17, 1);
	put_app(msg, IEEE_8021QAZ_APP_SEL_DSCP, 64, 1);
	put_app(msg, IEEE_8021QAZ_APP_SEL_DSCP, 5, 8);
	nla_nest_end(msg, apps);
	nla_nest_end(msg, ieee);
	nla_put_u8(msg, DCB_ATTR_DCBX, DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE);
	dcb = end_dcb(msg);
	assert_int_equal(dcb.error, 0);
	assert_true(dcb.has_ets && dcb.has_pfc && dcb.has_dcbx && dcb.by_host);
	assert_int_equal(dcb.prio_tc[0], 7);
	assert_int_equal(dcb.prio_tc[6], 1);
	assert_int_equal(dcb.tsa[0], HOST_TSA_VENDOR);
	assert_int_equal(dcb.tsa[1], HOST_TSA_ETS);
	assert_int_equal(dcb.share[3], 30);
	assert_int_equal(dcb.pfc, 0x18);
	assert_true(dcb.dscps == 1ull << 26);
	assert_int_equal(dcb.dscp_prio[26], 5);
	assert_true(dcb.trusts_dscp);
}

/* By its entries; or by a table, where the driver has one. */
static void dcb_trust(void **state)
{
	struct nl_msg *msg = new_msg();
	struct nlattr *ieee = begin_dcb(msg), *nest;
	struct host_dcb dcb;

	(void)state;
	nest = nla_nest_start(msg, DCB_ATTR_IEEE_APP_TABLE);
	nla_nest_end(msg, nest);
	nla_nest_end(msg, ieee);
	nla_put_u8(msg, DCB_ATTR_DCBX, DCB_CAP_DCBX_LLD_MANAGED);
	dcb = end_dcb(msg);
	assert_false(dcb.trusts_dscp || dcb.by_host);
	for (int trusted = 0; trusted < 2; trusted++) {
		msg = new_msg();
		ieee = begin_dcb(msg);
		nest = nla_nest_start(msg, DCB_ATTR_IEEE_APP_TABLE);
		put_app(msg, IEEE_8021QAZ_APP_SEL_DSCP, 26, 3);
		nla_nest_end(msg, nest);
		nest = nla_nest_start(msg, 11);	/* DCB_ATTR_DCB_APP_TRUST_TABLE */
		nla_put_u8(msg, 2, 255);	/* PCP */
		if (trusted)
			nla_put_u8(msg, 1, IEEE_8021QAZ_APP_SEL_DSCP);
		nla_nest_end(msg, nest);
		nla_nest_end(msg, ieee);
		dcb = end_dcb(msg);
		assert_int_equal(dcb.trusts_dscp, trusted);
		assert_true(dcb.dscps == 1ull << 26);
	}
}

static void dcb_malformed(void **state)
{
	struct nl_msg *msg = new_msg();
	struct nlattr *ieee;
	struct host_dcb dcb;

	(void)state;
	nla_put_string(msg, DCB_ATTR_IFNAME, "hca0");
	dcb = end_dcb(msg);
	assert_int_equal(dcb.error, -EBADMSG);
	msg = new_msg();
	ieee = nla_nest_start(msg, DCB_ATTR_IEEE);
	nla_put_u8(msg, DCB_ATTR_IEEE_ETS, 1);
	nla_put_u8(msg, DCB_ATTR_IEEE_PFC, 1);
	nla_nest_end(msg, ieee);
	dcb = end_dcb(msg);
	assert_int_equal(dcb.error, 0);
	assert_false(dcb.has_ets || dcb.has_pfc || dcb.trusts_dscp);
}

/* --- the machine that this runs on ------------------------------------------------------ */

static void this_machine(void **state)
{
	(void)state;
	assert_int_equal(io_host(&h), 0);
	assert_int_equal(h.self.pid, getpid());
	assert_string_equal(h.self.comm, "test_host");
	assert_true(h.kernel.release[0] >= '0' && h.kernel.release[0] <= '9');
	assert_int_equal(h.root, !geteuid());
}

#define HOST_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOST_TEST(functions),
		HOST_TEST(ports),
		HOST_TEST(bonds),
		HOST_TEST(nothing_there),
		HOST_TEST(module),
		HOST_TEST(kernel),
		HOST_TEST(processes),
		HOST_TEST(cgroups),
		HOST_TEST(dcb_in_full),
		HOST_TEST(dcb_trust),
		HOST_TEST(dcb_malformed),
		HOST_TEST(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
