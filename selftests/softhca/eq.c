// SPDX-License-Identifier: GPL-2.0
/*
 * Event queues, and the interrupts that announce them.
 */
#include "softhca.h"

/* mlx5_core's handlers stop there (MLX5_EQ_POLLING_BUDGET). */
#define SH_HANDLER_BUDGET	128

int sh_cmd_create_eq(struct sh_cmd *c)
{
	void *eqc = MLX5_ADDR_OF(create_eq_in, c->in, eq_context_entry);
	__be64 *mask = MLX5_ADDR_OF(create_eq_in, c->in, event_bitmask);
	struct sh_eq *eq;
	int status, i;

	if (MLX5_GET(eqc, eqc, log_eq_size) > 16 ||
	    MLX5_GET(eqc, eqc, intr) >= SH_MSIX_VECTORS)
		return MLX5_CMD_STAT_BAD_PARAM_ERR;
	eq = sh_new(c, SH_EQ, sizeof(*eq), &status);
	if (!eq)
		return status;
	eq->log_size = MLX5_GET(eqc, eqc, log_eq_size);
	eq->intr = MLX5_GET(eqc, eqc, intr);
	for (i = 0; i < 4; i++)
		eq->mask[i] = be64_to_cpu(mask[i]);
	memcpy(eq->eqc, eqc, sizeof(eq->eqc));
	status = sh_buf_load(c, &eq->buf, MLX5_ADDR_OF(create_eq_in, c->in, pas),
			     sizeof(struct mlx5_eqe) << eq->log_size,
			     MLX5_GET(eqc, eqc, log_page_size) + 12,
			     0);
	if (status) {
		sh_del(c->hca, SH_EQ, eq);
		return status;
	}
	list_add_tail(&eq->link, &c->hca->eqs);
	MLX5_SET(create_eq_out, c->out, eq_number, eq->obj.id);
	return MLX5_CMD_STAT_OK;
}

void sh_eq_free(struct sh_hca *h, struct sh_eq *eq)
{
	list_del(&eq->link);
	sh_buf_free(&eq->buf);
	sh_del(h, SH_EQ, eq);
}

int sh_cmd_destroy_eq(struct sh_cmd *c)
{
	struct sh_eq *eq = sh_find_own(c, SH_EQ, MLX5_GET(destroy_eq_in, c->in, eq_number));

	if (!eq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	sh_eq_free(c->hca, eq);
	return MLX5_CMD_STAT_OK;
}

int sh_cmd_query_eq(struct sh_cmd *c)
{
	struct sh_eq *eq = sh_find_own(c, SH_EQ, MLX5_GET(query_eq_in, c->in, eq_number));
	void *eqc = MLX5_ADDR_OF(query_eq_out, c->out, eq_context_entry);

	if (!eq)
		return MLX5_CMD_STAT_BAD_RES_ERR;
	memcpy(eqc, eq->eqc, sizeof(eq->eqc));
	MLX5_SET(eqc, eqc, consumer_counter, eq->ci);
	MLX5_SET(eqc, eqc, producer_counter, eq->pi & SH_MASK24);
	return MLX5_CMD_STAT_OK;
}

/* False if the queue is full, as far as the driver has told. */
bool sh_eq_put(struct sh_hca *h, struct sh_eq *eq, u8 type, u8 sub, const void *data)
{
	u32 n = 1U << eq->log_size;
	struct mlx5_eqe *eqe;

	if (((eq->pi - eq->ci) & SH_MASK24) >= n)
		return false;
	eqe = sh_buf_at(&eq->buf, (eq->pi & (n - 1)) * sizeof(*eqe));
	if (!eqe)
		return false;
	eqe->type = type;
	eqe->sub_type = sub;
	memcpy(&eqe->data, data, sizeof(eqe->data));
	smp_wmb(); /* the owner bit says that the rest is there */
	WRITE_ONCE(eqe->owner, eq->pi >> eq->log_size & 1);
	eq->pi++;
	eq->raise = true;
	h->eqes++;
	return true;
}

/* A driver's word on an EQ through its UAR. Most are lost: EQs that share a
 * vector and so a handler ring the same register one after the other.
 */
void sh_eq_bell(struct sh_hca *h, u32 val, bool arm)
{
	struct sh_eq *eq = sh_find(h, SH_EQ, val >> 24);
	u32 ci = val & SH_MASK24;

	if (!eq || ((ci - eq->ci) & SH_MASK24) > ((eq->pi - eq->ci) & SH_MASK24))
		return;
	eq->ci = ci;
	if (arm && ci != (eq->pi & SH_MASK24))
		eq->raise = true;
}

/* The handler runs within the call, and takes at most a budget of events. So we
 * know how far it got without its word.
 */
void sh_eq_flush(struct sh_hca *h)
{
	struct sh_eq *eq;

	list_for_each_entry(eq, &h->eqs, link) {
		if (!eq->raise)
			continue;
		sh_pci_irq(h, eq->intr);
		eq->ci += min_t(u32, (eq->pi - eq->ci) & SH_MASK24, SH_HANDLER_BUDGET);
		eq->ci &= SH_MASK24;
		eq->raise = ((eq->pi - eq->ci) & SH_MASK24) != 0;
	}
}
