// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/expr.h"
#include "policy/schema.h"

#define HOLD_MAX 3600000000000ULL	/* ns, an hour */

/* A policy that is being read. */
struct reading {
	struct config *cfg;
	struct policy *p;
	struct config_policy *text;
	struct diag *r;
	struct expr *x;		/* room for one expression */
};

static void keep_string(struct reading *rd, char **to, const char *s)
{
	*to = strdup(s);
	if (!*to)
		diag_at(rd->r, 0, 0, "out of memory");
}

/* Reads and compiles a state. @not: out: its negation; may be NULL. */
static bool get_state(struct reading *rd, const struct node *n,
		      const char *what, struct cond *c, struct cond *not,
		      char **text)
{
	struct prog *prog = &rd->cfg->policies.prog;
	struct expr_error e;
	const char *s;
	int root;

	if (!get_text(rd->r, n, what, &s))
		return false;
	if (!expr_state(s, &rd->cfg->criteria, rd->x, &root, &e) ||
	    !compile_state(prog, rd->x, root, COMPILE_STATE, c, &e) ||
	    (not && !compile_state(prog, rd->x, root, COMPILE_CONTRARY, not, &e))) {
		diag_node(rd->r, n, e.at, "%s", e.msg);
		return false;
	}
	keep_string(rd, text, s);
	return true;
}

static void check_possible(struct reading *rd, const struct node *v,
			   const struct cond *c)
{
	const struct prog *prog = &rd->cfg->policies.prog;

	if (!state_possible(prog, c))
		diag_node(rd->r, v, 0,
			  "this state is never true: its clauses contradict each other");
	else if (!state_in_range(prog, c))
		warn_node(rd->r, v, 0,
			  "this state is never true: no reading can reach it; a ratio is at most 100 %%, a level at most %d",
			  SWIFTRDMA_LEVEL_MAX);
}

/*
 * Reads a state, or a list of states that are evaluated in turn. @not: the negations, as in
 * get_state(). If @check, states that are never true are reported. Returns their number.
 */
static unsigned int get_fallbacks(struct reading *rd, const struct node *n, struct cond *c,
				  struct cond *not, char **text, bool check)
{
	const struct node *e = n->kind == NODE_LIST ? n->first : n;
	unsigned int i;

	if (n->kind == NODE_LIST && (!n->n || n->n > POLICY_FALLBACKS)) {
		diag_node(rd->r, n, -1,
			  "fallback is a state, or a list of 1 to %d states in the order in which they are asked, not of %zu",
			  POLICY_FALLBACKS, n->n);
		return 0;
	}
	for (i = 0; e; i++, e = n->kind == NODE_LIST ? e->next : NULL) {
		if (!get_state(rd, e, "fallback", &c[i], not ? &not[i] : NULL, &text[i]))
			return 0;
		if (check)
			check_possible(rd, e, &c[i]);
	}
	return i;
}

static bool get_steps(struct reading *rd, const struct node *n,
		      struct step *steps, unsigned int *n_steps, char **text)
{
	struct action a[POLICY_STEPS];
	struct expr_error e;
	const char *s;
	unsigned int i;

	if (!get_text(rd->r, n, "do", &s))
		return false;
	if (!expr_action(s, &rd->cfg->criteria, rd->x, a, n_steps, &e)) {
		*n_steps = 0;
		diag_node(rd->r, n, e.at, "%s", e.msg);
		return false;
	}
	for (i = 0; i < *n_steps; i++) {
		const struct vocab_knob *k = vocab_knob(a[i].step.knob);

		steps[i] = a[i].step;
		steps[i].floor = k->min;
		steps[i].ceiling = k->max;
		if (a[i].value < 0 || compile_number(&rd->cfg->policies.prog, rd->x, a[i].value,
						     &steps[i].expr, &e))
			continue;
		diag_node(rd->r, n, e.at, "%s", e.msg);
		return false;
	}
	keep_string(rd, text, s);
	return true;
}

static bool get_binding(struct reading *rd, const struct node *n)
{
	struct expr_error e;
	const char *s;

	if (!get_text(rd->r, n, "for", &s))
		return false;
	if (expr_binding(s, rd->p, &e)) {
		keep_string(rd, &rd->text->who, s);
		return true;
	}
	diag_node(rd->r, n, e.at, "%s", e.msg);
	return false;
}

