/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SRDMA_PATH_H
#define SRDMA_PATH_H

#include "provider.h"
#include "standing.h"

/* Is this part of the QP's path not what it should be? RCU section or reference. */
bool srdma_path_pending(const struct srdma_qp *q, enum srdma_path_part part);
/* The standing of that part. RCU section or reference. */
enum srdma_standing srdma_path_standing(const struct srdma_qp *q, enum srdma_path_part part);

#endif /* SRDMA_PATH_H */
