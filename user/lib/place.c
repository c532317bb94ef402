// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which register a new QP gets, and the thread domains and parent domains for it.
 *
 * lightest: as long as libmlx5 gives a QP a register of its own, the QP is left where it is. A further
 * QP gets a new register of the library. If there is none, it gets the one that was rung least in the
 * present window and the one before; among equals, the one with the fewest QPs.
 *
 * by-thread: a register for each thread that creates QPs.
 *
 * A QP that moves (move_swap.c) gets a register of the library, too.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/placed.h"

/* libmlx5's defaults, and the registers of a page that QPs use. */
#define MLX5_UUARS 16
#define MLX5_LOW_LAT_UUARS 4
#define MLX5_MEDIUM_UUARS 12
#define MLX5_UAR_BYTES 4096
#define MLX5_UUARS_IN_UAR 2

/* A ring counts towards the load of its register for one to two of these times. */
#define WINDOW_NS 1000000000ull

enum swiftrdma_place place_named(const char *name)
{
	if (name && !strcmp(name, "lightest"))
		return SWIFTRDMA_PLACE_LIGHTEST;
	if (name && !strcmp(name, "by-thread"))
		return SWIFTRDMA_PLACE_BY_THREAD;
	return SWIFTRDMA_PLACE_DEFAULT;
}

/*
 * libmlx5 reads its environment when it opens a device. It creates registers only as QPs need
 * them, so a larger number costs nothing by itself.
 */
__attribute__((constructor)) static void set_total_uuars(void)
{
	const char *mode = secure_getenv("SWIFTRDMA_MODE");
	char number[16];

	if (place_named(secure_getenv("SWIFTRDMA_PLACE")) != SWIFTRDMA_PLACE_LIGHTEST ||
	    (mode && !strcmp(mode, "off")) || getenv("MLX5_NUM_LOW_LAT_UUARS"))
		return;
	snprintf(number, sizeof(number), "%d", PLACE_TOTAL_UUARS);
	setenv("MLX5_TOTAL_UUARS", number, 0);
}

/* --- what there is without the library --------------------------------------------- */

static bool is_mlx5(struct ibv_device *device)
{
	/* libibverbs has loaded libmlx5 if libmlx5 drives any device. */
	void *lib = dlopen("libmlx5.so.1", RTLD_LAZY | RTLD_NOLOAD);
	bool (*supported)(struct ibv_device *device);
	bool yes;

	if (!lib)
		return false;
	supported = (bool (*)(struct ibv_device *))dlsym(lib, "mlx5dv_is_supported");
	yes = supported && supported(device);
	dlclose(lib);
	return yes;
}

bool (*place_is_mlx5)(struct ibv_device *device) = is_mlx5;

static uint32_t number_in(const char *name, uint32_t otherwise)
{
	const char *s = getenv(name);
	long n = s ? strtol(s, NULL, 10) : (long)otherwise;

	return n < 0 ? 0 : n > UINT16_MAX ? UINT16_MAX : (uint32_t)n;
}

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

/* As libmlx5 does it (get_total_uuars(), mlx5_get_qp_uar()), by page. */
static void count_default_registers(struct place_context *pl)
{
	const char *shut_up = getenv("MLX5_SHUT_UP_BF");
	uint32_t in_page = (uint32_t)sysconf(_SC_PAGESIZE) / MLX5_UAR_BYTES * MLX5_UUARS_IN_UAR;
	uint32_t total = number_in("MLX5_TOTAL_UUARS", MLX5_UUARS);
	uint32_t dedicated = number_in("MLX5_NUM_LOW_LAT_UUARS", MLX5_LOW_LAT_UUARS);

	if (shut_up && strcmp(shut_up, "0")) {
		pl->dedicated = 0;
		pl->shared = 1;
		return;
	}
	total = round_up(total > in_page ? total : in_page, MLX5_UUARS_IN_UAR);
	if (total > MLX5_MEDIUM_UUARS && dedicated < total - MLX5_MEDIUM_UUARS)
		dedicated = total - MLX5_MEDIUM_UUARS;
	if (dedicated >= total)
		dedicated = total - 1;
	pl->dedicated = round_up(dedicated, in_page);
	pl->shared = round_up(total - dedicated, in_page);
}

static uint32_t default_registers(const struct place_context *pl)
{
	return pl->dedicated + pl->shared;
}

