// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What users and clients of swiftrdma-exporter choose: any cgroup path becomes a label whose
 * quotes end where they should, and any Accept header chooses a format.
 */
#include <stdlib.h>
#include <string.h>

#include "exporter/expo.h"
#include "exporter/owner_name.h"

/* name="value": no quote in the value but behind a backslash, no line end. */
static void check_label(const char *s)
{
	const char *p = strchr(s, '"');

	if (!p)
		abort();
	for (p++; *p != '"'; p++) {
		if (*p == '\\')
			p++;
		if (!*p || *p == '\n')
			abort();
	}
	if (p[1])
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snap_owner owner = { .pid = 1 };
	size_t n = size < SNAP_PATH ? size : SNAP_PATH - 1;
	char name[OWNER_NAME], *accept = malloc(size + 1);
	struct expo_labels l;

	if (!accept)
		return 0;
	memcpy(accept, data, size);
	accept[size] = '\0';
	if (expo_negotiate(accept) >= EXPO_FORMATS)
		abort();
	memcpy(owner.cgroup, data, n);
	owner_name(&owner, name);
	if (!name[0] || strlen(name) >= OWNER_NAME)
		abort();
	labels_init(&l);
	labels_add(&l, "owner", name);
	check_label(l.text);
	labels_init(&l);
	labels_add(&l, "raw", accept);
	if (l.len)
		check_label(l.text);
	free(accept);
	return 0;
}
