// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The doctor as a command: what it reads, how it prints, how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <json-c/json.h>
#include <sys/stat.h>

#include "cli/cmd_doctor.c"
#include "unit/cli_words.h"
#include "unit/fake_io.c"

static struct host host;
static struct running running;
static char *text;
static bool json, details, color;
static uint64_t memlock;

int io_host(struct host *h)
{
	*h = host;
	return 0;
}

void host_free(struct host *h)
{
	(void)h;
}

int io_unit_memlock(const char *unit, uint64_t *bytes)
{
	*bytes = memlock;
	return !strcmp(unit, "kv.service") ? 0 : -ENOENT;
}

const struct running *cli_running(struct cli *cli)
{
	(void)cli;
	return &running;
}

static int run_doctor(const char *line)
{
	struct cli cli = {
		.out = { .json = json, .details = details, .color = color },
		.version = "1.0",
	};
	struct args args = cli_words(line);
	size_t size;
	int ret;

	free(text);
	text = NULL;
	cli.out.f = open_memstream(&text, &size);
	ret = run_checks(&cli, &args);
	cli_end(&cli);
	return ret;
}

static int setup(void **state)
{
	(void)state;
	fake_reset();
	json = details = color = false;
	memset(&host, 0, sizeof(host));
	memset(&running, 0, sizeof(running));
	host.root = true;
	host.self.may_lock = true;
	host.procs_all = true;
	host.unit.error = -ENOENT;
	strcpy(host.kernel.release, "6.1.0");
	host.module.loaded = true;
	strcpy(host.module.version, "1.0");
	strcpy(host.module.hooks, "armed");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	fake_reset();
	return 0;
}

static void asks_the_module(void **state)
{
	(void)state;
	assert_int_equal(run_doctor("module"), 0);
	assert_non_null(strstr(text, "loaded and armed"));
	/* debugfs is not mounted */
	host.module.hooks[0] = '\0';
	assert_int_equal(run_doctor("module"), 0);
	fake_disarm();
	assert_int_equal(run_doctor("module"), 2);
	assert_non_null(strstr(text, "the module is disarmed"));
	fake.snapshot_error = -EIO;
	json = true;
	assert_int_equal(run_doctor("module"), 2);
	assert_non_null(strstr(text, "does not answer: the fake says no"));
}

/* How it ends is by the worst. */
static void ends(void **state)
{
	(void)state;
	assert_int_equal(run_doctor("module kernel"), 0);
	strcpy(host.kernel.release, "9.1");
	assert_int_equal(run_doctor("module kernel"), 1);
	assert_int_equal(run_doctor("module"), 0);
	host.module.loaded = false;
	fake.loaded = false;
	assert_int_equal(run_doctor("module kernel"), 2);
	assert_int_equal(run_doctor("kernel"), 1);
	assert_int_equal(run_doctor("kern mod"), 2);
	/* A thing that cannot be seen is none that is wrong. */
	strcpy(host.kernel.release, "strange");
	assert_int_equal(run_doctor("kernel"), 0);
	assert_non_null(strstr(text, "1 unknown"));
	assert_int_equal(run_doctor("health"), 3);
	assert_int_equal(run_doctor("file"), 3);
	assert_int_equal(run_doctor("--json"), 3);
}

static void prints(void **state)
{
	(void)state;
	host.module.loaded = false;
	host.module.installed = true;
	fake.loaded = false;
	assert_int_equal(run_doctor("module kernel"), 2);
	assert_string_equal(text,
		"module   error    swiftrdma.ko: the module is not loaded: nothing is counted and\n"
		"                  nothing is enforced\n"
		"                  # modprobe swiftrdma\n"
		"kernel   ok       6.1.0: this kernel is supported (6.1 to 7.3)\n"
		"\n"
		"1 error, 0 warnings, 1 fine, 0 unknown\n");
	color = true;
	run_doctor("module");
	assert_non_null(strstr(text, "\033[31merror    \033[0mswiftrdma.ko"));
}

/* Control characters in the names of cgroups are replaced. */
static void prints_shaped_names(void **state)
{
	struct host_rdma_max m = {
		.cgroup = "/x\x1b[2J", .dir = "/sys/fs/cgroup/x\x1b[2J", .dev = "mlx5_0",
		.what = "hca_object", .max = 9, .current = 9,
	};
	struct host_proc p = {
		.cgroup = "/y\x1b(B.service", .comm = "kv", .memlock = 4096, .pinned = 4096,
	};

	(void)state;
	host.maxima = &m;
	host.procs = &p;
	host.n_maxima = host.n_procs = 1;
	assert_int_equal(run_doctor("limits"), 2);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "/x?[2J mlx5_0: 9 of 9 objects"));
	assert_non_null(strstr(text, "y?(B.service"));
	assert_null(strstr(text, "# echo"));
}

