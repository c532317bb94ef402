/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_STANDING_H
#define SRDMA_STANDING_H

/* State of a QP with respect to an override. */
enum srdma_standing {
	SRDMA_DONE,		/* the QP has what the override wants, or there is none */
	SRDMA_PENDING,		/* the change is being made, or will be retried */
	SRDMA_UNCONNECTED,	/* the QP gets it when it is connected */
	SRDMA_UNKNOWN,		/* the QP's present value is not known */
	SRDMA_CANNOT,		/* the change is impossible or was refused */
	SRDMA_STANDINGS
};

/* Room for the reason of a standing, in words. */
#define SRDMA_WHY_LEN	128

#endif /* SRDMA_STANDING_H */
