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

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/web.yml", dir);
	write_file("cert", "CERT");
	write_file("key", "KEY");
	write_file("ca", "CA");
	write_file("empty", "");
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "cert", "key", "ca", "empty", "web.yml" };
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, names[i]);
		unlink(name);
	}
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
	assert_string_equal(c.cert, "CERT");
	assert_string_equal(c.key, "KEY");
	assert_string_equal(c.client_ca, "CA");
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
