// SPDX-License-Identifier: GPL-2.0
/*
 * Another module that wraps create_qp, loaded after swiftrdma, so that its
 * wrapper stands above. With leave=1 it is a bad neighbour: it leaves its wrapper
 * on a device that goes. With hold=0 it wraps modify_qp, too, and while that is 1
 * holds it up; loaded before swiftrdma, so that a modify is under way past that. For
 * tests only.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <rdma/ib_verbs.h>

static bool leave;
module_param(leave, bool, 0600);
MODULE_PARM_DESC(leave, "do not take the wrapper off a device that goes");

static int hold = -1;
module_param(hold, int, 0600);
MODULE_PARM_DESC(hold, "0 or 1 from the start: wrap modify_qp; 1: each modify waits for 0");

static atomic_t held;

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

/* The one device of this name has it. */
static char *dev = "rxe0";
module_param(dev, charp, 0400);
MODULE_PARM_DESC(dev, "which device");

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

static int above_add(struct ib_device *ibdev)
{
	if (strcmp(dev_name(&ibdev->dev), dev) || below)
		return -EOPNOTSUPP;
	below = ibdev->ops.create_qp;
	ibdev->ops.create_qp = above_create_qp;
	modify_below = ibdev->ops.modify_qp;
	if (hold >= 0)
		ibdev->ops.modify_qp = above_modify_qp;
	return 0;
}

static void above_remove(struct ib_device *ibdev, void *data)
{
	if (ibdev->ops.create_qp != above_create_qp || leave)
		return;
	ibdev->ops.create_qp = below;
	ibdev->ops.modify_qp = modify_below;
}

static struct ib_client client = {
	.name = "above",
	.add = above_add,
	.remove = above_remove,
	.no_kverbs_req = true,
};

static int __init above_init(void)
{
	return ib_register_client(&client);
}

static void __exit above_exit(void)
{
	ib_unregister_client(&client);
	/* Callers that have the pointer in hand. A modify that waits is the test's to end. */
	synchronize_rcu_tasks();
}

module_init(above_init);
module_exit(above_exit);

MODULE_DESCRIPTION("Test: a wrapper above swiftrdma's");
MODULE_LICENSE("GPL");
