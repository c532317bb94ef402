// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <rdma/swiftrdma.h>

#include "cli/cli.h"

#define LEVELS	(SWIFTRDMA_LEVEL_MAX + 1)

GETTER(tclass)
{
	const struct io_level *l = row;

	if (l->has_dscp)
		cell_u64(c, l->dscp << 2);
}

#define LEVEL_IF(member, by)	MEMBER_IF(struct io_level, member, by)

static const struct column columns[] = {
	{ "level", "LEVEL", 0, 0, MEMBER(struct io_level, level) },
	{ "dscp", "DSCP", 0, 0, LEVEL_IF(dscp, has_dscp) },
	{ "tclass", "TCLASS", 0, 0, .get = get_tclass },
	{ "sl", "SL", 0, 0, LEVEL_IF(sl, has_sl) },
};

static int show_levels(struct cli *cli, struct args *args)
{
	struct io_level levels[LEVELS];
	struct rows rows;
	int n, err = args_end(args);

	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	n = io_levels(cli->io, levels, LEVELS);
	if (n < 0)
		return cli_io_error(cli);
	rows = ROWS(columns, levels, (size_t)n);
	return cli_show(cli, &rows);
}

/* The current setting of a level, kept for what the command does not name. */
static struct io_level *find_level(struct io_level *levels, int n, uint32_t level)
{
	for (int i = 0; i < n; i++)
		if (levels[i].level == level)
			return &levels[i];
	return NULL;
}

/* LEVEL [ dscp N ] [ sl N ], repeated. */
static int parse_levels(struct args *args, struct io_level *changes, size_t *n)
{
	static const char *const keywords[] = { "dscp", "sl", "level", NULL };
	struct io_level *ch = NULL;
	uint64_t level;
	int err = CLI_OK;

	while (args_left(args) && !err) {
		const char *word = args_next(args);
		int k = args_match(keywords, word);

		if (k == 2)
			continue;
		if (k >= 0 && !ch)
			return args_bad("'%s' has no level before it: write, for instance, level set 3 dscp 26",
					word);
		if (k == 0) {
			ch->has_dscp = true;
			err = args_u32(args, "dscp", 63, &ch->dscp);
		} else if (k == 1) {
			ch->has_sl = true;
			err = args_u32(args, "sl", 15, &ch->sl);
		} else if (!args_number(word, SWIFTRDMA_LEVEL_MAX, &level)) {
			err = args_bad("'%s': expected dscp, sl, or a level from 0 to %d",
				       word, SWIFTRDMA_LEVEL_MAX);
		} else if (*n == LEVELS) {
			err = args_bad("there are only %d levels", LEVELS);
		} else {
			ch = &changes[(*n)++];
			*ch = (struct io_level){ .level = level };
		}
	}
	for (size_t i = 0; i < *n && !err; i++)
		if (!changes[i].has_dscp && !changes[i].has_sl)
			err = args_bad("level %u: give dscp, sl or both", changes[i].level);
	if (!err && !*n)
		err = args_bad("level set: a level is missing, as in level set 3 dscp 26");
	return err;
}

static int set_levels(struct cli *cli, struct args *args)
{
	struct io_level now[LEVELS], levels[LEVELS];
	size_t n = 0;
	int had, err = parse_levels(args, levels, &n);

	if (!err)
		err = cli_open(cli);
	if (err)
		return err;
	had = io_levels(cli->io, now, LEVELS);
	if (had < 0)
		return cli_io_error(cli);
	for (size_t i = 0; i < n; i++) {
		struct io_level *l = &levels[i];
		const struct io_level *was = find_level(now, had, l->level);

		if (was && was->has_dscp && !l->has_dscp) {
			l->has_dscp = true;
			l->dscp = was->dscp;
		}
		if (was && was->has_sl && !l->has_sl) {
			l->has_sl = true;
			l->sl = was->sl;
		}
	}
	return io_levels_set(cli->io, levels, n) < 0 ? cli_io_error(cli)
						     : CLI_OK;
}

static const struct verb verbs[] = {
	{ "show", show_levels }, { "list", show_levels }, { "set", set_levels }, { 0 },
};

static const struct noun_table level_table = NOUN_TABLE("level", columns);
static const struct noun_table *const tables[] = { &level_table, NULL };

const struct noun noun_level = {
	.name = "level",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma level [ show ]\n"
	"       swiftrdma level set LEVEL [ dscp N ] [ sl N ] [ LEVEL ... ]\n"
	"\n"
	"Shows or sets the meaning of a class level on the wire: a DSCP (0 to 63; the\n"
	"traffic class is four times that), a service level (0 to 15) or both. If only one\n"
	"of them is set, the other stays as the application asked for. QPs cannot be\n"
	"raised to a level that was never set.\n",
	.tables = tables,
};