static void prints_details(void **state)
{
	(void)state;
	assert_int_equal(run_doctor("kernel"), 0);
	assert_null(strstr(text, "events are delivered"));
	assert_non_null(strstr(text, "2 fine"));
	details = true;
	assert_int_equal(run_doctor("kernel"), 0);
	assert_non_null(strstr(text, "events are delivered"));
}

static const char *field(struct json_object *o, const char *key)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ?
		json_object_get_string(v) : NULL;
}

static void prints_json(void **state)
{
	struct json_object *all, *o;

	(void)state;
	json = true;
	host.module.loaded = false;
	fake.loaded = false;
	assert_int_equal(run_doctor("module kernel"), 2);
	all = json_tokener_parse(text);
	assert_int_equal(json_object_array_length(all), 2);
	o = json_object_array_get_idx(all, 0);
	assert_string_equal(field(o, "check"), "module");
	assert_string_equal(field(o, "verdict"), "error");
	assert_string_equal(field(o, "rule"), "loaded");
	assert_string_equal(field(o, "object"), "swiftrdma.ko");
	assert_string_equal(field(o, "mend"), "make install && modprobe swiftrdma");
	assert_non_null(field(o, "says"));
	o = json_object_array_get_idx(all, 1);
	assert_string_equal(field(o, "verdict"), "ok");
	assert_null(field(o, "mend"));
	json_object_put(all);
}

/* --- the file of policies --------------------------------------------------------- */

static char path[] = "/tmp/test_cli_doctor.XXXXXX";

static void write_policy(const char *s)
{
	int fd;

	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, s, strlen(s)), (ssize_t)strlen(s));
	close(fd);
}

static const char sound[] =
	"levels:\n"
	"  - {level: 1, dscp: 10}\n"
	"jobs:\n"
	"  - name: kv\n"
	"    class: latency\n"
	"    match:\n"
	"      - cgroup: /system.slice/kv.service\n"
	"      - cgroup: /system.slice/other.service\n"
	"policies:\n"
	"  - name: up\n"
	"    for: job of class latency\n"
	"    when: job.qps > 0\n"
	"    do: job.level += 1\n"
	"    undo: {when: job.qps == 0}\n"
	"  - name: cache\n"
	"    for: job of class latency\n"
	"    when: dev.mtt_miss > 10%\n"
	"    do: job.level += 1\n"
	"    undo: {when: dev.mtt_miss < 5%}\n";

static void reads_the_file(void **state)
{
	char line[128];

	(void)state;
	write_policy(sound);
	snprintf(line, sizeof(line), "agent policy limits file %s", path);
	memlock = 1024;
	assert_int_equal(run_doctor(line), 1);
	assert_non_null(strstr(text, "no mistake; jobs: 1, policies: 2"));
	assert_non_null(strstr(text, "# swiftrdma-agent --config /tmp/test_cli"));
	/* Its one device counts no misses. */
	assert_non_null(strstr(text, "cache: it can run on no device of this host: "));
	assert_non_null(strstr(text, "1 of 2 policies can run here"));
	assert_non_null(strstr(text, "kv.service: job kv: the service may register no more"));
	assert_null(strstr(text, "other.service"));
	unlink(path);
	write_policy("jobs: 5\n");
	snprintf(line, sizeof(line), "agent policy file %s", path);
	assert_int_equal(run_doctor(line), 2);
	assert_non_null(strstr(text, "# swiftrdma policy check /tmp/test_cli"));
	unlink(path);
	assert_int_equal(run_doctor(line), 0);
	assert_non_null(strstr(text, "there is no policy file"));
}

/* The agent's own, unless another is named; where none runs, what one would have. */
static void finds_the_file(void **state)
{
	(void)state;
	write_policy(sound);
	json = true;
	running.pid = 6;
	snprintf(running.file, sizeof(running.file), "%s", path);
	run_doctor("agent");
	assert_non_null(strstr(text, path));
	run_doctor("agent file /tmp/none.yaml");
	assert_non_null(strstr(text, "/tmp/none.yaml"));
	strcpy(running.file, "-");
	run_doctor("agent");
	assert_non_null(strstr(text, CONFIG_DEFAULT));
	running.pid = 0;
	snprintf(running.file, sizeof(running.file), "%s", path);
	run_doctor("agent");
	assert_non_null(strstr(text, CONFIG_DEFAULT));
	unlink(path);
}

#define DOCTOR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOCTOR_TEST(asks_the_module),
		DOCTOR_TEST(ends),
		DOCTOR_TEST(prints),
		DOCTOR_TEST(prints_shaped_names),
		DOCTOR_TEST(prints_details),
		DOCTOR_TEST(prints_json),
		DOCTOR_TEST(reads_the_file),
		DOCTOR_TEST(finds_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
