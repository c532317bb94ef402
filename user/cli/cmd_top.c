// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/top.h"

#define INTERVAL_MS	1000

static const struct io_want want = {
	.devs = true, .ports = true, .uars = true, .qps = true, .jobs = true,
	.reports = true, .outstanding = true,
};

struct run {
	struct cli *cli;
	struct top *top;
	struct top_frame frame;
	bool batch, has_view, begun;
	uint32_t count;		/* readings; 0: no limit */
	unsigned int step;
	uint64_t next, began;	/* ms */
	sigset_t mask;
	int sigfd, signal;
};

static void set_clock(struct top *t)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(t->clock, sizeof(t->clock), "%H:%M:%S", &tm);
}

static int take_reading(struct run *r)
{
	if (cli_crowd(r->cli) || top_take(r->top, r->cli))
		return -ENOMEM;
	set_clock(r->top);
	r->top->trouble[0] = '\0';
	return 0;
}

/* Sets the time of the next step. */
static void schedule_step(struct run *r)
{
	uint32_t ms = r->top->interval_ms;

	r->next = r->began + (uint64_t)ms * (r->step + 1) / cli_steps(r->cli, ms);
}

/* Shows the error on the screen and goes on: the module may be loaded again. */
static int show_trouble(struct run *r)
{
	snprintf(r->top->trouble, sizeof(r->top->trouble), "%s", io_error(r->cli->io));
	r->begun = false;
	r->next = cli_now_ms() + r->top->interval_ms;
	return 0;
}

static int begin_interval(struct run *r)
{
	int err = cli_begin(r->cli, &want);

	r->step = 0;
	r->began = cli_now_ms();
	if (err == -ENOMEM)
		return err;
	if (err < 0)
		return show_trouble(r);
	r->begun = true;
	schedule_step(r);
	return 0;
}

/* Returns 1 if the screen has to be drawn. */
static int run_step(struct run *r)
{
	bool last = r->top->read_now || r->step + 1 >= cli_steps(r->cli, r->top->interval_ms);
	int err;

	r->top->read_now = false;
	if (!r->begun)
		return begin_interval(r);
	err = cli_step(r->cli, &want, last);
	if (err == -ENOMEM)
		return err;
	if (err < 0)
		return show_trouble(r);
	r->step++;
	if (last) {
		err = take_reading(r);
		cli_turn(r->cli);
		r->step = 0;
		/* Keep a steady rhythm; missed readings are not repeated. */
		r->began = r->next;
		if (r->began + r->top->interval_ms <= cli_now_ms() || r->began > cli_now_ms())
			r->began = cli_now_ms();
	}
	schedule_step(r);
	return err ? err : last;
}

static int print_reading_json(struct run *r)
{
	static const char *const keys[TOP_VIEWS] = {
		"uars", "qps", "jobs", "ports",
	};
	struct out *o = &r->cli->out;

	o->j = (struct json){ .f = o->f, .pretty = o->pretty, .first = true };
	json_begin(&o->j, '{');
	json_key(&o->j, "time");
	json_u64(&o->j, r->cli->snap.time);
	json_key(&o->j, "interval_ms");
	json_u64(&o->j, r->top->interval_ms);
	for (int i = 0; i < TOP_VIEWS; i++) {
		const struct top_table *table = &r->top->table[i];
		struct rows rows = top_rows(r->cli, i);

		/* The table was built from these rows. */
		rows.order = table->shown;
		rows.n = table->n_shown;
		if (!r->has_view || r->top->view == (enum top_view)i)
			out_list(r->cli, o, keys[i], &rows);
	}
	json_end(&o->j, '}');
	putc('\n', o->f);
	return fflush(o->f) || ferror(o->f) ? -EIO : 0;
}

static unsigned int batch_width(void)
{
	const char *columns = getenv("COLUMNS");
	uint64_t n;

	return columns && args_number(columns, 4096, &n) ? (unsigned int)n : 0;
}

static int batch_one(struct run *r)
{
	int err = cli_begin(r->cli, &want);
	unsigned int i, n = cli_steps(r->cli, r->top->interval_ms);

	for (i = 0; i < n && err >= 0; i++) {
		uint32_t ms = r->top->interval_ms;
		struct timespec t = { 0 };

		ms = ms * (i + 1) / n - ms * i / n;
		t.tv_sec = ms / 1000;
		t.tv_nsec = ms % 1000 * 1000000l;
		while (nanosleep(&t, &t) && errno == EINTR)
			;
		err = cli_step(r->cli, &want, i + 1 == n);
	}
	if (err < 0)
		return err == -ENOMEM ? cli_no_memory() : cli_io_error(r->cli);
	if (take_reading(r))
		return cli_no_memory();
	err = r->cli->out.json ? print_reading_json(r) :
	      top_print(r->top, stdout, batch_width());
	return err ? CLI_ERROR : CLI_OK;
}

