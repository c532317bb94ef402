// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Asynchronous events of QPs that move. The program gets the events of the QP in use, with its own QP in them. */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "move_step.h"

/* --- the device's events ------------------------------------------------------------------ */

static struct {
	struct ibv_async_event queue[8];
	unsigned int head, tail;
	unsigned int waits;		/* calls for which there was no event */
	unsigned int acks;
	struct ibv_qp *acked;		/* the QP of the last one */
} device;

/* Queues an event, and makes the descriptor readable, as a device does. */
static void device_event(enum ibv_event_type type, struct ibv_qp *qp)
{
	device.queue[device.head++ % 8] = (struct ibv_async_event){ .event_type = type, .element.qp = qp };
	assert_int_equal(eventfd_write(rig.ctx->async_fd, 1), 0);
}

/* ibv_get_async_event() of the device. With an empty queue it fails, because waiting would never end. */
static int device_get_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	eventfd_t n;

	if (device.tail == device.head) {
		device.waits++;
		errno = fcntl(ctx->async_fd, F_GETFL) & O_NONBLOCK ? EAGAIN : EDEADLK;
		return -1;
	}
	assert_int_equal(eventfd_read(ctx->async_fd, &n), 0);
	*event = device.queue[device.tail++ % 8];
	return 0;
}

static void device_ack_event(struct ibv_async_event *event)
{
	device.acks++;
	device.acked = event->element.qp;
}

static int setup(void **state)
{
	int ret = move_setup(state);

	memset(&device, 0, sizeof(device));
	next.get_async_event = device_get_event;
	next.ack_async_event = device_ack_event;
	rig.ctx->async_fd = eventfd(0, EFD_SEMAPHORE);
	return ret || rig.ctx->async_fd < 0;
}

static int teardown(void **state)
{
	int fd = rig.ctx->async_fd, ret = move_teardown(state);

	close(fd);
	return ret;
}

#define EVENT_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

/* The program gets one event of its own QP, and acknowledges it. */
static void gets(enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(rig.ctx, &event), 0);
	assert_int_equal(event.event_type, type);
	assert_ptr_equal(event.element.qp, end[0].qp);
	ibv_ack_async_event(&event);
}

static void moves_for(unsigned int n)
{
	while (n--)
		move_once();
}

/* --- tests -------------------------------------------------------------------------------- */

/* An event of the QP that carries the requests names the program's QP, and is acknowledged once. */
static void test_in_use(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 4; i++) {
		device_event(IBV_EVENT_QP_ACCESS_ERR, now_of(&end[0]));
		gets(IBV_EVENT_QP_ACCESS_ERR);
		assert_int_equal(device.acks, i + 1);
		assert_ptr_equal(device.acked, now_of(&end[0]));
		moves_for(1);
	}
	assert_int_equal(device.waits, 0);
}

/* The program does not see events of a QP that no longer carries the requests. */
static void test_left_behind(void **state)
{
	(void)state;
	moves_for(1);
	assert_ptr_not_equal(now_of(&end[0]), end[0].qp);
	device_event(IBV_EVENT_QP_LAST_WQE_REACHED, end[0].qp);
	device_event(IBV_EVENT_QP_LAST_WQE_REACHED, end[0].qp);
	device_event(IBV_EVENT_COMM_EST, now_of(&end[0]));
	gets(IBV_EVENT_COMM_EST);
	assert_int_equal(device.acks, 3);
	assert_int_equal(device.waits, 0);
}

/*
 * The only event is one that the program must not see. ibv_get_async_event() fails with EINTR and does not
 * wait. With O_NONBLOCK the call fails with EAGAIN, as it does when there is no event.
 */
static void test_polled(void **state)
{
	struct pollfd p = { .fd = rig.ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	(void)state;
	moves_for(1);
	device_event(IBV_EVENT_QP_LAST_WQE_REACHED, end[0].qp);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(ibv_get_async_event(rig.ctx, &event), -1);
	assert_int_equal(errno, EINTR);
	assert_int_equal(device.waits, 0);
	assert_int_equal(device.acks, 1);

	assert_int_equal(fcntl(rig.ctx->async_fd, F_SETFL, O_NONBLOCK), 0);
	device_event(IBV_EVENT_QP_LAST_WQE_REACHED, end[0].qp);
	assert_int_equal(ibv_get_async_event(rig.ctx, &event), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(device.waits, 1);
	assert_int_equal(device.acks, 2);
}

/* Events that come after the call began: the call skips the first one, and waits for the second. */
static int late_events(struct ibv_context *ctx, struct ibv_async_event *event)
{
	if (!device.head)
		device_event(IBV_EVENT_QP_LAST_WQE_REACHED, end[0].qp);
	else if (device.head == 1)
		device_event(IBV_EVENT_SQ_DRAINED, now_of(&end[0]));
	return device_get_event(ctx, event);
}

static void test_waits(void **state)
{
	(void)state;
	moves_for(1);
	next.get_async_event = late_events;
	gets(IBV_EVENT_SQ_DRAINED);
	assert_int_equal(device.acks, 2);
	assert_int_equal(device.waits, 0);
}

/* Events of ports, and of QPs that cannot move, pass unchanged. */
static void test_others(void **state)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end[0].cq, .recv_cq = end[0].cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(&rig.pd, &attr);
	struct ibv_async_event event;

	(void)state;
	moves_for(1);
	device_event(IBV_EVENT_QP_FATAL, qp);
	assert_int_equal(ibv_get_async_event(rig.ctx, &event), 0);
	assert_ptr_equal(event.element.qp, qp);
	assert_int_equal(device.acks, 0);
	ibv_ack_async_event(&event);
	assert_int_equal(device.acks, 1);
	device_event(IBV_EVENT_PORT_ERR, NULL);
	assert_int_equal(ibv_get_async_event(rig.ctx, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
	ibv_ack_async_event(&event);
	assert_int_equal(device.acks, 2);
	ibv_destroy_qp(qp);
}

/* As in libibverbs, ibv_destroy_qp() waits until the program has acknowledged all events of the QP. */
static struct ibv_async_event unacknowledged;
static atomic_bool acknowledges;

static void *acknowledge(void *arg)
{
	const struct move *m = arg;

	while (!__atomic_load_n(&m->dead, __ATOMIC_ACQUIRE))
		sched_yield();
	atomic_store(&acknowledges, true);
	ibv_ack_async_event(&unacknowledged);
	return NULL;
}

static void test_destroyed(void **state)
{
	pthread_t thread;

	(void)state;
	moves_for(1);
	device_event(IBV_EVENT_QP_REQ_ERR, now_of(&end[0]));
	assert_int_equal(ibv_get_async_event(rig.ctx, &unacknowledged), 0);
	assert_int_equal(pthread_create(&thread, NULL, acknowledge, move_of_end(&end[0])), 0);
	assert_int_equal(ibv_destroy_qp(end[0].qp), 0);
	assert_true(atomic_load(&acknowledges));
	pthread_join(thread, NULL);
	end[0].qp = NULL;
	assert_int_equal(device.acks, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(test_in_use),
		EVENT_TEST(test_left_behind),
		EVENT_TEST(test_polled),
		EVENT_TEST(test_waits),
		EVENT_TEST(test_others),
		EVENT_TEST(test_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
