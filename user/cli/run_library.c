// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * swiftrdma run: finds and preloads libswiftrdma. --check says what the library would see of
 * a program, by the functions that the program and its libraries import.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/run.h"

#define LIBRARY "libswiftrdma.so.1"

bool run_lib_find(const char *exe, char *path, size_t cap)
{
	/* Where distributions have libraries, below the prefix. */
	static const char *const dirs[] = { "lib", "lib64", "lib/" MULTIARCH };
	char self[SNAP_PATH];
	ssize_t n = readlink(exe, self, sizeof(self) - 1);
	const char *prefix;

	if (n <= 0)
		return false;
	self[n] = '\0';
	prefix = dirname(dirname(self));
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		int len = snprintf(path, cap, "%s/%s/" LIBRARY, prefix, dirs[i]);

		if (len > 0 && (size_t)len < cap && !access(path, R_OK))
			return true;
	}
	return false;
}

/* The library is there already if one run starts another. */
bool run_lib_preload(const char *path)
{
	const char *was = getenv("LD_PRELOAD");
	char *value;
	bool ok;

	if (!was || !*was)
		return !setenv("LD_PRELOAD", path, 1);
	if (strstr(was, path))
		return true;
	if (asprintf(&value, "%s:%s", path, was) < 0)
		return false;
	ok = !setenv("LD_PRELOAD", value, 1);
	free(value);
	return ok;
}

/* --- --check ------------------------------------------------------------------------ */

struct image {
	const char *at;
	size_t size;
};

static bool open_image(struct image *im, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	im->at = at;
	im->size = (size_t)st.st_size;
	return true;
}

static void close_image(struct image *im)
{
	munmap((void *)im->at, im->size);
}

/* @n elements of @size bytes at @off. NULL: they are not in the file, or not aligned. */
static const void *image_part(const struct image *im, uint64_t off, uint64_t n, uint64_t size)
{
	if (off > im->size || n > (im->size - off) / size || (size > 1 && off % 8))
		return NULL;
	return im->at + off;
}

