// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/web_config.h"

#include <ctype.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/schema.h"

#define BCRYPT_LENGTH	60
#define PEM_MAX		(256 * 1024)

static const char *const versions[] = { "TLS10", "TLS11", "TLS12", "TLS13", NULL };
enum { TLS12 = 2, TLS13 = 3 };

/* By the least and the greatest version. */
static const char *const priorities[2][2] = {
	{ "NORMAL:-VERS-ALL:+VERS-TLS1.2", "NORMAL:-VERS-ALL:+VERS-TLS1.2:+VERS-TLS1.3" },
	{ NULL, "NORMAL:-VERS-ALL:+VERS-TLS1.3" },
};

/* A file that a setting names. */
struct named_file {
	const struct node *n;
	const char *what;		/* the setting */
	char path[2 * PATH_MAX];
};

static void refuse_file(struct diag *r, const struct named_file *nf, const char *why)
{
	diag_node(r, nf->n, (size_t)-1, "%s: %s: %s", nf->what, nf->path, why);
}

/* Reads the whole file that @n names. NULL: the file cannot be used, and @r says why. */
static char *read_named_file(struct diag *r, const struct node *n, const char *what,
			     const char *config, struct named_file *nf)
{
	char dir[PATH_MAX];
	const char *name;
	size_t len;
	char *text;
	FILE *f;

	if (!get_text(r, n, what, &name))
		return NULL;
	nf->n = n;
	nf->what = what;
	snprintf(dir, sizeof(dir), "%s", config);
	if (name[0] == '/')
		snprintf(nf->path, sizeof(nf->path), "%s", name);
	else
		snprintf(nf->path, sizeof(nf->path), "%s/%s", dirname(dir), name);
	f = fopen(nf->path, "re");
	if (!f) {
		refuse_file(r, nf, strerror(errno));
		return NULL;
	}
	text = malloc(PEM_MAX + 1);
	len = text ? fread(text, 1, PEM_MAX + 1, f) : 0;
	if (!text || ferror(f) || !len || len > PEM_MAX) {
		refuse_file(r, nf, !text ? "out of memory" : ferror(f) ? "cannot be read" :
			    len ? "too long for a PEM file" : "empty; it is a PEM file");
		free(text);
		text = NULL;
	} else {
		text[len] = '\0';
	}
	fclose(f);
	return text;
}

static gnutls_datum_t datum_of(char *text)
{
	return (gnutls_datum_t){ (unsigned char *)text, (unsigned int)strlen(text) };
}

/* 0, or an error of GnuTLS if @text has no certificate, or one that is damaged. */
static int check_certificates(char *text)
{
	gnutls_datum_t pem = datum_of(text);
	gnutls_x509_crt_t *list;
	unsigned int n;
	int err = gnutls_x509_crt_list_import2(&list, &n, &pem, GNUTLS_X509_FMT_PEM, 0);

	if (err < 0)
		return err;
	for (unsigned int i = 0; i < n; i++)
		gnutls_x509_crt_deinit(list[i]);
	gnutls_free(list);
	return 0;
}

/*
 * Loads certificate and key as libmicrohttpd does later, because libmicrohttpd reports an error
 * only after the old daemon has been stopped.
 */
static void check_pair(struct diag *r, const struct web_config *c, const struct named_file *cert,
		       const struct named_file *key)
{
	gnutls_datum_t cert_pem = datum_of(c->cert), key_pem = datum_of(c->key);
	gnutls_certificate_credentials_t cred;
	int cert_err, err = gnutls_certificate_allocate_credentials(&cred);

	if (!err) {
		err = gnutls_certificate_set_x509_key_mem(cred, &cert_pem, &key_pem,
							  GNUTLS_X509_FMT_PEM);
		gnutls_certificate_free_credentials(cred);
	}
	if (err >= 0)
		return;
	cert_err = check_certificates(c->cert);
	if (cert_err)
		refuse_file(r, cert, gnutls_strerror(cert_err));
	else
		refuse_file(r, key, err == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ?
			    "it is not the key of the certificate in cert_file" :
			    gnutls_strerror(err));
}

static void check_client_ca(struct diag *r, const struct web_config *c,
			    const struct named_file *ca)
{
	gnutls_certificate_credentials_t cred;
	gnutls_datum_t pem = datum_of(c->client_ca);
	int err = gnutls_certificate_allocate_credentials(&cred);

	if (!err) {
		/* Returns the number of certificates. */
		err = gnutls_certificate_set_x509_trust_mem(cred, &pem, GNUTLS_X509_FMT_PEM);
		if (!err)
			err = GNUTLS_E_NO_CERTIFICATE_FOUND;
		gnutls_certificate_free_credentials(cred);
	}
	if (err < 0)
		refuse_file(r, ca, gnutls_strerror(err));
}

/* Finds a version in versions[]. -1: it is not there, and @r says so. */
static int read_version(struct diag *r, const struct node *n, const char *what, int is)
{
	const char *word;
	int i;

	if (!n)
		return is;
	if (!get_text(r, n, what, &word))
		return -1;
	for (i = 0; versions[i] && strcmp(versions[i], word); i++)
		;
	if (versions[i] && i >= TLS12)
		return i;
	diag_node(r, n, (size_t)-1, "%s: '%s' is not TLS12 or TLS13%s", what, word,
		  versions[i] ? "; older versions are not supported" : "");
	return -1;
}