static int print_batches(struct run *r)
{
	int err = CLI_OK;

	for (uint32_t i = 0; !err && (!r->count || i < r->count); i++)
		err = batch_one(r);
	return err;
}

static int draw_screen(struct run *r)
{
	screen_size(r->top);
	if (top_draw(r->top, &r->frame))
		return -ENOMEM;
	screen_show(&r->frame);
	return 0;
}

static void handle_keys(struct run *r)
{
	bool paused = r->top->paused;
	uint32_t interval = r->top->interval_ms;
	int key;

	while ((key = screen_key()))
		if (key > 0)
			top_key(r->top, key);
	if (paused && !r->top->paused)
		r->begun = false;
	if (r->top->read_now || (paused && !r->top->paused))
		r->next = cli_now_ms();
	if (interval != r->top->interval_ms)
		r->step = CLI_STEPS_MAX;
}

/*
 * Waits for a key, a signal or the next step. Returns 1 for a signal that ends top.
 * SIGWINCH is unblocked only in ppoll(), so a change of size cannot be missed.
 */
static int wait_input(struct run *r)
{
	struct pollfd p[] = {
		{ .fd = STDIN_FILENO, .events = POLLIN },
		{ .fd = r->sigfd, .events = POLLIN },
	};
	bool idle = r->top->paused && !r->top->read_now;
	uint64_t now = cli_now_ms();
	uint64_t ms = r->next > now ? r->next - now : 0;
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	struct signalfd_siginfo si;

	if (ppoll(p, 2, idle ? NULL : &t, &r->mask) < 0)
		return errno == EINTR ? 0 : -errno;
	if (p[1].revents && read(r->sigfd, &si, sizeof(si)) == sizeof(si)) {
		r->signal = (int)si.ssi_signo;
		return 1;
	}
	/* The terminal was closed. */
	if (p[0].revents & (POLLHUP | POLLERR | POLLNVAL)) {
		r->signal = SIGHUP;
		return 1;
	}
	return 0;
}

static int run_loop(struct run *r)
{
	int err = draw_screen(r);

	while (!err && !r->top->quit) {
		err = wait_input(r);
		if (err)
			break;
		handle_keys(r);
		if (r->top->quit)
			break;
		if (cli_now_ms() >= r->next && (!r->top->paused || r->top->read_now))
			err = run_step(r);
		/* Draw in any case: the size may have changed. */
		if (err >= 0)
			err = draw_screen(r);
	}
	return err < 0 ? err : 0;
}

static int catch_signals(struct run *r)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	sigset_t block;

	sigemptyset(&block);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&block, ends[i]);
	r->sigfd = signalfd(-1, &block, SFD_CLOEXEC);
	sigaddset(&block, SIGWINCH);
	if (r->sigfd < 0 || sigprocmask(SIG_BLOCK, &block, &r->mask)) {
		perror("swiftrdma: signals");
		return CLI_ERROR;
	}
	/* ppoll() unblocks SIGWINCH; signals that end top are read from sigfd. */
	r->mask = block;
	sigdelset(&r->mask, SIGWINCH);
	return CLI_OK;
}

static int run_screen(struct run *r)
{
	int err = cli_read(r->cli, &want);

	if (err)
		return err;
	if (take_reading(r))
		return cli_no_memory();
	err = catch_signals(r);
	if (err)
		return err;
	if (screen_open(r->cli->out.color))
		return CLI_ERROR;
	r->next = cli_now_ms();
	err = run_loop(r);
	screen_close();
	close(r->sigfd);
	free(r->frame.text);
	free(r->frame.attr);
	if (err == -ENOMEM)
		return cli_no_memory();
	if (err < 0)
		return cli_fail("top: %s", strerror(-err));
	/* Tell the shell which signal ended top. SIGINT is a usual way to quit. */
	if (r->signal && r->signal != SIGINT) {
		sigemptyset(&r->mask);
		signal(r->signal, SIG_DFL);
		raise(r->signal);
		sigprocmask(SIG_SETMASK, &r->mask, NULL);
	}
	return CLI_OK;
}

enum { BATCH, COUNT, INTERVAL, SORT, FILTER, REVERSE };

static const char *const keywords[] = {
	"batch", "n", "interval", "sort", "filter", "reverse", NULL,
};

