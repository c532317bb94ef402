// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * dlvsym(). A program may load libibverbs itself and look its functions up in the handle, as
 * NCCL does. Where such a lookup finds a function that this library replaces, it gets the
 * replacement. Every other lookup has the result that libc's dlvsym() has.
 *
 * dlsym() is not replaced: this library could not find libc's dlsym() without it.
 */
#include <dlfcn.h>
#include <string.h>

#include "lib/lib.h"

typedef void *(*lookup_fn)(void *handle, const char *name, const char *version);

/* Constant once set; threads that set it at the same time store the same value. */
static _Atomic lookup_fn libc_dlvsym;

static lookup_fn get_libc_dlvsym(void)
{
	lookup_fn f = atomic_load_explicit(&libc_dlvsym, memory_order_relaxed);

	if (likely(f))
		return f;
	f = (lookup_fn)dlsym(RTLD_NEXT, "dlvsym");
	atomic_store_explicit(&libc_dlvsym, f, memory_order_relaxed);
	return f;
}

void *lookup_next(const char *lib, const char *name, const char *version)
{
	lookup_fn find = get_libc_dlvsym();
	void *f = find ? find(RTLD_NEXT, name, version) : NULL, *handle;

	if (f || !find)
		return f;
	handle = dlopen(lib, RTLD_LAZY | RTLD_LOCAL);
	return handle ? find(handle, name, version) : NULL;
}

#define REPLACED(lib, name, version) { #name, version, lib, (void *)name }

static const struct replaced {
	const char *name, *version, *lib;
	void *replacement;
} replaced[] = {
	REPLACED("libibverbs.so.1", ibv_open_device, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_close_device, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_create_cq, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_destroy_cq, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_resize_cq, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_query_qp, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_get_async_event, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_ack_async_event, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_create_qp, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_dealloc_pd, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_modify_qp, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_destroy_qp, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_import_device, "IBVERBS_1.10"),
	REPLACED("libibverbs.so.1", ibv_reg_mr, "IBVERBS_1.1"),
	REPLACED("libibverbs.so.1", ibv_reg_mr_iova, "IBVERBS_1.7"),
	REPLACED("libibverbs.so.1", ibv_reg_mr_iova2, "IBVERBS_1.8"),
	REPLACED("libmlx5.so.1", mlx5dv_create_cq, "MLX5_1.1"),
	REPLACED("libmlx5.so.1", mlx5dv_init_obj, "MLX5_1.2"),
	REPLACED("libmlx5.so.1", mlx5dv_create_qp, "MLX5_1.3"),
	REPLACED("libmlx5.so.1", mlx5dv_modify_qp_lag_port, "MLX5_1.14"),
	REPLACED("libmlx5.so.1", mlx5dv_query_qp_lag_port, "MLX5_1.14"),
	REPLACED("libmlx5.so.1", mlx5dv_modify_qp_udp_sport, "MLX5_1.17"),
	REPLACED("libmlx5.so.1", mlx5dv_modify_qp_sched_elem, "MLX5_1.17"),
};

static const struct replaced *find_replaced(const char *name)
{
	for (size_t i = 0; i < sizeof(replaced) / sizeof(replaced[0]); i++)
		if (!strcmp(name, replaced[i].name))
			return &replaced[i];
	return NULL;
}

/* @f: what libc found. Another version of the function is not replaced. */
static noinline void *replacement_of(void *f, const struct replaced *r)
{
	int err = errno;
	void *theirs = lookup_next(r->lib, r->name, r->version);

	errno = err;
	return f == theirs ? r->replacement : f;
}

/*
 * libc finds out by its return address which library RTLD_NEXT is relative to. So that call
 * is the last one of this function, which the compiler turns into a jump (-O2).
 */
static __attribute__((used)) void *lookup_symbol(void *handle, const char *name,
						 const char *version)
{
	lookup_fn find = get_libc_dlvsym();
	const struct replaced *r = NULL;
	void *f;

	if (unlikely(!find))
		return NULL;
	if (handle != RTLD_NEXT && handle != RTLD_DEFAULT && name)
		r = find_replaced(name);
	if (likely(!r))
		return find(handle, name, version);
	f = find(handle, name, version);
	return f ? replacement_of(f, r) : NULL;
}

/*
 * The versions of libc's function: since 2.34, and before that on x86-64 and arm64. None is
 * the default one, so no program that links this library takes dlvsym() from it.
 */
#define VERSIONED(function, version)								\
	__asm__(".symver " #function ", dlvsym@GLIBC_" version);				\
	EXPORT __attribute__((alias("lookup_symbol")))							\
	void *function(void *handle, const char *name, const char *version_of)

VERSIONED(dlvsym_2_34, "2.34");
VERSIONED(dlvsym_2_17, "2.17");
VERSIONED(dlvsym_2_2_5, "2.2.5");
