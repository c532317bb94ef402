// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The devices that a policy file is judged for: all devices of this host, or one of them,
 * as the module reports them; without a module, a ConnectX with all capabilities.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/cmd_policy.h"

/* A signal or a knob needs a library only if it does on each device that has it. */
static void add_caps(struct caps *all, const struct caps *one)
{
	uint64_t own = (all->signals & ~all->library) | (one->signals & ~one->library);

	uint32_t knobs = (all->knobs & ~all->library_knobs) | (one->knobs & ~one->library_knobs);

	all->signals |= one->signals;
	all->library = all->signals & ~own;
	all->knobs |= one->knobs;
	all->library_knobs = all->knobs & ~knobs;
	if (one->speed > all->speed)
		all->speed = one->speed;
}

/* Adds what the running agent runs by, if there is one. */
static void say_agent(struct cli *cli, struct text *t)
{
	const struct running *r = cli_running(cli);

	if (!r->pid) {
		text_str(t, "; no agent runs here, so no policy is in effect");
		return;
	}
	text_str(t, "; the agent (pid ");
	text_u64(t, r->pid);
	text_str(t, ") runs ");
	text_tame(t, r->file);
}

static void assume_device(struct cli *cli, struct policy_target *w, const char *why)
{
	struct text t;

	w->caps = caps_here();
	text_init(&t, w->text, sizeof(w->text));
	text_str(&t, "a ConnectX with swiftrdma_mlx5.ko, which is assumed, for ");
	text_str(&t, why);
	say_agent(cli, &t);
}

/* Without the module, assume a host that has it. */
static int ask_here(struct cli *cli, struct policy_target *w)
{
	const struct io_want want = { .devs = true, .ports = true };
	struct text t;
	int err = cli->io ? 0 : io_open(&cli->io);

	if (err < 0) {
		assume_device(cli, w, err == -ENOENT ? "this machine has no swiftrdma module loaded" :
						io_error(cli->io));
		return CLI_OK;
	}
	if (io_snapshot(cli->io, &cli->snap, &want) < 0)
		return cli_io_error(cli);
	if (!cli->snap.n_devs) {
		assume_device(cli, w, "this machine has no RDMA device");
		return CLI_OK;
	}
	w->snap = &cli->snap;
	text_init(&t, w->text, sizeof(w->text));
	text_str(&t, "this machine's");
	for (size_t i = 0; i < cli->snap.n_devs; i++) {
		const struct snap_dev *dev = &cli->snap.devs[i];
		const struct caps caps = caps_dev(&cli->snap, dev);

		add_caps(&w->caps, &caps);
		text_str(&t, i ? ", " : " ");
		text_tame(&t, dev->name);
	}
	say_agent(cli, &t);
	return CLI_OK;
}

static int ask_dev(struct cli *cli, const char *name, struct policy_target *w)
{
	const struct io_want want = { .devs = true, .ports = true };
	uint32_t index;
	int err = cli_open(cli);

	if (err)
		return err;
	if (io_snapshot(cli->io, &cli->snap, &want) < 0)
		return cli_io_error(cli);
	err = view_find_dev(cli, name, &index);
	if (err)
		return err;
	w->snap = &cli->snap;
	w->only = view_dev(cli, index);
	w->caps = caps_dev(w->snap, w->only);
	snprintf(w->text, sizeof(w->text), "this machine's %s", name);
	return CLI_OK;
}

static int ask_target(struct cli *cli, const char *where, struct policy_target *w)
{
	static const char *const wheres[] = { "here", "anywhere", NULL };

	switch (args_match(wheres, where)) {
	case 0:
		return ask_here(cli, w);
	case 1:
		w->caps = caps_all();
		snprintf(w->text, sizeof(w->text), "a device that measures and enforces everything");
		return CLI_OK;
	}
	return ask_dev(cli, where, w);
}

