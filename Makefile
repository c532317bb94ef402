# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# SwiftRDMA. `make help` lists the targets. Everything is made in build/.

ROOT := $(CURDIR)
include $(ROOT)/version.mk
BUILD := $(ROOT)/build
KERNELS := $(BUILD)/vm/kernel
MAKEFLAGS += --no-print-directory

# The module is built for the test VM's kernel unless told otherwise: on a host
# without one unpacked, for the kernel that runs.
KVER ?= $(or $(shell readlink $(KERNELS)/stock 2>/dev/null),$(shell uname -r))
KDIR ?= $(firstword $(wildcard $(KERNELS)/$(KVER)/lib/modules/$(KVER)/build/ /lib/modules/$(KVER)/build/) \
	  /lib/modules/$(KVER)/build)
# Each part is made in parallel, one after the other; `make -j` overrides.
JOBS ?= $(shell nproc)
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

all: modules progs

# --- The module ----------------------------------------------------------
#
# Kbuild makes its files next to the sources, so it gets a tree of symlinks, one
# for each kernel and variant. The lock is for two makes at once.
#
# Without debug info, unless DEBUG_INFO=y: compiling takes a quarter less time, and a VM
# loads modules of 0.5 MB instead of 20.

KMAKE = $(MAKE) $(PARALLEL) -C $(KDIR) W=1 CONFIG_DEBUG_INFO=$(DEBUG_INFO) CONFIG_DEBUG_INFO_BTF_MODULES=
MODULE_SRCS = cd $(ROOT) && find kmod include -name '*.[ch]' -o -name Kbuild

define farm
	@mkdir -p $(1)/src
	@find $(1)/src -xtype l -delete
	@$(MODULE_SRCS) | while read -r f; do \
		[ "$(1)/src/$$f" -ef "$$f" ] || { mkdir -p "$(1)/src/$${f%/*}"; ln -sfn "$(ROOT)/$$f" "$(1)/src/$$f"; }; \
	done
	+@flock $(1)/.lock $(KMAKE) M=$(1)/src/kmod $(2) modules
	@find $(1)/src/kmod -name '*.ko' -exec cp -u -t $(1) {} +
endef

modules: module module-debug module-above

module:
	$(call farm,$(BUILD)/kmod/$(KVER))

module-debug:
	$(call farm,$(BUILD)/kmod/$(KVER)-debug,SWIFTRDMA_DEBUG=y)

# Without the probes of mlx5_core's commands: what a kernel without them, or who does not
# want them, builds. `make module SWIFTRDMA_DEVX=n` does the same where it is the only one.
module-nodevx:
	$(call farm,$(BUILD)/kmod/$(KVER)-nodevx,SWIFTRDMA_DEVX=n)