/* How many QPs share the register that libmlx5 would give the next QP. */
static uint32_t default_load(const struct place_context *pl)
{
	uint32_t all = default_registers(pl);

	return pl->by_default < all ? 0 : 1 + (pl->by_default - all) / pl->shared;
}

static uint32_t idle_state(const struct device *dev)
{
	return dev->knobs.place_able ? SWIFTRDMA_KNOB_STATE_IDLE : SWIFTRDMA_KNOB_STATE_UNABLE;
}

void place_watch(struct context *c, struct ibv_context *ctx)
{
	int err = errno;

	c->place = (struct place_context){ 0 };
	if (verbs_get_ctx_op(ctx, alloc_td) && verbs_get_ctx_op(ctx, dealloc_td) &&
	    c->alloc_parent_domain && next.dealloc_pd && place_is_mlx5(ctx->device)) {
		count_default_registers(&c->place);
		c->place.able = true;
		c->dev->knobs.place_able = true;
	}
	if (c->dev->knobs.job && !c->dev->knobs.place)
		control_state(c->dev, SWIFTRDMA_SHARE_KNOB_PLACE, idle_state(c->dev));
	if (c->dev->knobs.job)
		control_state(c->dev, SWIFTRDMA_SHARE_KNOB_UAR, move_knob_state(c->dev));
	errno = err;
}

/* --- the knob ---------------------------------------------------------------------- */

void place_set(struct device *dev, bool holds, uint64_t value)
{
	bool known = value <= SWIFTRDMA_PLACE_BY_THREAD;
	uint32_t state = idle_state(dev);

	if (holds && state == SWIFTRDMA_KNOB_STATE_IDLE)
		state = known ? SWIFTRDMA_KNOB_STATE_IN_FORCE : SWIFTRDMA_KNOB_STATE_UNABLE;
	atomic_store_explicit(&dev->knobs.place, holds ? 1 + (known ? (uint32_t)value : 0) : 0,
			      memory_order_relaxed);
	__atomic_store_n(&dev->report->knob[SWIFTRDMA_SHARE_KNOB_PLACE].value, holds ? value : 0,
			 __ATOMIC_RELAXED);
	control_state(dev, SWIFTRDMA_SHARE_KNOB_PLACE, state);
}

void place_read_control(const struct context *c)
{
	if (*c->alive)
		control_update(c->dev, lib_clock());
}

static enum swiftrdma_place wanted_place(const struct device *dev)
{
	uint32_t place = atomic_load_explicit(&dev->knobs.place, memory_order_relaxed);

	return place ? (enum swiftrdma_place)(place - 1) : settings.place;
}

/* --- registers, with lib_lock() held ------------------------------------------------- */

static struct place_register *register_new(struct context *c, struct ibv_context *ctx,
					   uintptr_t thread)
{
	struct ibv_td_init_attr attr = { 0 };
	struct place_register *r;

	if (c->place.registers == PLACE_REGISTERS)
		return NULL;
	r = aligned_alloc(CACHE_LINE, sizeof(*r));
	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->td = ibv_alloc_td(ctx, &attr);
	if (!r->td) {
		free(r);
		return NULL;
	}
	r->thread = thread;
	r->next = c->place.first;
	c->place.first = r;
	c->place.registers++;
	return r;
}

static void register_put(struct context *c, struct place_register *r)
{
	struct place_register **at = &c->place.first;

	if (r->qps || r->domains)
		return;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	c->place.registers--;
	if (r->spare)
		ibv_dealloc_td(r->spare);
	ibv_dealloc_td(r->td);
	free(r);
}

static struct place_domain *domain_get(struct context *c, struct place_register *r,
				       struct ibv_pd *pd)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = r->td };
	struct place_domain *d;

	for (d = r->domains; d; d = d->next)
		if (d->asked == pd)
			return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->pd = c->alloc_parent_domain(pd->context, &attr);
	if (!d->pd) {
		free(d);
		return NULL;
	}
	d->reg = r;
	d->asked = pd;
	d->next = r->domains;
	r->domains = d;
	return d;
}

static void domain_put(struct place_domain *d)
{
	struct place_domain **at = &d->reg->domains;

	if (d->qps)
		return;
	while (*at != d)
		at = &(*at)->next;
	*at = d->next;
	next.dealloc_pd(d->pd);
	free(d);
}

