// SPDX-License-Identifier: GPL-2.0
/*
 * Indirect memory keys: a list of pieces of other keys' memory, once or repeated. Byte
 * n of the key's range is byte n of the pieces in a row.
 *
 * A list comes with CREATE_MKEY or a UMR, as octwords. In the list that repeats the
 * first octword says so, and the others have a stride each.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "softhca.h"

#define SH_REPEAT	0x400	/* in place of the first octword's key */
#define SH_KLM_2G	BIT_ULL(31)	/* a byte count of 0 */

struct sh_repeat {
	__be32 bytes;
	__be32 op;
	__be32 count;
	__be16 rsvd;
	__be16 n;
};

struct sh_repeat_piece {
	__be16 stride;
	__be16 bytes;
	__be32 key;
	__be64 addr;
};

static u32 sh_load_plain(struct sh_klm *to, const struct mlx5_klm *from, u32 n)
{
	u64 end = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		end += be32_to_cpu(from[i].bcount) ?: SH_KLM_2G;
		to[i] = (struct sh_klm){
			.addr = be64_to_cpu(from[i].va), .key = be32_to_cpu(from[i].key),
			.end = end,
		};
	}
	return n;
}

/* How many pieces there are: 0 if the list is wrong. */
static u32 sh_load_repeated(struct sh_klm *to, const struct sh_repeat *head, u32 octwords)
{
	const struct sh_repeat_piece *from = (const void *)(head + 1);
	u32 n = be16_to_cpu(head->n), i;
	u64 end = 0;

	if (n >= octwords)
		return 0;
	for (i = 0; i < n; i++) {
		if (!from[i].bytes)
			return 0;
		end += be16_to_cpu(from[i].bytes);
		to[i] = (struct sh_klm){
			.addr = be64_to_cpu(from[i].addr), .key = be32_to_cpu(from[i].key),
			.end = end, .stride = be16_to_cpu(from[i].stride),
		};
	}
	return end == be32_to_cpu(head->bytes) ? n : 0;
}

/* Replaces the list of an indirect key. */
int sh_klm_load(struct sh_mr *mr, const void *list, u32 octwords)
{
	const struct sh_repeat *head = list;
	struct sh_klm *klm;
	u32 n, repeat = 1;

	if (octwords > mr->klm_room)
		return -EINVAL;
	klm = kvcalloc(octwords, sizeof(*klm), GFP_KERNEL);
	if (!klm)
		return -ENOMEM;
	if (be32_to_cpu(head->op) == SH_REPEAT) {
		repeat = be32_to_cpu(head->count);
		n = sh_load_repeated(klm, head, octwords);
	} else {
		n = sh_load_plain(klm, list, octwords);
	}
	if (!n) {
		kvfree(klm);
		return -EINVAL;
	}
	kvfree(mr->klm);
	mr->klm = klm;
	mr->nklm = n;
	mr->repeat = repeat;
	return 0;
}

/* The piece that byte @pos of the key is in, from there to its end. */
bool sh_klm_at(const struct sh_mr *mr, u64 pos, struct sh_piece *piece)
{
	u32 low = 0, high = mr->nklm;
	u64 round, start;

	if (!mr->nklm)
		return false;
	round = div64_u64_rem(pos, mr->klm[mr->nklm - 1].end, &pos);
	if (round >= mr->repeat)
		return false;
	while (low < high) {
		u32 mid = (low + high) / 2;

		if (pos < mr->klm[mid].end)
			high = mid;
		else
			low = mid + 1;
	}
	start = low ? mr->klm[low - 1].end : 0;
	piece->key = mr->klm[low].key;
	piece->addr = mr->klm[low].addr + round * mr->klm[low].stride + (pos - start);
	piece->len = mr->klm[low].end - pos;
	return true;
}
