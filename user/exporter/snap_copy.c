// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/snap_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The arrays of a snapshot whose elements have no pointers. */
static const struct {
	size_t array, n, cap, size;
} arrays[] = {
#define ARRAY(name)								\
	{ offsetof(struct snapshot, name), offsetof(struct snapshot, n_##name),	\
	  offsetof(struct snapshot, cap_##name), sizeof(*((struct snapshot *)0)->name) }
	ARRAY(devs), ARRAY(ports), ARRAY(prios), ARRAY(uars), ARRAY(qps), ARRAY(owners),
	ARRAY(job_reports), ARRAY(qp_reports),
#undef ARRAY
};

#define N_ARRAYS	(sizeof(arrays) / sizeof(arrays[0]))

static void *array_of(const struct snapshot *s, size_t i)
{
	void *p;

	memcpy(&p, (const char *)s + arrays[i].array, sizeof(p));
	return p;
}

static size_t *count_of(const struct snapshot *s, size_t i)
{
	return (size_t *)((char *)s + arrays[i].n);
}

static bool make_room(struct snapshot *s, size_t i, size_t n)
{
	return array_reserve((char *)s + arrays[i].array, (size_t *)((char *)s + arrays[i].cap),
			     n, arrays[i].size);
}

static void take_scalars(struct snapshot *to, const struct snapshot *from)
{
	to->generation = from->generation;
	to->time = from->time;
	to->admin = from->admin;
	to->armed = from->armed;
}

/* Makes @n jobs, of which nothing is set yet. */
static int reset_jobs(struct snapshot *s, size_t n)
{
	for (size_t i = 0; i < s->cap_jobs; i++) {
		free(s->jobs[i].rules);
		free(s->jobs[i].stats);
		s->jobs[i] = (struct snap_job){ 0 };
	}
	s->n_jobs = 0;
	if (!array_reserve(&s->jobs, &s->cap_jobs, n, sizeof(*s->jobs)))
		return -ENOMEM;
	s->n_jobs = n;
	return 0;
}

/* The job, with room for its figures. */
static int set_job(struct snap_job *to, const struct snap_job *from)
{
	*to = *from;
	to->rules = NULL;
	to->n_rules = 0;
	to->stats = calloc(from->n_stats ? from->n_stats : 1, sizeof(*to->stats));
	return to->stats ? 0 : -ENOMEM;
}

int snap_copy(struct snapshot *to, const struct snapshot *from)
{
	take_scalars(to, from);
	for (size_t i = 0; i < N_ARRAYS; i++) {
		size_t n = *count_of(from, i);

		if (!make_room(to, i, n))
			return -ENOMEM;
		if (n)
			memcpy(array_of(to, i), array_of(from, i), n * arrays[i].size);
		*count_of(to, i) = n;
	}
	if (reset_jobs(to, from->n_jobs))
		return -ENOMEM;
	for (size_t i = 0; i < from->n_jobs; i++) {
		const struct snap_job *job = &from->jobs[i];

		if (set_job(&to->jobs[i], job))
			return -ENOMEM;
		if (job->n_stats)
			memcpy(to->jobs[i].stats, job->stats, job->n_stats * sizeof(*job->stats));
	}
	return 0;
}

int send_bytes(int fd, const void *p, size_t len)
{
	while (len) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p = (const char *)p + n;
		len -= (size_t)n;
	}
	return 0;
}

int receive_bytes(int fd, void *p, size_t len)
{
	while (len) {
		ssize_t n = recv(fd, p, len, MSG_WAITALL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		p = (char *)p + n;
		len -= (size_t)n;
	}
	return 0;
}

int snap_send(int fd, const struct snapshot *s)
{
	int err = send_bytes(fd, s, sizeof(*s));

	for (size_t i = 0; i < N_ARRAYS && !err; i++)
		err = send_bytes(fd, array_of(s, i), *count_of(s, i) * arrays[i].size);
	if (!err)
		err = send_bytes(fd, s->jobs, s->n_jobs * sizeof(*s->jobs));
	for (size_t i = 0; i < s->n_jobs && !err; i++)
		err = send_bytes(fd, s->jobs[i].stats,
				 s->jobs[i].n_stats * sizeof(*s->jobs[i].stats));
	return err;
}

int snap_receive(int fd, struct snapshot *s)
{
	struct snap_job job;
	struct snapshot head;
	int err = receive_bytes(fd, &head, sizeof(head));

	if (err)
		return err;
	take_scalars(s, &head);
	for (size_t i = 0; i < N_ARRAYS && !err; i++) {
		size_t n = *count_of(&head, i);

		if (!make_room(s, i, n))
			return -ENOMEM;
		*count_of(s, i) = n;
		err = receive_bytes(fd, array_of(s, i), n * arrays[i].size);
	}
	if (!err)
		err = reset_jobs(s, head.n_jobs);
	for (size_t i = 0; i < s->n_jobs && !err; i++) {
		err = receive_bytes(fd, &job, sizeof(job));
		if (!err)
			err = set_job(&s->jobs[i], &job);
		/* Nothing of an array that was not received may be read. */
		if (err)
			s->n_jobs = i;
	}
	for (size_t i = 0; i < s->n_jobs && !err; i++)
		err = receive_bytes(fd, s->jobs[i].stats,
				    s->jobs[i].n_stats * sizeof(*s->jobs[i].stats));
	return err;
}