/* The place of the step of a knob among @n steps; @n: there is none. */
static unsigned int find_step(const struct step *steps, unsigned int n, const char *knob)
{
	unsigned int i = 0;

	while (i < n && strcmp(vocab_knob(steps[i].knob)->name, knob))
		i++;
	return i;
}

/* Reads a bound: "3", or {job.level: 3, job.weight: 8} for several knobs. */
static void get_bound(struct reading *rd, const struct node *map,
		      const char *what, bool upper)
{
	const struct node *n = node_get(map, what), *e;
	struct policy *p = rd->p;
	unsigned int i;

	if (!n)
		return;
	for (i = 0; i < p->n_act; i++) {
		struct step *st = &p->act[i];
		const struct vocab_knob *k = vocab_knob(st->knob);

		e = n->kind == NODE_MAP ? node_get(n, k->name) : i ? NULL : n;
		if (e)
			get_value(rd->r, e, what, k->unit, k->min, k->max,
				  upper ? &st->ceiling : &st->floor);
	}
	for (e = n->kind == NODE_MAP ? n->first : NULL; e; e = e->next)
		if (find_step(p->act, p->n_act, e->key->text) == p->n_act)
			diag_node(rd->r, e->key, -1, "the policy does not turn '%.40s'",
				  e->key->text);
	if (n->kind == NODE_SCALAR && p->n_act > 1)
		diag_node(rd->r, n, 0,
			  "the policy turns %u knobs; name the knob, as in '%s: {%s: %.20s}'",
			  p->n_act, what, vocab_knob(p->act[0].knob)->name,
			  n->text);
}

/* Bit per class level that a step may set. */
static uint32_t levels_reached(const struct step *st)
{
	uint32_t from = (uint32_t)st->floor, to = (uint32_t)st->ceiling;

	if (st->op == STEP_SET && !st->expr.n)
		from = to = (uint32_t)st->n;
	else if (!from && st->op != STEP_SET)
		from = 1;	/* a step up starts at 1, a step down ends there */
	return from > to ? 0 : (2u << to) - (1u << from);
}

/* Each site has its own DSCPs and SLs, so a policy that sets a level needs levels in the file. */
static void check_levels(struct reading *rd, const struct node *n)
{
	uint32_t set = config_levels(rd->cfg);
	const struct policy *p = rd->p;
	unsigned int i;

	for (i = 0; i < p->n_act; i++) {
		const struct step *st = &p->act[i];

		if (st->knob != SWIFTRDMA_KNOB_LEVEL || set & levels_reached(st))
			continue;
		if (!set)
			diag_node(rd->r, n, 0,
				  "the policy raises a class level, and this file does not define levels on the wire; add for instance '%s', with values that your switches and hosts treat as more urgent",
				  LEVELS_EXAMPLE);
		else
			diag_node(rd->r, n, 0,
				  "no class level that the policy may set is among 'levels:'; add it there");
	}
}

static void load_bounds(struct reading *rd, const struct node *n)
{
	struct policy *p = rd->p;
	unsigned int i;

	get_bound(rd, n, "floor", false);
	get_bound(rd, n, "ceiling", true);
	for (i = 0; i < p->n_act; i++) {
		const struct step *st = &p->act[i];

		if (st->floor > st->ceiling)
			diag_node(rd->r, node_get(n, node_get(n, "ceiling") ? "ceiling" :
								"floor"), 0,
				  "the ceiling is below the floor; swap them");
		else if (st->op == STEP_ADD && !st->expr.n &&
			 st->knob == SWIFTRDMA_KNOB_WEIGHT && st->ceiling <= 1)
			warn_node(rd->r, node_get(n, "ceiling"), 0,
				  "the policy never changes anything: %s starts at that bound",
				  vocab_knob(st->knob)->name);
		else if (st->op == STEP_SET && !st->expr.n &&
			 (st->n < st->floor || st->n > st->ceiling))
			diag_node(rd->r, node_get(n, "do"), 0,
				  "the value set is outside floor and ceiling; it would never be reached");
	}
}

