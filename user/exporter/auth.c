// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES	32
#define DIGEST_BYTES	32	/* SHA-256 */

/*
 * The hash that the password of an unknown user is compared with, so that such a user takes as
 * long as a known one. No password has this hash, because bcrypt's result is never all dots.
 */
#define NO_HASH	"$2y$10$abcdefghijklmnopqrstuu..............................."

struct check {
	char user[WEB_NAME], password[AUTH_PASSWORD];
	void *arg;
};

struct known {
	bool valid;
	unsigned char digest[DIGEST_BYTES];
};

struct auth {
	struct web_user users[WEB_USERS];
	size_t n_users;
	auth_done *done;
	unsigned char key[KEY_BYTES];
	struct crypt_data crypt;	/* the thread's */
	pthread_t thread;
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t wake;
	bool stop;
	struct check waiting[AUTH_WAITING];	/* a ring */
	size_t first, n;
	struct known known[WEB_USERS];	/* the last right password of each user */
};

/* The user's place; n_users: unknown. */
static size_t find_user(const struct auth *a, const char *name)
{
	size_t i;

	for (i = 0; i < a->n_users && strcmp(a->users[i].name, name) != 0; i++)
		;
	return i;
}

static bool digest_password(const struct auth *a, const char *password, unsigned char *digest)
{
	return gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, sizeof(a->key), password,
				strlen(password), digest) >= 0;
}

/* In a time that does not depend on the contents. */
static bool equal_bytes(const void *a, const void *b, size_t n)
{
	return !gnutls_memcmp(a, b, n);
}

static bool is_right(struct auth *a, const struct check *c)
{
	size_t i = find_user(a, c->user);
	const char *hash = i < a->n_users ? a->users[i].hash : NO_HASH;
	const char *is = crypt_r(c->password, hash, &a->crypt);

	return is && strlen(is) == strlen(hash) && equal_bytes(is, hash, strlen(hash)) &&
	       i < a->n_users;
}

static void remember_password(struct auth *a, const struct check *c)
{
	struct known *k = &a->known[find_user(a, c->user)];

	k->valid = digest_password(a, c->password, k->digest);
}

/* Called with the lock held; drops it during the check. */
static void check_first(struct auth *a)
{
	struct check c = a->waiting[a->first];
	enum auth_verdict verdict = AUTH_UNCHECKED;
	bool stop = a->stop;

	explicit_bzero(&a->waiting[a->first], sizeof(c));
	a->first = (a->first + 1) % AUTH_WAITING;
	a->n--;
	pthread_mutex_unlock(&a->lock);
	if (!stop)
		verdict = is_right(a, &c) ? AUTH_RIGHT : AUTH_WRONG;
	pthread_mutex_lock(&a->lock);
	if (verdict == AUTH_RIGHT)
		remember_password(a, &c);
	pthread_mutex_unlock(&a->lock);
	a->done(c.arg, verdict);
	explicit_bzero(&c, sizeof(c));
	pthread_mutex_lock(&a->lock);
}

static void *run_checks(void *arg)
{
	struct auth *a = arg;

	pthread_mutex_lock(&a->lock);
	while (!a->stop || a->n) {
		if (a->n)
			check_first(a);
		else
			pthread_cond_wait(&a->wake, &a->lock);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct auth *auth_start(const struct web_config *c, auth_done *done)
{
	struct auth *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return NULL;
	memcpy(a->users, c->users, sizeof(a->users));
	a->n_users = c->n_users;
	a->done = done;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, NULL);
	err = gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key)) < 0 ? EIO :
	      pthread_create(&a->thread, NULL, run_checks, a);
	if (err) {
		free(a);
		errno = err;
		return NULL;
	}
	return a;
}

void auth_stop(struct auth *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->wake);
	pthread_mutex_destroy(&a->lock);
	explicit_bzero(a, sizeof(*a));
	free(a);
}

static bool is_known(const struct auth *a, const char *user, const char *password)
{
	size_t i = find_user(a, user);
	unsigned char digest[DIGEST_BYTES];

	return i < a->n_users && a->known[i].valid && digest_password(a, password, digest) &&
	       equal_bytes(digest, a->known[i].digest, sizeof(digest));
}

bool auth_known(struct auth *a, const char *user, const char *password)
{
	bool known;

	pthread_mutex_lock(&a->lock);
	known = is_known(a, user, password);
	pthread_mutex_unlock(&a->lock);
	return known;
}

int auth_ask(struct auth *a, const char *user, const char *password, void *arg)
{
	struct check *c;
	int err = 0;

	if (strlen(user) >= WEB_NAME || strlen(password) >= AUTH_PASSWORD)
		return -EINVAL;
	pthread_mutex_lock(&a->lock);
	if (a->n == AUTH_WAITING) {
		err = -EBUSY;
	} else {
		c = &a->waiting[(a->first + a->n++) % AUTH_WAITING];
		strcpy(c->user, user);
		strcpy(c->password, password);
		c->arg = arg;
		pthread_cond_signal(&a->wake);
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}
