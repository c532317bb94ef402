// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>

#include "io/io.h"

/* Dropping from the bounding set needs CAP_SETPCAP; without it the set stays. */
static void drop_bounding(bool keep_net_admin)
{
	cap_value_t cap;

	for (cap = 0; CAP_IS_SUPPORTED(cap); cap++)
		if (cap != CAP_NET_ADMIN || !keep_net_admin)
			cap_drop_bound(cap);
}

int io_drop_privileges(bool keep_net_admin)
{
	static const cap_value_t keep[] = { CAP_NET_ADMIN };
	cap_flag_value_t have = CAP_CLEAR;
	cap_t caps = cap_get_proc();
	int err = 0;

	if (!caps)
		return -errno;
	cap_get_flag(caps, CAP_NET_ADMIN, CAP_PERMITTED, &have);
	drop_bounding(keep_net_admin);
	if (cap_clear(caps) ||
	    (keep_net_admin && have == CAP_SET &&
	     (cap_set_flag(caps, CAP_PERMITTED, 1, keep, CAP_SET) ||
	      cap_set_flag(caps, CAP_EFFECTIVE, 1, keep, CAP_SET))) ||
	    cap_set_proc(caps))
		err = -errno;
	cap_free(caps);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (!err && keep_net_admin && have != CAP_SET)
		err = -EPERM;
	return err;
}