static void check_undo_steps(struct reading *rd, const struct node *v)
{
	struct policy *p = rd->p;
	unsigned int i;

	for (i = 0; i < p->n_undo; i++) {
		struct step *u = &p->undo[i];
		unsigned int at = find_step(p->act, p->n_act, vocab_knob(u->knob)->name);
		const struct step *act = &p->act[at];

		if (at == p->n_act) {
			diag_node(rd->r, v, 0,
				  "undo does not turn the knob of the policy; it must turn %s",
				  vocab_knob(p->act[0].knob)->name);
			continue;
		}
		if (u->op == act->op && act->op != STEP_SET)
			diag_node(rd->r, v, 0,
				  "undo steps in the same direction as the policy; it should step the other way");
		u->floor = act->floor;
		u->ceiling = act->ceiling;
	}
}

static void load_undo(struct reading *rd, const struct node *n, bool has_act)
{
	static const char *const keys[] = {
		"when", "fallback", "hold", "do", "cooldown", NULL
	};
	struct policy *p = rd->p;
	const struct node *v;

	p->undo_cooldown = p->cooldown;
	check_map(rd->r, n, "undo", keys);
	if (n->kind != NODE_MAP)
		return;
	opt_time(rd->r, n, "hold", 0, HOLD_MAX, &p->undo_hold);
	opt_time(rd->r, n, "cooldown", 0, HOLD_MAX, &p->undo_cooldown);
	v = node_get(n, "do");
	if (v && get_steps(rd, v, p->undo, &p->n_undo, &rd->text->undo_act) &&
	    has_act)
		check_undo_steps(rd, v);
	v = node_get(n, "fallback");
	if (v)
		p->n_undo_fallback = get_fallbacks(rd, v, p->undo_fallback, p->undo_fallback_not,
						   rd->text->undo_fallback, false);
	v = need(rd->r, n, "when", "undo", "when: port.util < 60%");
	if (v)
		get_state(rd, v, "when", &p->undo_when, &p->undo_not,
			  &rd->text->undo_when);
}

/*
 * Checks hysteresis: the state and that of the undo must not be true at once, and values must
 * lie between them.
 */
static void check_gap(struct reading *rd, const struct node *undo)
{
	const struct node *when = node_get(undo, "when");
	const struct policy *p = rd->p;
	bool touch, sure;

	if (!when || !p->when.terms.n || !p->undo_when.terms.n)
		return;
	if (states_overlap(&rd->cfg->policies.prog, &p->when, &p->undo_when,
			   &touch, &sure)) {
		if (sure)
			diag_node(rd->r, when, 0,
				  "undo's state can be true at the same time as the policy's; exclude it, as 'port.util < 60%%' does 'port.util > 80%%'");
		else if (!p->undo_hold)
			warn_node(rd->r, when, 0,
				  "undo's state may be true at the same time as the policy's, which then goes first; exclude it, or give undo a 'hold: 1s'");
	} else if (touch && !p->undo_hold) {
		diag_node(rd->r, when, 0,
			  "no gap between the policy's state and undo's: the knob would flap; leave a gap or give undo a 'hold: 1s'");
	}
}

/* Lists the signals that @c lacks @without libraries, if @c is then unknown. */
static void note_library(const struct caps *without, const struct prog *prog,
			 const struct cond *c, char *note, size_t cap)
{
	uint64_t sigs = caps_reads(prog, c) & ~without->signals;
	struct text t;
	unsigned int i;

	text_init(&t, note, cap);
	if (caps_lacks(without, prog, c) == SIGNALS)
		return;
	for (i = 0; i < SIGNALS; i++) {
		if (!(sigs & 1ULL << i))
			continue;
		text_str(&t, t.len ? ", " : "");
		text_str(&t, vocab_signals[i].name);
	}
}

/* Lists the knobs of @p that only libraries enforce. */
static void note_library_knobs(const struct caps *caps, const struct policy *p, char *note,
			       size_t cap)
{
	struct text t;

	text_init(&t, note, cap);
	for (unsigned int i = 0; i < p->n_act; i++) {
		if (!(caps->library_knobs & 1u << p->act[i].knob))
			continue;
		text_str(&t, t.len ? ", " : "");
		text_str(&t, vocab_knob(p->act[i].knob)->name);
	}
}

/* True: one of @n states can be measured. */
static bool can_tell(const struct caps *caps, const struct prog *prog, const struct cond *c,
		     unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (c[i].terms.n && caps_lacks(caps, prog, &c[i]) == SIGNALS)
			return true;
	return false;
}

/*
 * A signal that a state of the policy lacks, if no fallback of the state can be measured.
 * SIGNALS: there is none. *@at: the state.
 */
