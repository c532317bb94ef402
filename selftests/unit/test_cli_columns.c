// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Every column that the command prints has a meaning, and every meaning a column. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/cli.h"
/* For its list of texts. */
#include "cli/column_text.c"

#define TEXTS (sizeof(texts) / sizeof(texts[0]))

static const struct noun *const nouns[] = {
	&noun_dev, &noun_port, &noun_uar, &noun_qp, &noun_job, &noun_action, &noun_level,
	&noun_monitor, &noun_module, &noun_policy, &noun_doctor,
};

static bool used[TEXTS];

static void note_use(const char *text)
{
	for (size_t i = 0; i < TEXTS; i++)
		used[i] |= texts[i].text == text;
}

static size_t check_table(const struct noun_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const char *text = column_text(t->name, t->columns[i].key);

		if (!text)
			print_error("%s: column %s has no meaning\n", t->name, t->columns[i].key);
		assert_non_null(text);
		note_use(text);
	}
	return t->n;
}

static void test_columns_have_meanings(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(nouns) / sizeof(nouns[0]); i++) {
		assert_non_null(nouns[i]->tables);
		for (size_t k = 0; nouns[i]->tables[k]; k++)
			n += check_table(nouns[i]->tables[k]);
	}
	assert_true(n > 300);
	assert_null(column_text("qp", "no_such_column"));
	for (size_t i = 0; i < TEXTS; i++) {
		if (!used[i])
			print_error("%s: no column %s\n", texts[i].table ? texts[i].table : "any",
				    texts[i].key);
		assert_true(used[i]);
	}
}

/* A table takes the texts of the table that it is in, and then those of any table. */
static void test_nearest_text(void **state)
{
	(void)state;
	assert_string_equal(column_text("job.devs.held", "time"), "time for which these waited");
	assert_string_equal(column_text("action.result", "lease"),
			    column_text("action", "lease"));
	assert_string_equal(column_text("port.prios", "tx_bytes"), column_text("port", "tx_bytes"));
	assert_ptr_equal(column_text("dev.users", "pid"), column_text("uar", "pid"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns_have_meanings),
		cmocka_unit_test(test_nearest_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