static void begin_window(struct place_context *pl, uint64_t now)
{
	if (now - pl->window_ns < WINDOW_NS)
		return;
	pl->window_ns = now;
	for (struct place_register *r = pl->first; r; r = r->next) {
		uint64_t rings = atomic_load_explicit(&r->rings, memory_order_relaxed);

		r->recent = rings - r->mark;
		r->mark = rings;
	}
}

static uint64_t load_of(const struct place_register *r)
{
	return r->recent + atomic_load_explicit(&r->rings, memory_order_relaxed) - r->mark;
}

static bool is_lighter(const struct place_register *a, const struct place_register *b)
{
	uint64_t load_a = load_of(a), load_b = load_of(b);

	return load_a != load_b ? load_a < load_b : a->qps < b->qps;
}

/* NULL: the register that libmlx5 chooses. */
static struct place_register *lightest_register(struct context *c, struct ibv_context *ctx,
						uint64_t now)
{
	uint32_t by_default = default_load(&c->place), fewest = UINT32_MAX;
	struct place_register *best, *r;

	if (!by_default)
		return NULL;
	r = register_new(c, ctx, 0);
	if (r)
		return r;
	begin_window(&c->place, now);
	best = c->place.first;
	for (r = best; r; r = r->next) {
		if (is_lighter(r, best))
			best = r;
		if (r->qps < fewest)
			fewest = r->qps;
	}
	/* The load of each of libmlx5's registers is not known, so only numbers of QPs are compared. */
	return fewest <= by_default ? best : NULL;
}

static struct place_register *lightest_of_library(struct context *c)
{
	struct place_register *best = c->place.first;

	begin_window(&c->place, lib_clock());
	for (struct place_register *r = best; r; r = r->next)
		if (is_lighter(r, best))
			best = r;
	return best;
}

static struct place_register *register_of_thread(struct context *c, struct ibv_context *ctx)
{
	for (struct place_register *r = c->place.first; r; r = r->next)
		if (r->thread == self_thread())
			return r;
	return register_new(c, ctx, self_thread());
}

static struct place_domain *join_register(struct context *c, struct place_register *r, struct ibv_pd *pd)
{
	struct place_domain *d = domain_get(c, r, pd);

	if (d) {
		d->qps++;
		r->qps++;
	} else {
		register_put(c, r);
	}
	return d;
}

static struct place_domain *choose_domain(struct context *c, struct ibv_pd *pd)
{
	uint64_t now = lib_clock();
	struct place_register *r = NULL;

	switch (wanted_place(c->dev)) {
	case SWIFTRDMA_PLACE_DEFAULT:
		break;
	case SWIFTRDMA_PLACE_LIGHTEST:
		r = lightest_register(c, pd->context, now);
		break;
	case SWIFTRDMA_PLACE_BY_THREAD:
		r = register_of_thread(c, pd->context);
		break;
	}
	return r ? join_register(c, r, pd) : NULL;
}

bool place_has_registers(const struct context *c, const struct ibv_pd *pd)
{
	return c->place.able && *c->alive && !place_knows_pd(pd);
}

/*
 * A thread domain takes the next register of a page, and a page has two. The module counts QPs by
 * page, so the library takes the other register, too, and leaves it unused.
 */
static struct place_register *new_page(struct context *c, struct ibv_context *ctx)
{
	struct ibv_td_init_attr attr = { 0 };
	struct place_register *r = register_new(c, ctx, 0);

	if (r)
		r->spare = ibv_alloc_td(ctx, &attr);
	return r;
}

struct place_domain *place_take(struct context *c, struct ibv_pd *pd, uint32_t sharing)
{
	struct place_domain *d = NULL;
	struct place_register *r;

	if (!place_has_registers(c, pd) || !lib_lock())
		return NULL;
	r = new_page(c, pd->context);
	if (!r) {
		r = lightest_of_library(c);
		if (r && r->qps + 1 >= sharing)
			r = NULL;
	}
	if (r)
		d = join_register(c, r, pd);
	lib_unlock();
	return d;
}

void place_give(struct context *c, struct place_domain *d)
{
	struct place_register *r = d->reg;

	if (!lib_lock())
		return;
	d->qps--;
	r->qps--;
	domain_put(d);
	register_put(c, r);
	lib_unlock();
}

/* --- QPs ------------------------------------------------------------------------------- */