# The test HCA: never installed. Two variants of it would be one device twice, so
# there is one, for whichever kernel.
softhca:
	@mkdir -p $(BUILD)/softhca/$(KVER)/src
	@find $(BUILD)/softhca/$(KVER)/src -xtype l -delete
	@find selftests/softhca -maxdepth 1 \( -name '*.[ch]' -o -name Kbuild \) | while read -r f; do \
		ln -sfn "$(ROOT)/$$f" "$(BUILD)/softhca/$(KVER)/src/$${f##*/}"; \
	done
	@mkdir -p $(BUILD)/softhca/$(KVER)/src/model
	@ln -sf $(ROOT)/user/model/*.[ch] $(BUILD)/softhca/$(KVER)/src/model/
	+@flock $(BUILD)/softhca/$(KVER)/.lock $(KMAKE) M=$(BUILD)/softhca/$(KVER)/src modules
	@cp -u $(BUILD)/softhca/$(KVER)/src/softhca.ko $(BUILD)/softhca/$(KVER)/

# A module of the tests that stands in the way of ours: never installed.
module-above:
	@mkdir -p $(BUILD)/above/$(KVER)/src
	@ln -sf $(ROOT)/selftests/modules/above/above.c $(ROOT)/selftests/modules/above/Kbuild $(BUILD)/above/$(KVER)/src/
	+@flock $(BUILD)/above/$(KVER)/.lock $(KMAKE) M=$(BUILD)/above/$(KVER)/src modules
	@cp -u $(BUILD)/above/$(KVER)/src/above.ko $(BUILD)/above/$(KVER)/

# --- The programs --------------------------------------------------------

progs:
	@mkdir -p $(BUILD)
	@flock $(BUILD)/.user.lock $(MAKE) $(PARALLEL) -C user BUILD=$(BUILD)

# These link the libraries that are shipped.
bench-progs host-bench-progs: progs

bench-progs host-bench-progs unit-progs fuzz-progs clients-progs:
	@mkdir -p $(BUILD)
	@flock $(BUILD)/.selftests.lock $(MAKE) $(PARALLEL) -f selftests/progs.mk BUILD=$(BUILD) $(@:-progs=)

# --- Tests ---------------------------------------------------------------

setup:
	@scripts/setup

check: setup
	@scripts/check
check-full:
	@scripts/setup --full
	@scripts/check-full

unit: unit-progs
	@scripts/check --only unit

demo: setup
	@scripts/setup --browser
	@$(MAKE) all bench-progs
	@PAGE=$(PAGE) selftests/bench/demo-host.sh
bench: setup
	@$(MAKE) all softhca bench-progs
	@selftests/bench/run.sh

lint: setup
	@$(MAKE) all
	@scripts/lint

# --- Installation --------------------------------------------------------

DESTDIR ?=
PREFIX ?= /usr/local
export VERSION DESTDIR PREFIX LIBDIR UNITDIR ZSHDIR

# What is installed is for the kernel that runs, unless told otherwise.
INSTALL_KVER := $(if $(filter file,$(origin KVER)),,$(KVER))

install: progs
	@KVER=$(INSTALL_KVER) scripts/install install
uninstall:
	@KVER=$(INSTALL_KVER) scripts/install uninstall

deb:
	@scripts/setup --packages
	@scripts/deb

clean:
	rm -rf $(BUILD)/kmod $(BUILD)/user $(BUILD)/user-asan $(BUILD)/user-fuzz $(BUILD)/bin $(BUILD)/page \
		$(BUILD)/page-tests $(BUILD)/page-shots $(BUILD)/unit $(BUILD)/fuzz $(BUILD)/bench $(BUILD)/selftests $(BUILD)/check $(BUILD)/deb \
		$(BUILD)/vm/run $(BUILD)/vm/out
distclean:
	rm -rf $(BUILD)

help:
	@echo 'make              module (stock VM kernel, or KVER=/KDIR=) and programs, in build/'
	@echo 'make modules      the module only, plain and with test knobs: build/kmod/<KVER>[-debug]/'
	@echo '                  SWIFTRDMA_DEVX=n leaves out the kernel probes that see QPs made by DEVX'
	@echo 'make softhca      the software ConnectX of the tests: build/softhca/<KVER>/'
	@echo 'make setup        install what building and testing needs (Debian 12)'
	@echo 'make demo         the port experiment in a VM: who suffers, and what SwiftRDMA does about it'
	@echo '                  PAGE=1: the page of the exporter shows it, also afterwards, until Ctrl-C'
	@echo 'make check        the tests: units on the host, the module in a VM'
	@echo 'make check-full   every suite on five kernels, fuzzers, other RDMA programs; goes on where it was'
	@echo 'make unit         unit tests only'
	@echo 'make bench        measurements, one JSON object a line'
	@echo 'make lint         warnings, sparse, checkpatch, shellcheck, codespell, layering rules'
	@echo 'make install      DESTDIR= PREFIX=/usr/local; the module by DKMS where there is DKMS'
	@echo '                  with DESTDIR the source for DKMS; LIBDIR= UNITDIR= ZSHDIR= for other places'
	@echo 'make deb          Debian packages, in build/deb/'
	@echo 'make uninstall    remove exactly what install put'
	@echo 'make clean        remove what was built; distclean: also kernels and tools of setup'

.PHONY: all modules module module-debug module-nodevx module-above softhca progs bench-progs host-bench-progs unit-progs fuzz-progs clients-progs setup check \
	check-full unit demo bench lint deb install uninstall clean distclean help
