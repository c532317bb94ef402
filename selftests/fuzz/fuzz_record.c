// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Any bytes as a recording, with checksums that are made right so that what is
 * within is reached: it ends somewhere, and what was read can be looked at.
 */
#include <stdlib.h>
#include <string.h>

#include "core/signal.h"
#include "sim/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t crc32(const unsigned char *p, size_t n)
{
	uint32_t crc = ~0u;
	int i;

	while (n--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return ~crc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 0, n = 12, len;
	struct record r;
	uint8_t *file;
	uint32_t crc;
	FILE *f;

	if (size > 16384)
		return 0;
	file = malloc(12 + 9 * (size + 1));
	if (!file)
		return 0;
	memcpy(file, "SRDMArec\2\0\0\0", 12);
	/* Each record's length is its first byte. */
	while (at < size) {
		len = data[at++];
		if (len > size - at)
			len = size - at;
		crc = crc32(data + at, len);
		file[n] = (uint8_t)len;
		memset(file + n + 1, 0, 3);
		memcpy(file + n + 4, &crc, 4);
		memcpy(file + n + 8, data + at, len);
		at += len;
		n += 8 + len;
	}
	f = fmemopen(file, n, "r");
	if (f && !record_open(&r, f)) {
		while (record_next(&r) == 1) {
			const struct signal_opts opts = { 0 };
			struct signals s;

			signals_init(&s);
			if (!signals_reserve(&s, &r.last))
				signals_update(&s, NULL, &r.last, &opts);
			signals_free(&s);
		}
		record_end(&r);
	}
	if (f)
		fclose(f);
	free(file);
	return 0;
}