static void read_versions(struct web_config *c, const struct node *tls, struct diag *r)
{
	const struct node *least = node_get(tls, "min_version");
	int min = read_version(r, least, "min_version", TLS12);
	int max = read_version(r, node_get(tls, "max_version"), "max_version", TLS13);

	if (min < 0 || max < 0)
		return;
	if (min > max)
		diag_node(r, least, (size_t)-1, "min_version is above max_version");
	else
		c->priorities = priorities[min - TLS12][max - TLS12];
}

static void read_client_auth(struct web_config *c, const struct node *tls, struct diag *r,
			     const char *config)
{
	static const char *const types[] = {
		"NoClientCert", "RequireAndVerifyClientCert", NULL
	};
	const struct node *type = node_get(tls, "client_auth_type");
	const struct node *ca = node_get(tls, "client_ca_file");
	const char *word = types[0];
	struct named_file nf;

	if (type && !get_text(r, type, "client_auth_type", &word))
		return;
	c->need_client_cert = !strcmp(word, types[1]);
	if (!c->need_client_cert && *word && strcmp(word, types[0]) != 0) {
		diag_node(r, type, (size_t)-1,
			  "client_auth_type: '%s' is not supported; NoClientCert and RequireAndVerifyClientCert are",
			  word);
		return;
	}
	if (ca)
		c->client_ca = read_named_file(r, ca, "client_ca_file", config, &nf);
	if (c->client_ca)
		check_client_ca(r, c, &nf);
	if (c->need_client_cert && !ca)
		diag_node(r, type, (size_t)-1,
			  "client_auth_type: RequireAndVerifyClientCert needs client_ca_file");
	if (!c->need_client_cert && ca)
		diag_node(r, ca, (size_t)-1,
			  "client_ca_file needs client_auth_type: RequireAndVerifyClientCert");
}

static void read_tls(struct web_config *c, const struct node *tls, struct diag *r,
		     const char *config)
{
	static const char *const keys[] = {
		"cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version",
		"max_version", NULL
	};
	struct named_file cert_file, key_file;
	const struct node *cert, *key;

	if (!check_map(r, tls, "tls_server_config", keys))
		return;
	cert = need(r, tls, "cert_file", "tls_server_config", "cert_file: server.crt");
	key = need(r, tls, "key_file", "tls_server_config", "key_file: server.key");
	if (cert)
		c->cert = read_named_file(r, cert, "cert_file", config, &cert_file);
	if (key)
		c->key = read_named_file(r, key, "key_file", config, &key_file);
	if (c->cert && c->key)
		check_pair(r, c, &cert_file, &key_file);
	read_client_auth(c, tls, r, config);
	read_versions(c, tls, r);
}

/* "$2y$10$" and 53 characters of salt and hash. */
static bool is_bcrypt(const char *s)
{
	static const char digits[] =
		"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	return strlen(s) == BCRYPT_LENGTH && s[0] == '$' && s[1] == '2' && strchr("aby", s[2]) &&
	       s[3] == '$' && isdigit((unsigned char)s[4]) && isdigit((unsigned char)s[5]) &&
	       s[6] == '$' && strspn(s + 7, digits) == BCRYPT_LENGTH - 7;
}

static void read_users(struct web_config *c, const struct node *users, struct diag *r)
{
	const struct node *n;
	const char *hash;

	if (users->kind != NODE_MAP) {
		diag_node(r, users, (size_t)-1,
			  "basic_auth_users is a map, as in {alice: '$2y$10$...'}");
		return;
	}
	for (n = users->first; n; n = n->next) {
		struct web_user *u = &c->users[c->n_users];

		if (c->n_users == WEB_USERS) {
			diag_node(r, n->key, (size_t)-1, "more than %d users", WEB_USERS);
			return;
		}
		if (!get_text(r, n, "the hash of a password", &hash))
			continue;
		if (!n->key->len || n->key->len >= sizeof(u->name)) {
			diag_node(r, n->key, (size_t)-1, "a user's name has 1 to %d bytes",
				  WEB_NAME - 1);
			continue;
		}
		if (!is_bcrypt(hash)) {
			diag_node(r, n, (size_t)-1,
				  "the password of '%s' is not hashed by bcrypt, as htpasswd -B does",
				  n->key->text);
			continue;
		}
		strcpy(u->name, n->key->text);
		strcpy(u->hash, hash);
		c->n_users++;
	}
}

static void read_root(struct web_config *c, const struct node *root, struct diag *r,
		      const char *config)
{
	static const char *const keys[] = { "tls_server_config", "basic_auth_users", NULL };
	const struct node *n;

	if (!check_map(r, root, "the web configuration", keys))
		return;
	n = node_get(root, "tls_server_config");
	if (n)
		read_tls(c, n, r, config);
	n = node_get(root, "basic_auth_users");
	if (n)
		read_users(c, n, r);
}

bool web_config_load(struct web_config *c, const char *path, struct diag *r)
{
	struct doc doc;
	size_t len;
	char *text;

	*c = (struct web_config){ 0 };
	text = config_read(path, &len, r);
	if (!text)
		return false;
	if (doc_parse(&doc, text, len, r)) {
		/* An empty file is neither TLS nor users, as for other exporters. */
		if (doc.root)
			read_root(c, doc.root, r, path);
		doc_free(&doc);
	}
	free(text);
	if (!r->total)
		return true;
	web_config_free(c);
	return false;
}

void web_config_free(struct web_config *c)
{
	if (c->key)
		explicit_bzero(c->key, strlen(c->key));
	free(c->cert);
	free(c->key);
	free(c->client_ca);
	*c = (struct web_config){ 0 };
}
