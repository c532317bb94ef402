// SPDX-License-Identifier: GPL-2.0
/* The debug build's knobs; an empty file in any other. */
#ifdef SWIFTRDMA_DEBUG
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/moduleparam.h>
#include <linux/processor.h>
#include <linux/sched.h>

#include "debug.h"

static uint delay_ms;
module_param(delay_ms, uint, 0600);
MODULE_PARM_DESC(delay_ms, "how long each chosen point waits, ms");

static uint delay_at;
module_param(delay_at, uint, 0600);
MODULE_PARM_DESC(delay_at,
		 "points that wait: 1 entry, 2 inside, 4 exit, 8 adoption, 16 locked, 32 published, 64 unknown, 128 emptied, 256 devx, 512 left, 1024 rules, 2048 visit, 4096 stamp, 8192 stat, 16384 regions");

static uint delays;
module_param(delays, uint, 0400);
MODULE_PARM_DESC(delays, "waits that have begun");

static uint skip_grace;
module_param(skip_grace, uint, 0600);
MODULE_PARM_DESC(skip_grace, "unsafe: steps of disarm left out: 1 entry, 2 SRCU, 4 exit");

static uint fail_alloc;
module_param(fail_alloc, uint, 0600);
MODULE_PARM_DESC(fail_alloc, "every n-th QP is not tracked, as if memory had run out; 0: none");

static bool never_drain;
module_param(never_drain, bool, 0600);
MODULE_PARM_DESC(never_drain, "no QP's send queue is ever seen drained, so no class is changed live");

static uint adopt_looked;
module_param(adopt_looked, uint, 0600);
MODULE_PARM_DESC(adopt_looked, "QP numbers that scans for older QPs have looked at; written to, it goes on from there");

static bool no_commands;
module_param(no_commands, bool, 0600);
MODULE_PARM_DESC(no_commands, "no firmware command may be sent for a reader's sake");

static uint ends_missed;
module_param(ends_missed, uint, 0600);
MODULE_PARM_DESC(ends_missed, "a provider takes so many ends of QPs for missed by its probes");

static uint coarse_bits;
module_param(coarse_bits, uint, 0600);
MODULE_PARM_DESC(coarse_bits, "so many low bits of the times (ns) at which probes see QPs come and go are 0");

static bool representor;
module_param(representor, bool, 0600);
MODULE_PARM_DESC(representor, "a provider takes a physical function for one in switchdev mode");

static uint peer_lose;
module_param(peer_lose, uint, 0600);
MODULE_PARM_DESC(peer_lose, "messages to peers that are not sent: 2 HELLO, 4 WELCOME, 8 ASK, 16 ANSWER, 32 REFUSE, 64 WISH, 128 HEARD, 256 TELL, 512 TOLD");

static ulong peer_lose_once;
module_param(peer_lose_once, ulong, 0600);
MODULE_PARM_DESC(peer_lose_once, "the same bits, of which each resets when it has lost a message");

static bool peer_wishless;
module_param(peer_wishless, bool, 0600);
MODULE_PARM_DESC(peer_wishless, "takes no wishes of peers, as a module that is older than these");

static bool peer_deaf;
module_param(peer_deaf, bool, 0600);
MODULE_PARM_DESC(peer_deaf, "takes no messages for processes, as a module that is older than these");

static bool peer_wire;
module_param(peer_wire, bool, 0600);
MODULE_PARM_DESC(peer_wire, "messages to peers on this host leave by the port, too");

static uint peer_version;
module_param(peer_version, uint, 0600);
MODULE_PARM_DESC(peer_version, "version of the messages to peers, 0: as it is");

static atomic_t allocs;

/*
 * The wait must not sleep: outside SRCU a voluntary sleep would be a quiescent state of RCU
 * tasks, and the code under test never sleeps there. Preemption, which the test is about,
 * stays enabled. mdelay() relies on what the boot has calibrated, which can be wrong by
 * orders of magnitude in a guest whose host was busy then. So the clock tells when to stop.
 */
void srdma_delay(enum srdma_delay_point point)
{
	ktime_t end;

	if (!(READ_ONCE(delay_at) & 1 << point))
		return;
	/* Not atomic: a test that reads this number has one thread wait here. */
	WRITE_ONCE(delays, delays + 1);
	end = ktime_add_ms(ktime_get(), READ_ONCE(delay_ms));
	/* Stop early when the parameter no longer names the point. */
	while (READ_ONCE(delay_at) & 1 << point && ktime_before(ktime_get(), end)) {
		cpu_relax();
		/*
		 * A driver's op sleeps while it waits, so ksoftirqd can run on its CPU. The
		 * waiting thread must not prevent that. cond_resched() is no quiescent state
		 * of RCU tasks.
		 */
		if (point == SRDMA_DELAY_INSIDE)
			cond_resched();
	}
}

bool srdma_skip_grace(enum srdma_grace step)
{
	return READ_ONCE(skip_grace) & step;
}

bool srdma_never_drain(void)
{
	return READ_ONCE(never_drain);
}

/* Not atomic: two scans at once may lose counts, and no test runs two. */
void srdma_adopt_looked(void)
{
	WRITE_ONCE(adopt_looked, adopt_looked + 1);
}

bool srdma_no_commands(void)
{
	return READ_ONCE(no_commands);
}
EXPORT_SYMBOL_GPL(srdma_no_commands);

u32 srdma_ends_missed(void)
{
	return READ_ONCE(ends_missed);
}
EXPORT_SYMBOL_GPL(srdma_ends_missed);

u64 srdma_coarse(u64 ns)
{
	unsigned int bits = min(READ_ONCE(coarse_bits), 63U);

	return ns >> bits << bits;
}
EXPORT_SYMBOL_GPL(srdma_coarse);

bool srdma_as_representor(void)
{
	return READ_ONCE(representor);
}
EXPORT_SYMBOL_GPL(srdma_as_representor);

bool srdma_peer_loses(u8 type)
{
	return READ_ONCE(peer_lose) & 1 << type || test_and_clear_bit(type, &peer_lose_once);
}

bool srdma_peer_wishless(void)
{
	return READ_ONCE(peer_wishless);
}

bool srdma_peer_deaf(void)
{
	return READ_ONCE(peer_deaf);
}

bool srdma_peer_wire(void)
{
	return READ_ONCE(peer_wire);
}

u8 srdma_peer_version(u8 version)
{
	return READ_ONCE(peer_version) ?: version;
}

bool srdma_fail(void)
{
	uint n = READ_ONCE(fail_alloc);

	return n && !(atomic_inc_return(&allocs) % n);
}
#endif
