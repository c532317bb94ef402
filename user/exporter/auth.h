/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Checks passwords. bcrypt is slow on purpose, a tenth of a second and more, so a separate thread
 * checks one password after the other. The last right password of each user is remembered as a
 * keyed hash. So requests with wrong passwords do not delay users whose passwords are remembered.
 */
#ifndef SRDMA_EXPORTER_AUTH_H
#define SRDMA_EXPORTER_AUTH_H

#include "exporter/web_config.h"

#define AUTH_PASSWORD	128
#define AUTH_WAITING	32	/* checks that wait at most */

struct auth;

enum auth_verdict {
	AUTH_WRONG,
	AUTH_RIGHT,
	AUTH_UNCHECKED,
};

/* Called in the thread that checks. */
typedef void auth_done(void *arg, enum auth_verdict verdict);

/* Copies the users of @c. NULL, with errno. */
struct auth *auth_start(const struct web_config *c, auth_done *done);
/* Waits for the check under way; the passwords that wait remain unchecked. */
void auth_stop(struct auth *a);
/* True: the password is the last one of the user that was found right. */
bool auth_known(struct auth *a, const char *user, const char *password);
/*
 * Has the password checked; auth_done is then called with @arg. -EBUSY: too many wait;
 * -EINVAL: no user has so long a name or password.
 */
int auth_ask(struct auth *a, const char *user, const char *password, void *arg);

#endif /* SRDMA_EXPORTER_AUTH_H */
