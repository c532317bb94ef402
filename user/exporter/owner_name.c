// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "exporter/owner_name.h"

#include <ctype.h>

#include "base/text.h"

#define CONTAINER_ID	64	/* hexadecimal digits of Docker, containerd, CRI-O, Podman */
#define CONTAINER_SHORT	12	/* as their commands print */

/* A component of a path. */
struct part {
	const char *p;
	size_t n;
};

/* The next component at *@path, which is moved on; .n 0: there is none. */
static struct part next_part(const char **path)
{
	struct part part;

	*path += strspn(*path, "/");
	part = (struct part){ *path, strcspn(*path, "/") };
	*path += part.n;
	return part;
}

static bool has_prefix(struct part part, const char *prefix)
{
	size_t n = strlen(prefix);

	return part.n > n && !memcmp(part.p, prefix, n);
}

static bool has_suffix(struct part part, const char *suffix)
{
	size_t n = strlen(suffix);

	return part.n > n && !memcmp(part.p + part.n - n, suffix, n);
}

static size_t count_digits(const char *s, size_t n, int (*is)(int))
{
	size_t i = 0;

	while (i < n && is((unsigned char)s[i]))
		i++;
	return i;
}

/* "job_4711": Slurm's cgroups, of v1 and v2, below one that has "slurm" in its name. */
static struct part find_slurm(const char *path)
{
	bool slurm = false;
	struct part part;

	while ((part = next_part(&path)).n) {
		slurm = slurm || memmem(part.p, part.n, "slurm", 5);
		if (!slurm || !has_prefix(part, "job_"))
			continue;
		part.p += 4;
		part.n = count_digits(part.p, part.n - 4, isdigit);
		if (part.n)
			return part;
	}
	return (struct part){ 0 };
}

/*
 * The id of the innermost container: a component that is one, or has it between a prefix that
 * ends with '-' and ".scope".
 */
static struct part find_container(const char *path)
{
	struct part found = { 0 }, part;

	while ((part = next_part(&path)).n) {
		if (has_suffix(part, ".scope"))
			part.n -= strlen(".scope");
		if (part.n < CONTAINER_ID ||
		    (part.n > CONTAINER_ID && part.p[part.n - CONTAINER_ID - 1] != '-'))
			continue;
		part.p += part.n - CONTAINER_ID;
		if (count_digits(part.p, CONTAINER_ID, isxdigit) == CONTAINER_ID)
			found = (struct part){ part.p, CONTAINER_SHORT };
	}
	return found;
}

static struct part find_unit(const char *path)
{
	struct part found = { 0 }, part;

	while ((part = next_part(&path)).n)
		if (has_suffix(part, ".service") || has_suffix(part, ".scope"))
			found = part;
	return found;
}

const char *owner_name(const struct snap_owner *owner, char *buf)
{
	static const struct {
		const char *kind;
		struct part (*find)(const char *path);
	} kinds[] = {
		{ "slurm:", find_slurm },
		{ "container:", find_container },
		{ "unit:", find_unit },
	};
	char name[SNAP_PATH];
	struct text t;

	text_init(&t, buf, OWNER_NAME);
	if (!owner || (!owner->kernel[0] && !owner->cgroup[0])) {
		text_str(&t, "unknown");
		return buf;
	}
	if (owner->kernel[0]) {
		text_str(&t, "kernel:");
		text_tame(&t, owner->kernel);
		return buf;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct part part = kinds[i].find(owner->cgroup);

		if (!part.n)
			continue;
		memcpy(name, part.p, part.n);
		name[part.n] = '\0';
		text_str(&t, kinds[i].kind);
		text_tame(&t, name);
		return buf;
	}
	text_str(&t, "cgroup:");
	text_tame(&t, owner->cgroup);
	return buf;
}
