/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The web configuration file that Prometheus' own exporters read (exporter-toolkit): TLS, and
 * users with passwords hashed by bcrypt. A setting that is not supported is an error, because a
 * file that is read in part protects less than it says.
 *
 *	tls_server_config:
 *	  cert_file: server.crt
 *	  key_file: server.key
 *	  client_auth_type: RequireAndVerifyClientCert
 *	  client_ca_file: ca.crt
 *	  min_version: TLS12
 *	basic_auth_users:
 *	  alice: $2y$10$...
 *
 * Names of files are relative to the directory of this file.
 */
#ifndef SRDMA_EXPORTER_WEB_CONFIG_H
#define SRDMA_EXPORTER_WEB_CONFIG_H

#include "policy/diag.h"

#define WEB_USERS	64
#define WEB_NAME	128
#define WEB_HASH	64	/* bcrypt's have 60 */

struct web_user {
	char name[WEB_NAME];
	char hash[WEB_HASH];
};

struct web_config {
	char *cert, *key, *client_ca;	/* PEM; NULL: none */
	const char *priorities;		/* of GnuTLS */
	bool need_client_cert;
	struct web_user users[WEB_USERS];
	size_t n_users;
};

/* False: @r has the errors, and nothing needs to be freed. */
bool web_config_load(struct web_config *c, const char *path, struct diag *r);
void web_config_free(struct web_config *c);

#endif /* SRDMA_EXPORTER_WEB_CONFIG_H */
