// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Doctor: devices, their kind of function, and their ports. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rdma/swiftrdma.h>

#include "cli/doctor.h"

/* As enum ib_port_state. */
#define PORT_INIT	2
#define PORT_ACTIVE	4

static const char *function_words(enum host_function function)
{
	switch (function) {
	case HOST_SOFTWARE:
		return "a device of software";
	case HOST_PF:
		return "a physical function (PF)";
	case HOST_VF:
		return "a virtual function (VF), whose rates, priorities and firmware are its PF's";
	case HOST_SF:
		return "a subfunction (SF), whose rates, priorities and firmware are its PF's";
	case HOST_REPRESENTOR:
		return "a physical function (PF) in switchdev mode, whose ports represent ports of the NIC's switch";
	}
	return "";
}

static void judge_dev(struct doctor *d, const struct host_dev *dev)
{
	const struct snap_dev *s = doctor_snap_dev(d, dev->name);

	doctor_say(d, DOCTOR_DEVICE, DOCTOR_FINE, "function", dev->name,
		   "%s%s%s%s%s%s%s", function_words(doctor_function(d, dev)),
		   dev->bus[0] ? " at " : "", dev->bus,
		   dev->driver[0] ? ", driver " : "", dev->driver,
		   dev->firmware[0] ? ", firmware " : "", dev->firmware);
	if (!d->answers || d->armed == -ESHUTDOWN)
		return;
	if (!s) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_WARNING, "known", dev->name,
			   "the module is armed but does not have this device; the kernel log says why");
		doctor_mend(d, "dmesg | grep swiftrdma");
	} else if (s->untracked) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_WARNING, "untracked",
			   dev->name,
			   "%llu of its QPs are not tracked, because memory ran out when they were created",
			   (unsigned long long)s->untracked);
	}
}

/* Judges whether a level changes a connected QP on this port. */
static void judge_live(struct doctor *d, const struct host_port *port,
		       const struct host_dev *dev, const char *object)
{
	const struct snap_dev *s = doctor_snap_dev(d, dev->name);

	if (!s)
		return;
	if (port->link_layer == 1) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_FINE, "live_class", object,
			   "on InfiniBand a level is a service level, which a QP keeps from when it connects");
		doctor_detail(d);
	} else if (s->caps & SWIFTRDMA_DEV_CAP_LIVE_CLASS) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_FINE, "live_class", object,
			   "the class of a connected QP can be changed");
		doctor_detail(d);
	} else if (!strcmp(s->provider, "mlx5")) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_WARNING, "live_class",
			   object,
			   "firmware %s cannot change the DSCP of a connected QP (rts2rts_qp_dscp): a level reaches only QPs that connect later",
			   dev->firmware);
		doctor_mend(d, "mstflint -d %s -i FIRMWARE.bin burn", dev->bus);
	} else {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_FINE, "live_class", object,
			   "a level reaches only QPs that connect later: the driver cannot change connected QPs");
		doctor_detail(d);
	}
}

static const struct host_net *find_net(const struct host *h, uint32_t port)
{
	for (size_t i = 0; i < h->n_nets; i++)
		if (h->nets[i].port == port)
			return &h->nets[i];
	return NULL;
}

static void judge_port(struct doctor *d, uint32_t at)
{
	const struct host_port *port = &d->host->ports[at];
	const struct host_dev *dev = &d->host->devs[port->dev];
	const struct host_net *net = find_net(d->host, at);
	char object[DOCTOR_OBJECT];

	snprintf(object, sizeof(object), "%s/%u", dev->name, port->index);
	if (port->state == PORT_ACTIVE) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_FINE, "port", object,
			   "active, %s%s%s",
			   port->link_layer == 1 ? "InfiniBand" :
			   port->link_layer == 2 ? "Ethernet" : "",
			   net ? ", " : "", net ? net->name : "");
		doctor_detail(d);
	} else if (port->link_layer == 1 && port->state >= PORT_INIT) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_ERROR, "port", object,
			   "the link is up, but no subnet manager has made the port active; one must run on a host or switch");
		doctor_mend(d, "systemctl start opensm");
	} else if (net && !net->up) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_WARNING, "port", object,
			   "down: its interface %s is down, or the cable is unplugged", net->name);
		doctor_mend(d, "ip link set %s up", net->name);
	} else {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_WARNING, "port", object,
			   "down: check the cable and the device at its other end");
	}
	judge_live(d, port, dev, object);
}

void doctor_devices(struct doctor *d)
{
	const struct host *h = d->host;

	if (!h->n_devs) {
		doctor_say(d, DOCTOR_DEVICE, DOCTOR_WARNING, "any", "-",
			   "there is no RDMA device: the RDMA driver of the NIC is not loaded, or there is no RDMA NIC");
		doctor_mend(d, "modprobe mlx5_ib");
	}
	for (size_t i = 0; i < h->n_devs; i++) {
		judge_dev(d, &h->devs[i]);
		for (uint32_t k = 0; k < h->n_ports; k++)
			if (h->ports[k].dev == i)
				judge_port(d, k);
	}
}
