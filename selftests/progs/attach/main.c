// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * attach: attachments to the module, without the library. Tests print points.
 *
 *	attach seals|bad|figures|hostile|family DEV
 *	attach fuzz DEV SEED ROUNDS
 *	attach shell		does what its input says: life.c
 *	attach crowd DEV N QPS SLOTS	N processes with so many QPs each, until its input ends
 *	attach show [cached]	what REPORT_GET says
 *	attach measure MS REPORT...	what do processes send together, WR/s?
 *	attach calm MS		does the machine give no time now and then?
 *	attach watch KNOB TOTAL MS CONTROL...	do shares stay below the total?
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *dev);
	} tests[] = {
		{ "seals", test_seals }, { "bad", test_bad }, { "figures", test_figures },
		{ "hostile", test_hostile }, { "family", test_family },
	};

	setlinebuf(stdout);
	if (argc == 2 && !strcmp(argv[1], "shell"))
		return obey_shell();
	if (argc == 6 && !strcmp(argv[1], "crowd"))
		return crowd(argv[2], (unsigned int)strtoul(argv[3], NULL, 10),
			     (unsigned int)strtoul(argv[4], NULL, 10),
			     (uint32_t)strtoul(argv[5], NULL, 10));
	if (argc >= 2 && !strcmp(argv[1], "show"))
		return !!show_reports(argc > 2);
	if (argc == 5 && !strcmp(argv[1], "fuzz"))
		return fuzz(argv[2], (uint32_t)strtoul(argv[3], NULL, 10),
			    (unsigned int)strtoul(argv[4], NULL, 10));
	if (argc >= 4 && !strcmp(argv[1], "measure"))
		return knobs_measure((unsigned int)strtoul(argv[2], NULL, 10), argv + 3, argc - 3);
	if (argc == 3 && !strcmp(argv[1], "calm"))
		return knobs_calm((unsigned int)strtoul(argv[2], NULL, 10));
	if (argc >= 6 && !strcmp(argv[1], "watch"))
		return knobs_watch(argv[2], strtoull(argv[3], NULL, 10),
				   (unsigned int)strtoul(argv[4], NULL, 10), argv + 5, argc - 5);
	for (size_t i = 0; argc == 3 && i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(argv[1], tests[i].name))
			return tests[i].run(argv[2]);
	fputs("usage: attach TEST DEV | fuzz DEV SEED ROUNDS | shell | show [cached] |\n"
	      "       crowd DEV N QPS SLOTS |\n"
	      "       measure MS REPORT... | calm MS | watch KNOB TOTAL MS CONTROL...\n", stderr);
	return 2;
}