int policy_target(struct cli *cli, struct args *args, struct policy_target *w, const char **job)
{
	const char *where = NULL, *word;

	*w = (struct policy_target){ .file = args_next(args) };
	if (job)
		*job = NULL;
	if (!w->file)
		return args_bad("a policy file is missing, as in swiftrdma policy check FILE");
	while ((word = args_peek(args))) {
		if (!strcmp(word, "on") && !where) {
			args_next(args);
			where = args_next(args);
			if (!where)
				return args_bad("on: 'here', 'anywhere' or a device must follow");
		} else if (job && !*job) {
			*job = args_next(args);
			if (!strcmp(*job, "job") && args_left(args))
				*job = args_next(args);
		} else {
			return args_end(args);
		}
	}
	return ask_target(cli, where ? where : "here", w);
}

static const struct config_policy *find_text(const struct config *cfg, const char *name)
{
	for (size_t i = 0; i < cfg->policies.n; i++)
		if (!strcmp(cfg->policies.v[i].name, name))
			return &cfg->texts[i];
	return NULL;
}

/* Notes on which devices a policy does not run. One that runs on none is off. */
static void note_devices(struct config *cfg, size_t i, const struct snapshot *snap,
			 const struct config *of_devs, char *buf)
{
	const char *why = NULL, *dev = NULL;
	size_t idle = 0;
	struct text to;

	for (size_t d = 0; d < snap->n_devs; d++) {
		const struct config_policy *t = find_text(&of_devs[d], cfg->policies.v[i].name);

		if (!t || !t->off[0])
			continue;
		idle++;
		why = t->off;
		dev = snap->devs[d].name;
	}
	if (!idle || cfg->texts[i].off[0])
		return;
	if (idle == snap->n_devs) {
		snprintf(cfg->texts[i].off, sizeof(cfg->texts[i].off), "%s", why);
		return;
	}
	text_init(&to, buf, POLICY_NOTE);
	text_str(&to, "not on ");
	text_tame(&to, dev);
	if (idle > 1) {
		text_str(&to, " and ");
		text_u64(&to, idle - 1);
		text_str(&to, " more");
	}
	text_str(&to, ": ");
	text_str(&to, why);
}

/* Judges each device by itself: one may measure a signal and another enforce a knob. */
static bool judge_devs(struct config *cfg, const struct policy_target *w, const char *text,
		       size_t len, char (*notes)[POLICY_NOTE])
{
	const struct snapshot *snap = w->snap;
	struct config *of_devs = calloc(snap->n_devs, sizeof(*of_devs));
	struct diag r;
	size_t i;

	if (!of_devs)
		return false;
	for (i = 0; i < snap->n_devs; i++) {
		const struct caps caps = caps_dev(snap, &snap->devs[i]);

		/* Messages about one device are dropped: they need not apply to the host. */
		diag_init(&r, w->file);
		config_load_text_for(&of_devs[i], &caps, text, len, &r);
	}
	for (i = 0; i < cfg->policies.n; i++)
		note_devices(cfg, i, snap, of_devs, notes[i]);
	for (i = 0; i < snap->n_devs; i++)
		config_free(&of_devs[i]);
	free(of_devs);
	return true;
}

int policy_judge(struct config *cfg, const struct policy_target *w, bool say_warnings,
		 char (**notes)[POLICY_NOTE])
{
	char (*own)[POLICY_NOTE] = NULL;
	struct diag r;
	size_t len;
	char *text;
	bool ok, room = true;

	diag_init(&r, strcmp(w->file, "-") ? w->file : "<stdin>");
	text = config_read(w->file, &len, &r);
	ok = text && config_load_text_for(cfg, &w->caps, text, len, &r);
	if (!ok || say_warnings)
		diag_print(&r, stderr);
	if (ok) {
		own = calloc(cfg->policies.n + 1, sizeof(*own));
		room = own;
	}
	if (own && w->snap && !w->only && w->snap->n_devs > 1)
		room = judge_devs(cfg, w, text, len, own);
	free(text);
	if (ok && !room)
		config_free(cfg);
	if (!ok || !room || !notes) {
		free(own);
		own = NULL;
	}
	if (notes)
		*notes = own;
	return !ok ? CLI_ERROR : room ? CLI_OK : cli_no_memory();
}

int policy_load(struct config *cfg, const char *file, const struct caps *caps,
		bool say_warnings)
{
	const struct policy_target w = { .file = file, .caps = *caps };

	return policy_judge(cfg, &w, say_warnings, NULL);
}