static enum signal_id policy_lacks(const struct reading *rd, const struct caps *caps,
				   const struct node *n, const struct node **at)
{
	const struct prog *prog = &rd->cfg->policies.prog;
	const struct policy *p = rd->p;
	enum signal_id sig = caps_lacks(caps, prog, &p->when);

	*at = node_get(n, "when");
	if (sig != SIGNALS && !can_tell(caps, prog, p->fallback, p->n_fallback))
		return sig;
	*at = node_get(node_get(n, "undo"), "when");
	sig = caps_lacks(caps, prog, &p->undo_when);
	return can_tell(caps, prog, p->undo_fallback, p->n_undo_fallback) ? SIGNALS : sig;
}

/* Switches off a policy that needs a signal or a knob that this system lacks. */
static void check_caps(struct reading *rd, const struct node *n)
{
	const struct prog *prog = &rd->cfg->policies.prog;
	const struct caps *caps = &rd->cfg->caps;
	const struct caps without = caps_without_library(caps);
	struct config_policy *t = rd->text;
	struct policy *p = rd->p;
	const struct node *at;
	enum signal_id sig = policy_lacks(rd, caps, n, &at);
	unsigned int i;

	for (i = 0; i < p->n_fallback; i++)
		t->lacks[i] = caps_lacks(caps, prog, &p->fallback[i]);
	t->by_fallback = !can_tell(caps, prog, &p->when, 1) &&
			 can_tell(caps, prog, p->fallback, p->n_fallback);
	if (!t->by_fallback)
		note_library(&without, prog, &p->when, t->library, sizeof(t->library));
	note_library_knobs(caps, p, t->library_knobs, sizeof(t->library_knobs));
	for (i = 0; i < p->n_act; i++)
		if (!(caps->knobs & 1u << p->act[i].knob))
			break;
	if (i < p->n_act) {
		const struct vocab_knob *k = vocab_knob(p->act[i].knob);

		snprintf(t->off, sizeof(t->off),
			 "nothing enforces %s here (%s would)", k->name,
			 caps_enforced_by(k->knob));
		at = node_get(n, "do");
	} else if (sig != SIGNALS) {
		snprintf(t->off, sizeof(t->off),
			 "nothing measures %s here (%s), and there is no 'fallback:' that works without it",
			 vocab_signals[sig].name, caps_measured_by(sig));
	}
	p->off = t->off[0];
	if (rd->cfg->derived)
		return;
	if (p->off && at) {
		warn_node(rd->r, at, 0, "%s: policy '%s' stays idle", t->off,
			  p->name);
		return;
	}
	sig = p->off ? SIGNALS : policy_lacks(rd, &without, n, &at);
	if (sig != SIGNALS && at)
		warn_node(rd->r, at, 0,
			  "only libswiftrdma, in a job's processes, measures %s, and there is no 'fallback:' that works without it: for jobs without the library, the state of policy '%s' is unknown",
			  vocab_signals[sig].name, p->name);
}

static void get_cause(struct reading *rd, const struct node *n)
{
	unsigned int i;
	const char *s;

	if (!get_text(rd->r, n, "cause", &s))
		return;
	for (i = 1; i < CAUSES; i++)
		if (!strcmp(cause_names[i], s)) {
			rd->p->cause = i;
			return;
		}
	diag_node(rd->r, n, 0,
		  "'%.40s' is not a cause; causes are uar, cache, pu, hol and port",
		  s);
}

static void load_quota(struct reading *rd, const struct node *n)
{
	struct policy *p = rd->p;
	const struct node *v;

	opt_time(rd->r, n, "hold", 0, HOLD_MAX, &p->hold);
	opt_time(rd->r, n, "cooldown", 0, HOLD_MAX, &p->cooldown);
	opt_uint(rd->r, n, "max_steps", 1, 1000000, &p->max_steps);
	v = node_get(n, "rate");
	if (v && get_value(rd->r, v, "rate", UNIT_RATE, 0, 1e6, &p->rate) && p->rate <= 0)
		diag_node(rd->r, v, 0,
			  "a rate of 0 would never let it act; leave 'rate:' out for no limit");
	p->burst = p->rate;
}