/* Parent domains of the program; by address, as the tables of QPs and CQs. */
static struct table *_Atomic own_domains;

struct ibv_pd *lib_alloc_parent_domain(struct ibv_context *ctx,
				       struct ibv_parent_domain_init_attr *attr)
{
	struct context *c = context_find(ctx);
	struct ibv_pd *pd = c->alloc_parent_domain(ctx, attr);

	if (pd)
		place_remember_pd(c, pd);
	return pd;
}

void place_remember_pd(struct context *c, struct ibv_pd *pd)
{
	int err = errno;

	if (lib_lock()) {
		/* If the library cannot remember a parent domain, it places no more QPs of this context. */
		if (!table_put(&own_domains, pd, c))
			c->place.able = false;
		lib_unlock();
	}
	errno = err;
}

bool place_knows_pd(const struct ibv_pd *pd)
{
	return table_find(&own_domains, pd);
}

struct context *place_forget_pd(struct ibv_pd *pd)
{
	struct context *was = table_find(&own_domains, pd);
	int err = errno;

	if (was && lib_lock()) {
		table_drop(&own_domains, pd, was);
		lib_unlock();
	}
	errno = err;
	return was;
}

/* QPs of other types have their own ways to a register, or are seldom many. */
static bool may_place(const struct context *c, const struct ibv_pd *pd,
		      const struct ibv_qp_init_attr *attr)
{
	return c->place.able && *c->alive && attr->cap.max_send_wr &&
	       wanted_place(c->dev) != SWIFTRDMA_PLACE_DEFAULT &&
	       (attr->qp_type == IBV_QPT_RC || attr->qp_type == IBV_QPT_UC ||
		attr->qp_type == IBV_QPT_UD) &&
	       !place_knows_pd(pd);
}

static struct placed *placed_new(struct context *c, struct ibv_pd *pd)
{
	struct placed *p = aligned_alloc(CACHE_LINE, sizeof(*p));

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->ctx = c;
	if (lib_lock()) {
		p->domain = choose_domain(c, pd);
		lib_unlock();
	}
	if (!p->domain) {
		free(p);
		return NULL;
	}
	p->reg = p->domain->reg;
	return p;
}

static void placed_free(struct placed *p)
{
	place_give(p->ctx, p->domain);
	free(p);
}

/* False: posts to the QP would escape the library's locks. */
static bool track_placed(struct placed *p, struct ibv_qp *qp, const struct ibv_qp_init_attr *attr,
			 uint32_t asked)
{
	uint32_t got = attr->cap.max_send_wr;

	return track_qp(p->ctx, qp, &(struct qp_want){
		.max_send_wr = asked > got ? asked : got, .sig_all = attr->sq_sig_all,
		.ring = true, .placed = p,
	});
}

static void drop_qp(struct placed *p, struct ibv_qp *qp)
{
	struct qp *q = qp_find(qp);

	placed_destroy(p, qp);
	/* If it cannot be destroyed, the domain stays with it. */
	if (next.destroy_qp(qp))
		return;
	if (q)
		qp_remove(q);
	placed_free(p);
}

struct ibv_qp *place_create(struct context *c, struct ibv_pd *pd, void *attr,
			    struct ibv_qp *(*create)(struct context *c, struct ibv_pd *pd,
						     void *attr))
{
	struct ibv_qp_init_attr *a = attr;
	const struct ibv_qp_cap asked = a->cap;
	int err = errno;
	struct placed *p;
	struct ibv_qp *qp;

	if (!may_place(c, pd, a))
		return NULL;
	p = placed_new(c, pd);
	errno = err;
	if (!p)
		return NULL;
	qp = create(c, p->domain->pd, attr);
	if (qp) {
		qp->pd = pd;
		if (track_placed(p, qp, a, asked.max_send_wr)) {
			atomic_fetch_add(&c->dev->placed, 1);
			return qp;
		}
		drop_qp(p, qp);
	} else {
		placed_free(p);
	}
	a->cap = asked;
	errno = err;
	return NULL;
}

void placed_destroy(struct placed *p, struct ibv_qp *qp)
{
	qp->pd = p->domain->pd;
}

void placed_destroyed(struct placed *p, struct ibv_qp *qp, int ret)
{
	int err = errno;

	if (ret)
		qp->pd = p->domain->asked;
	else
		placed_free(p);
	errno = err;
}
