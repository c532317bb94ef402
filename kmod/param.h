/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_PARAM_H
#define SRDMA_PARAM_H

#include <linux/module.h>

/* A module parameter: a number from @least to @most, which may be changed at any time. */
#define SRDMA_PARAM(name, value, least, most, text)				\
	static uint name = value;						\
	static int name##_set(const char *val, const struct kernel_param *kp)	\
	{									\
		return param_set_uint_minmax(val, kp, least, most);		\
	}									\
	static const struct kernel_param_ops name##_ops = {			\
		.set = name##_set,						\
		.get = param_get_uint,						\
	};									\
	module_param_cb(name, &name##_ops, &name, 0644);			\
	MODULE_PARM_DESC(name, text)

#endif /* SRDMA_PARAM_H */
