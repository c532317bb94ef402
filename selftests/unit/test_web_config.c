// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The web configuration file: what is read, and what is wrong, with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <gnutls/x509.h>

#include "exporter/web_config.h"

#define HASH "$2y$04$abcdefghijklmnopqrstuuBcdefghijklmnopqrstuvwxyz012345"

static char dir[] = "/tmp/test_web.XXXXXX";
static char path[64];

static void write_file(const char *name, const char *text)
{
	char to[64];
	FILE *f;

	snprintf(to, sizeof(to), "%s/%s", dir, name);
	f = fopen(to, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A certificate that is signed by its own key, and the key, both PEM. */
struct pair {
	char *cert, *key;
};

static struct pair mine, other;

static void make_pair(struct pair *p)
{
	unsigned int bits = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
	gnutls_x509_privkey_t key;
	gnutls_x509_crt_t crt;
	gnutls_datum_t pem;

	assert_int_equal(gnutls_x509_privkey_init(&key), 0);
	assert_int_equal(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, bits, 0), 0);
	assert_int_equal(gnutls_x509_crt_init(&crt), 0);
	assert_int_equal(gnutls_x509_crt_set_version(crt, 3), 0);
	assert_int_equal(gnutls_x509_crt_set_serial(crt, "\1", 1), 0);
	assert_int_equal(gnutls_x509_crt_set_activation_time(crt, 1), 0);
	assert_int_equal(gnutls_x509_crt_set_expiration_time(crt, 1000000000), 0);
	assert_int_equal(gnutls_x509_crt_set_dn(crt, "CN=localhost", NULL), 0);
	assert_int_equal(gnutls_x509_crt_set_key(crt, key), 0);
	assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
	assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), 0);
	p->cert = strndup((char *)pem.data, pem.size);
	gnutls_free(pem.data);
	assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), 0);
	p->key = strndup((char *)pem.data, pem.size);
	gnutls_free(pem.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(key);
}

static void free_pair(struct pair *p)
{
	free(p->cert);
	free(p->key);
}

/* Writes a file with key and certificate, which both cert_file and key_file may name. */
static void write_both(void)
{
	size_t len = strlen(mine.key) + strlen(mine.cert) + 1;
	char *text = malloc(len);

	assert_non_null(text);
	snprintf(text, len, "%s%s", mine.key, mine.cert);
	write_file("both", text);
	free(text);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/web.yml", dir);
	make_pair(&mine);
	make_pair(&other);
	write_file("cert", mine.cert);
	write_file("key", mine.key);
	write_file("foreign", other.key);
	write_file("ca", other.cert);
	write_both();
	write_file("garbage", "garbage\n");
	write_file("empty", "");
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = {
		"cert", "key", "both", "foreign", "ca", "garbage", "empty", "web.yml"
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
	free_pair(&mine);
	free_pair(&other);
	return rmdir(dir);
}

static bool load(struct web_config *c, const char *text, struct diag *r)
{
	write_file("web.yml", text);
	diag_init(r, "web.yml");
	return web_config_load(c, path, r);
}

static void whole(void **state)
{
	struct web_config c;
	struct diag r;

	(void)state;
	assert_true(load(&c,
			 "tls_server_config:\n"
			 "  cert_file: cert\n"
			 "  key_file: key\n"
			 "  client_auth_type: RequireAndVerifyClientCert\n"
			 "  client_ca_file: ca\n"
			 "  min_version: TLS13\n"
			 "basic_auth_users:\n"
			 "  alice: " HASH "\n"
			 "  'b o b': '" HASH "'\n", &r));
	assert_string_equal(c.cert, mine.cert);
	assert_string_equal(c.key, mine.key);
	assert_string_equal(c.client_ca, other.cert);
	assert_true(c.need_client_cert);
	assert_string_equal(c.priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.3");
	assert_int_equal(c.n_users, 2);
	assert_string_equal(c.users[1].name, "b o b");
	assert_string_equal(c.users[0].hash, HASH);
	web_config_free(&c);
}

static void parts(void **state)
{
	struct web_config c;
	struct diag r;

	(void)state;
	assert_true(load(&c, "", &r));
	assert_null(c.cert);
	assert_int_equal(c.n_users, 0);
	assert_true(load(&c, "tls_server_config: {cert_file: cert, key_file: key, max_version: TLS12}\n", &r));
	assert_string_equal(c.priorities, "NORMAL:-VERS-ALL:+VERS-TLS1.2");
	assert_false(c.need_client_cert);
	web_config_free(&c);
	assert_true(load(&c, "tls_server_config: {cert_file: both, key_file: both}\n", &r));
	web_config_free(&c);
}

/* What is wrong is an error with its line: a file that is read in part would protect less. */
static void wrong(void **state)
{
	static const struct {
		const char *text, *what;
		unsigned int line;
	} cases[] = {
		{ "tls_server_config:\n  cert_file: cert\n", "key_file", 2 },
		{ "tls_server_config:\n  cert_file: nowhere\n  key_file: key\n",
		  "No such file or directory", 2 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: empty\n", "empty", 3 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: foreign\n",
		  "/foreign: it is not the key of the certificate in cert_file", 3 },
		{ "tls_server_config:\n  cert_file: garbage\n  key_file: key\n",
		  "cert_file: /tmp/", 2 },
		{ "tls_server_config:\n  cert_file: garbage\n  key_file: garbage\n",
		  "/garbage: ", 2 },
		{ "tls_server_config:\n  cert_file: key\n  key_file: key\n", "/key: ", 2 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: garbage\n",
		  "/garbage: ", 3 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: cert\n", "/cert: ", 3 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n"
		  "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: garbage\n",
		  "client_ca_file: /tmp/", 5 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n"
		  "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: key\n",
		  "/key: ", 5 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n  min_version: TLS10\n",
		  "'TLS10' is not TLS12 or TLS13; older versions are not supported", 4 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n  min_version: TLS13\n  max_version: TLS12\n",
		  "min_version is above max_version", 4 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n  cipher_suites: [A]\n",
		  "cipher_suites", 4 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n  client_auth_type: RequestClientCert\n",
		  "'RequestClientCert' is not supported", 4 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n  client_auth_type: RequireAndVerifyClientCert\n",
		  "needs client_ca_file", 4 },
		{ "tls_server_config:\n  cert_file: cert\n  key_file: key\n  client_ca_file: ca\n",
		  "client_ca_file needs client_auth_type", 4 },
		{ "http_server_config: {http2: false}\n", "http_server_config", 1 },
		{ "basic_auth_users:\n  alice: secret\n", "not hashed by bcrypt", 2 },
		{ "basic_auth_users:\n  alice: $2y$04$short\n", "not hashed by bcrypt", 2 },
		{ "basic_auth_users: [alice]\n", "is a map", 1 },
	};
	struct web_config c;
	struct diag r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_false(load(&c, cases[i].text, &r));
		if (!strstr(r.v[0].msg, cases[i].what))
			print_error("got: %s\nwanted: %s\n", r.v[0].msg, cases[i].what);
		assert_non_null(strstr(r.v[0].msg, cases[i].what));
		assert_int_equal(r.v[0].line, cases[i].line);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(parts),
		cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