static const Elf64_Ehdr *elf_header(const struct image *im)
{
	const Elf64_Ehdr *h = image_part(im, 0, 1, sizeof(*h));

	return h && !memcmp(h->e_ident, ELFMAG, SELFMAG) &&
	       h->e_ident[EI_CLASS] == ELFCLASS64 ? h : NULL;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static void note_import(struct run_seen *seen, const char *name)
{
	if (!strcmp(name, "ibv_open_device") || !strcmp(name, "ibv_create_qp"))
		seen->verbs = true;
	else if (!strcmp(name, "ibv_qp_to_qp_ex"))
		seen->wr_api = true;
	else if (has_prefix(name, "rdma_create_") || has_prefix(name, "rdma_resolve_"))
		seen->cm = true;
	else if (!strcmp(name, "mlx5dv_init_obj") || has_prefix(name, "mlx5dv_devx_"))
		seen->direct = true;
	else if (!strcmp(name, "dlopen"))
		seen->loads = true;
}

/* Notes each undefined symbol of the file. */
static void note_imports(struct run_seen *seen, const struct image *im, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *sh = image_part(im, h->e_shoff, h->e_shnum, sizeof(*sh));

	for (uint32_t i = 0; sh && i < h->e_shnum; i++) {
		const Elf64_Shdr *str = sh[i].sh_link < h->e_shnum ? &sh[sh[i].sh_link] : NULL;
		uint64_t n = sh[i].sh_size / sizeof(Elf64_Sym);
		const Elf64_Sym *sym = image_part(im, sh[i].sh_offset, n, sizeof(*sym));
		const char *names = str ? image_part(im, str->sh_offset, str->sh_size, 1) : NULL;

		if (sh[i].sh_type != SHT_DYNSYM || !sym || !names || !str->sh_size ||
		    names[str->sh_size - 1])
			continue;
		for (uint64_t k = 0; k < n; k++)
			if (sym[k].st_shndx == SHN_UNDEF && sym[k].st_name < str->sh_size)
				note_import(seen, names + sym[k].st_name);
	}
}

/* RDMA libraries import each other's functions, so they are skipped. */
static bool is_rdma_library(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return has_prefix(base, "libibverbs") || has_prefix(base, "libmlx5") ||
	       has_prefix(base, "librdmacm") || has_prefix(base, "libswiftrdma");
}

static void examine_library(struct run_seen *seen, const char *path)
{
	struct image im;
	const Elf64_Ehdr *h;

	if (is_rdma_library(path) || !open_image(&im, path))
		return;
	h = elf_header(&im);
	if (h)
		note_imports(seen, &im, h);
	close_image(&im);
}

/* Asks the loader which libraries it would load, as ldd(1) does. */
static void examine_libraries(struct run_seen *seen, const char *loader, const char *path)
{
	char line[SNAP_PATH + 64], file[SNAP_PATH];
	int fd[2];
	pid_t pid;
	FILE *f;

	if (pipe2(fd, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid) {
		dup2(fd[1], 1);
		execl(loader, loader, "--list", path, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	f = fdopen(fd[0], "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " %*s => %255s (", file) == 1 && *file == '/')
			examine_library(seen, file);
	}
	if (f)
		fclose(f);
	else
		close(fd[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static const char *find_loader(const struct image *im, const Elf64_Ehdr *h)
{
	const Elf64_Phdr *ph = image_part(im, h->e_phoff, h->e_phnum, sizeof(*ph));

	for (uint32_t i = 0; ph && i < h->e_phnum; i++) {
		const char *s = image_part(im, ph[i].p_offset, ph[i].p_filesz, 1);

		if (ph[i].p_type == PT_INTERP && s && ph[i].p_filesz && !s[ph[i].p_filesz - 1])
			return s;
	}
	return NULL;
}

/* Does the file give capabilities to the user who starts it? The loader preloads nothing then. */
static bool gains_capabilities(const char *path)
{
	return getuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* Is @loader the loader of this program? A file may name any other program as its loader. */
static bool is_own_loader(const char *loader)
{
	const Elf64_Ehdr *h;
	struct stat own, st;
	const char *name;
	struct image im;
	bool same;

	if (!open_image(&im, "/proc/self/exe"))
		return false;
	h = elf_header(&im);
	name = h ? find_loader(&im, h) : NULL;
	same = name && !stat(name, &own) && !stat(loader, &st) && own.st_dev == st.st_dev &&
	       own.st_ino == st.st_ino;
	close_image(&im);
	return same;
}

bool run_check(struct run_seen *seen, const char *path)
{
	const Elf64_Ehdr *h;
	const char *loader;
	struct image im;
	struct stat st;

	memset(seen, 0, sizeof(*seen));
	if (stat(path, &st) || !open_image(&im, path))
		return false;
	seen->privileged = st.st_mode & (S_ISUID | S_ISGID) || gains_capabilities(path);
	h = elf_header(&im);
	seen->elf = h;
	loader = h ? find_loader(&im, h) : NULL;
	if (loader) {
		seen->dynamic = true;
		note_imports(seen, &im, h);
		seen->other_loader = !is_own_loader(loader);
		if (!seen->other_loader)
			examine_libraries(seen, loader, path);
	}
	close_image(&im);
	return true;
}

#define STILL_COUNTED \
	"the module still counts its QPs, their owner and state, and on mlx5 their doorbells"

void run_check_print(const struct run_seen *seen, const char *path, FILE *f)
{
	if (!seen->elf) {
		fprintf(f, "%s: not a 64-bit ELF file, such as a script; check the programs that it starts, which inherit the library\n",
			path);
		return;
	}
	if (!seen->dynamic || seen->privileged) {
		fprintf(f, "%s: not seen: %s, so nothing can be preloaded; " STILL_COUNTED "\n", path,
			!seen->dynamic ? "statically linked" :
			"set-user-ID, set-group-ID, or with file capabilities");
		return;
	}
	if (seen->verbs)
		fprintf(f, "%s: plain verbs: seen\n", path);
	if (seen->wr_api)
		fprintf(f, "%s: ibv_wr_*: seen\n", path);
	if (seen->cm)
		fprintf(f, "%s: rdma_cm: seen\n", path);
	if (seen->direct)
		fprintf(f, "%s: may write requests itself (mlx5dv): these are not seen; " STILL_COUNTED "\n",
			path);
	if (seen->other_loader)
		fprintf(f, "%s: its loader is not that of swiftrdma, which runs no other: what its libraries import is not known\n",
			path);
	if (seen->loads)
		fprintf(f, "%s: loads libraries while it runs: their calls of verbs are seen, unless they look functions up by handle (dlsym) or write requests themselves\n",
			path);
	else if (!seen->verbs && !seen->cm && !seen->direct && !seen->other_loader)
		fprintf(f, "%s: no RDMA\n", path);
}
