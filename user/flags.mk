# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
# Flags that the programs, their tests and their fuzzers have in common.

CC ?= gcc
PKGS := libnl-genl-3.0 libnl-3.0 libnl-route-3.0 yaml-0.1 json-c libsystemd libcap zlib

# A library's headers are the library's business: no warnings from them.
PKG_CFLAGS := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags $(PKGS)))
PKG_LIBS := $(shell pkg-config --libs $(PKGS)) -lm
# What only the exporter uses: HTTP, TLS, passwords.
EXPORTER_LIBS := $(shell pkg-config --libs libmicrohttpd gnutls libxcrypt) -lpthread

# The directory of an architecture's libraries in lib, on distributions that have one.
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE -MMD -MP \
	      -I$(ROOT)/include/uapi -I$(ROOT)/user $(PKG_CFLAGS) \
	      -DMULTIARCH='"$(MULTIARCH)"' $(CPPFLAGS) $(CFLAGS)
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
FUZZ := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -O1
# The library in a process: two counters that are added to at once are not worth a vector.
RUNTIME_CFLAGS := -fPIC -fvisibility=hidden -fno-tree-vectorize -fno-tree-slp-vectorize