static void load_name(struct reading *rd, const struct node *n)
{
	const struct config *cfg = rd->cfg;
	const struct node *v;
	size_t i;

	v = need(rd->r, n, "name", "a policy", "name: port");
	if (!v || !get_name(rd->r, v, "a policy's name", rd->p->name))
		return;
	for (i = 0; i + 1 < cfg->policies.n; i++)
		if (!strcmp(cfg->policies.v[i].name, rd->p->name))
			diag_node(rd->r, v, 0,
				  "policy '%s' is already defined in line %u; choose another name",
				  rd->p->name, cfg->texts[i].line);
}

static bool load_do(struct reading *rd, const struct node *v)
{
	struct policy *p = rd->p;
	unsigned int i;

	if (!get_steps(rd, v, p->act, &p->n_act, &rd->text->act))
		return false;
	for (i = 0; i < p->n_act; i++) {
		if (p->act[i].op != STEP_RELEASE)
			continue;
		diag_node(rd->r, v, 0,
			  "a policy sets a knob, only its undo releases it; write '%s += 1'",
			  vocab_knob(p->act[i].knob)->name);
		p->n_act = 0;
		return false;
	}
	return true;
}

static void load_states(struct reading *rd, const struct node *n)
{
	struct policy *p = rd->p;
	const struct node *v;

	v = need(rd->r, n, "when", "a policy",
		 "when: port.util > 80% and job.qps > 0");
	if (v && get_state(rd, v, "when", &p->when, NULL, &rd->text->when))
		check_possible(rd, v, &p->when);
	v = node_get(n, "fallback");
	if (v)
		p->n_fallback = get_fallbacks(rd, v, p->fallback, NULL, rd->text->fallback, true);
}

static void load_policy(struct reading *rd, const struct node *n)
{
	static const char *const keys[] = {
		"name", "for", "because", "cause", "when", "fallback", "hold",
		"do", "floor", "ceiling", "cooldown", "max_steps", "rate",
		"rank", "undo", NULL
	};
	struct policy *p = rd->p;
	const struct node *v;
	bool has_act;
	size_t before = rd->r->total;

	rd->text->line = n->line;
	rd->text->col = n->col;
	p->cooldown = CONFIG_COOLDOWN_DEFAULT;
	check_map(rd->r, n, "a policy", keys);
	if (n->kind != NODE_MAP)
		return;
	load_name(rd, n);
	v = need(rd->r, n, "for", "a policy", "for: job of class latency");
	if (v)
		get_binding(rd, v);
	opt_string(rd->r, n, "because", rd->text->because, sizeof(rd->text->because));
	opt_uint(rd->r, n, "rank", 1, 1000, &rd->text->rank);
	v = node_get(n, "cause");
	if (v)
		get_cause(rd, v);
	load_states(rd, n);
	load_quota(rd, n);
	v = need(rd->r, n, "do", "a policy", "do: job.level += 1");
	has_act = v && load_do(rd, v);
	if (has_act)
		load_bounds(rd, n);
	v = need(rd->r, n, "undo", "a policy",
		 "undo: {when: port.util < 60%, hold: 1s}");
	if (v) {
		load_undo(rd, v, has_act);
		check_gap(rd, v);
	}
	if (rd->r->total != before)
		return;
	check_levels(rd, node_get(n, "do"));
	check_caps(rd, n);
}

void load_policies(struct config *cfg, const struct node *n, struct diag *r)
{
	struct reading rd = { .cfg = cfg, .r = r };
	const struct node *e;

	if (!check_list(r, n, "policies"))
		return;
	if (n->n > POLICY_SET_MAX) {
		diag_node(r, n, -1,
			  "%zu policies; at most %d are possible: one policy 'for: job of class latency' covers all jobs of that class",
			  n->n, POLICY_SET_MAX);
		return;
	}
	cfg->policies.v = get_array(r, n->n, sizeof(*cfg->policies.v));
	cfg->texts = get_array(r, n->n, sizeof(*cfg->texts));
	rd.x = get_array(r, 1, sizeof(*rd.x));
	if (!cfg->policies.v || !cfg->texts || !rd.x) {
		free(rd.x);
		return;
	}
	for (e = n->first; e; e = e->next) {
		rd.p = &cfg->policies.v[cfg->policies.n];
		rd.text = &cfg->texts[cfg->policies.n];
		/* A policy with errors counts, too, so that its texts are freed. */
		cfg->policies.n++;
		load_policy(&rd, e);
	}
	free(rd.x);
}
