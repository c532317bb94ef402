// SPDX-License-Identifier: GPL-2.0
/*
 * Another module that wraps create_qp, loaded after swiftrdma, so that its
 * wrapper stands above. With leave=1 it is a bad neighbour: it leaves its wrapper
 * on a device that goes. With hold=0 it wraps modify_qp, too, and while that is 1
 * holds it up; loaded before swiftrdma, so that a modify is under way past that.
 * hold_destroy is the same of destroy_qp. With listed=1 RDMA core goes on listing a QP
 * that is being destroyed, as it did before it had rdma_restrack_begin_del(). With
 * dmabuf=1 the device registers dma-bufs, or what is called so: the caller's own memory.
 * parent=NAME renames the parent of the device to NAME until this module is unloaded.
 * For tests only.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/version.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

static bool leave;
module_param(leave, bool, 0600);
MODULE_PARM_DESC(leave, "do not take the wrapper off a device that goes");

static int hold = -1;
module_param(hold, int, 0600);
MODULE_PARM_DESC(hold, "0 or 1 from the start: wrap modify_qp; 1: each modify waits for 0");

static atomic_t held;

static int hold_destroy = -1;
module_param(hold_destroy, int, 0600);
MODULE_PARM_DESC(hold_destroy, "0 or 1 from the start: wrap destroy_qp; 1: each destroy waits for 0");

static bool listed;
module_param(listed, bool, 0400);
MODULE_PARM_DESC(listed, "what is being destroyed stays listed");

static atomic_t held_destroys;

static int get_held_destroys(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&held_destroys));
}

static const struct kernel_param_ops held_destroys_ops = { .get = get_held_destroys };
module_param_cb(held_destroys, &held_destroys_ops, NULL, 0400);
MODULE_PARM_DESC(held_destroys, "destroys that wait");

static atomic_t calls;

static int get_held(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&held));
}

static const struct kernel_param_ops held_ops = { .get = get_held };
module_param_cb(held, &held_ops, NULL, 0400);
MODULE_PARM_DESC(held, "modifies that wait");

static int get_calls(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&calls));
}

static const struct kernel_param_ops calls_ops = { .get = get_calls };
module_param_cb(calls, &calls_ops, NULL, 0400);
MODULE_PARM_DESC(calls, "QPs created through the wrapper");

static bool dmabuf;
module_param(dmabuf, bool, 0400);
MODULE_PARM_DESC(dmabuf, "reg_user_mr_dmabuf registers the caller's memory at the address it names");

/* The one device of this name has it. */
static char *dev = "rxe0";
module_param(dev, charp, 0400);
MODULE_PARM_DESC(dev, "which device");

static char *parent;
module_param(parent, charp, 0400);
MODULE_PARM_DESC(parent, "new name of the device's parent");

static char *parent_name_before;

static int (*below)(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata);

static int above_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			   struct ib_udata *udata)
{
	atomic_inc(&calls);
	return below(qp, attr, udata);
}

static int (*modify_below)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata);

static int above_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata)
{
	atomic_inc(&held);
	while (READ_ONCE(hold) > 0)
		msleep(10);
	atomic_dec(&held);
	return modify_below(qp, attr, mask, udata);
}

/* The driver's own: swiftrdma, which comes later, must not count the region twice. */
static typeof_member(struct ib_device_ops, reg_user_mr) reg_user_mr;
static typeof_member(struct ib_device_ops, reg_user_mr_dmabuf) dmabuf_below;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
static struct ib_mr *above_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 addr, int fd,
				      int access, struct ib_dmah *dmah,
				      struct uverbs_attr_bundle *attrs)
{
	return reg_user_mr(pd, addr, length, addr, access, dmah, &attrs->driver_udata);
}
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
static struct ib_mr *above_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 addr, int fd,
				      int access, struct uverbs_attr_bundle *attrs)
{
	return reg_user_mr(pd, addr, length, addr, access, &attrs->driver_udata);
}
#else
static struct ib_mr *above_reg_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 addr, int fd,
				      int access, struct ib_udata *udata)
{
	return reg_user_mr(pd, addr, length, addr, access, udata);
}
#endif

static int (*destroy_below)(struct ib_qp *qp, struct ib_udata *udata);

static int above_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	atomic_inc(&held_destroys);
	while (READ_ONCE(hold_destroy) > 0)
		msleep(10);
	atomic_dec(&held_destroys);
	return destroy_below(qp, udata);
}

/* The function that is probed returns at once, through one that does nothing. */
static noinline void nothing(void)
{
	barrier();
}

static int skip(struct kprobe *p, struct pt_regs *regs)
{
	instruction_pointer_set(regs, (unsigned long)nothing);
	return 1;
}

/* Without one the probe may become a jump, which goes back to where it came from. */
static void skipped(struct kprobe *p, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe begin_del = {
	.symbol_name = "rdma_restrack_begin_del",
	.pre_handler = skip,
	.post_handler = skipped,
};

static int rename_parent(struct ib_device *ibdev)
{
	char *name = kstrdup(dev_name(ibdev->dev.parent), GFP_KERNEL);

	if (!name || device_rename(ibdev->dev.parent, parent)) {
		kfree(name);
		return -ENOMEM;
	}
	parent_name_before = name;
	return 0;
}

static int above_add(struct ib_device *ibdev)
{
	if (strcmp(dev_name(&ibdev->dev), dev) || below)
		return -EOPNOTSUPP;
	if (parent && rename_parent(ibdev))
		return -ENOMEM;
	below = ibdev->ops.create_qp;
	ibdev->ops.create_qp = above_create_qp;
	modify_below = ibdev->ops.modify_qp;
	if (hold >= 0)
		ibdev->ops.modify_qp = above_modify_qp;
	destroy_below = ibdev->ops.destroy_qp;
	if (hold_destroy >= 0)
		ibdev->ops.destroy_qp = above_destroy_qp;
	reg_user_mr = ibdev->ops.reg_user_mr;
	dmabuf_below = ibdev->ops.reg_user_mr_dmabuf;
	if (dmabuf)
		ibdev->ops.reg_user_mr_dmabuf = above_reg_dmabuf;
	return 0;
}

static void above_remove(struct ib_device *ibdev, void *data)
{
	if (parent)
		WARN_ON(device_rename(ibdev->dev.parent, parent_name_before));
	kfree(parent_name_before);
	if (ibdev->ops.create_qp != above_create_qp || leave)
		return;
	ibdev->ops.create_qp = below;
	ibdev->ops.modify_qp = modify_below;
	ibdev->ops.destroy_qp = destroy_below;
	ibdev->ops.reg_user_mr_dmabuf = dmabuf_below;
}

static struct ib_client client = {
	.name = "above",
	.add = above_add,
	.remove = above_remove,
	.no_kverbs_req = true,
};

static int __init above_init(void)
{
	int ret = listed ? register_kprobe(&begin_del) : 0;

	/* A kernel without that function lists them as it is. */
	if (ret == -ENOENT)
		listed = false;
	else if (ret)
		return ret;
	ret = ib_register_client(&client);
	if (ret && listed)
		unregister_kprobe(&begin_del);
	return ret;
}

static void __exit above_exit(void)
{
	ib_unregister_client(&client);
	if (listed)
		unregister_kprobe(&begin_del);
	/* Callers that have the pointer in hand. A modify that waits is the test's to end. */
	synchronize_rcu_tasks();
}

module_init(above_init);
module_exit(above_exit);

MODULE_DESCRIPTION("Test: a wrapper above swiftrdma's");
MODULE_LICENSE("GPL");