static int parse_keyword(struct run *r, struct args *args, int k, const char **sort)
{
	struct top *t = r->top;
	const char *s;

	switch (k) {
	case BATCH:
		r->batch = true;
		return CLI_OK;
	case COUNT:
		r->batch = true;
		if (args_u32(args, "n", UINT32_MAX, &r->count))
			return CLI_USAGE;
		return r->count ? CLI_OK : args_bad("n: at least 1");
	case INTERVAL:
		if (args_value(args, "interval", &s))
			return CLI_USAGE;
		return args_time_ms(s, "interval", &t->interval_ms);
	case SORT:
		return args_value(args, "sort", sort);
	case FILTER:
		if (args_value(args, "filter", &s))
			return CLI_USAGE;
		if (strlen(s) >= TOP_PROMPT)
			return args_bad("filter: longer than %d bytes", TOP_PROMPT - 1);
		for (int i = 0; i < TOP_VIEWS; i++)
			strcpy(t->table[i].filter, s);
		return CLI_OK;
	}
	for (int i = 0; i < TOP_VIEWS; i++)
		t->table[i].reverse = true;
	return CLI_OK;
}

/* Sorts the first view. An empty reading is enough to know its columns. */
static int choose_sort_column(struct run *r, const char *sort)
{
	struct top_table *table = &r->top->table[r->top->view];
	int err = top_take(r->top, r->cli) ? cli_no_memory() : CLI_OK;

	if (err || !sort)
		return err;
	table->sort = top_column(table, sort, strlen(sort));
	if (table->sort >= 0)
		return CLI_OK;
	args_bad("sort: %s have no column '%s'; there are:", top_names[r->top->view], sort);
	for (size_t i = 0; i < table->n_cols; i++)
		fprintf(stderr, " %s", table->cols[i].key);
	putc('\n', stderr);
	return CLI_USAGE;
}

static int parse_top(struct run *r, struct args *args)
{
	static const char *const views[] = { "uars", "qps", "jobs", "ports", NULL };
	const char *sort = NULL;
	int err = CLI_OK;

	while (args_left(args) && !err) {
		const char *word = args_next(args), *bare = word;
		int k = -1, view;

		bare += strspn(word, "-");
		view = bare == word ? args_match(views, word) : -1;
		if (view >= 0) {
			r->has_view = true;
			r->top->view = (enum top_view)view;
			continue;
		}
		/* Options of top(1). */
		if (!strcmp(word, "-d"))
			k = INTERVAL;
		else if (*bare)
			k = args_match(keywords, bare);
		err = k >= 0 ? parse_keyword(r, args, k, &sort) :
		      args_bad("'%s': expected uars, qps, jobs or ports, batch, n, interval, sort, filter or reverse",
			       word);
	}
	return err ? err : choose_sort_column(r, sort);
}

static int run_top(struct cli *cli, struct args *args)
{
	struct top *top = malloc(sizeof(*top));
	struct run r = { .cli = cli, .top = top };
	int err;

	if (!top)
		return cli_no_memory();
	top_init(top, cli->interval_ms ? cli->interval_ms : INTERVAL_MS);
	cli->interval_ms = 0;
	cli->out.rates = true;
	err = parse_top(&r, args);
	if (!err)
		err = cli_open(cli);
	if (!err && cli->out.json && !r.batch)
		r.batch = true;
	if (!err && !r.batch && !(isatty(STDOUT_FILENO) && isatty(STDIN_FILENO)))
		err = args_bad("top needs a terminal; without one use top --batch");
	if (!err)
		err = r.batch ? print_batches(&r) : run_screen(&r);
	top_free(top);
	free(top);
	return err;
}

static const struct verb verbs[] = {
	{ "", run_top }, { 0 },
};

static const struct noun_table *const tables[] = {
	&uar_table, &qp_table, &job_table, &port_table, NULL,
};

const struct noun noun_top = {
	.name = "top",
	.verbs = verbs,
	.help =
	"Usage: swiftrdma top [ VIEW ] [ interval TIME ] [ sort COLUMN ] [ reverse ]\n"
	"                     [ filter TEXT ] [ batch ] [ n COUNT ]\n"
	"\n"
	"VIEW := { uars | qps | jobs | ports }\n"
	"\n"
	"Shows a live view of UARs, QPs, jobs or ports; the key h lists the keys. A\n"
	"filter is words that a line contains, or COLUMN=VALUE. batch, or n, writes\n"
	"text instead, COUNT times, and with -j one object for each reading. Words may\n"
	"have dashes before them: swiftrdma top --batch -n 1.\n",
	.own = "-d",
	.tables = tables,
};
