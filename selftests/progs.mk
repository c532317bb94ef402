# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# Test programs that are built on the host, by `make -f selftests/progs.mk`:
#
#   unit/test_*.c   cmocka programs, against libraries built with ASan and UBSan
#   fuzz/fuzz_*.c   libFuzzer programs, where clang has its runtime
#   bench/*.c       one program each; lib/*.c is linked into all of these
#   */NAME/main.c   the same, of all files in that directory
#   bench/host/*.c  what needs no kernel, against the libraries as they are shipped, which
#                   `make progs` has made
#   progs/*.c       the same, for the tests of the module
#   clients/*.c     MPI programs, for those that run other people's programs

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..)
BUILD ?= $(ROOT)/build
include $(ROOT)/user/flags.mk

lib_srcs := $(wildcard $(ROOT)/user/base/*.c $(ROOT)/user/core/*.c $(ROOT)/user/policy/*.c $(ROOT)/user/io/*.c \
		       $(ROOT)/user/model/*.c $(ROOT)/user/sim/*.c $(ROOT)/user/explain/*.c)
# The library in the process has a version of its own to tell.
runtime_srcs := $(wildcard $(ROOT)/user/lib/*.c)
# Of the command all but what needs a terminal.
cli_srcs := $(filter-out %/main.c %/top_screen.c,$(wildcard $(ROOT)/user/cli/*.c))
exporter_srcs := $(filter-out %/main.c,$(wildcard $(ROOT)/user/exporter/*.c))
# Of the probe what knows no verbs.
probe_srcs := $(addprefix $(ROOT)/user/probe/,fit.c print.c verdict.c)
asan_objs := $(patsubst $(ROOT)/user/%.c,$(BUILD)/user-asan/%.o,$(lib_srcs) $(cli_srcs) $(runtime_srcs) \
	       $(exporter_srcs) $(probe_srcs))
fuzz_objs := $(patsubst $(ROOT)/user/%.c,$(BUILD)/user-fuzz/%.o,$(lib_srcs) $(runtime_srcs) \
	       $(exporter_srcs))
common_objs := $(patsubst $(ROOT)/selftests/lib/%.c,$(BUILD)/selftests/lib/%.o,$(wildcard $(ROOT)/selftests/lib/*.c))

unit := $(patsubst $(ROOT)/selftests/unit/%.c,$(BUILD)/unit/%,$(wildcard $(ROOT)/selftests/unit/test_*.c))
fuzz := $(patsubst $(ROOT)/selftests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard $(ROOT)/selftests/fuzz/fuzz_*.c))
bench := $(patsubst $(ROOT)/selftests/bench/%.c,$(BUILD)/bench/%,$(wildcard $(ROOT)/selftests/bench/*.c))
multi := $(patsubst $(ROOT)/selftests/%/main.c,%,$(wildcard $(addprefix $(ROOT)/selftests/,bench/*/main.c progs/*/main.c)))

host_bench := $(patsubst $(ROOT)/selftests/bench/host/%.c,$(BUILD)/bench/%,$(wildcard $(ROOT)/selftests/bench/host/*.c))
shipped := $(addprefix $(BUILD)/user/lib,explain.a sim.a model.a policy.a io.a core.a base.a) $(BUILD)/bench/runtime.a \
	   $(BUILD)/bench/exporter.a $(BUILD)/bench/agent.a $(BUILD)/bench/cli.a

progs := $(patsubst $(ROOT)/selftests/progs/%.c,$(BUILD)/progs/%,$(wildcard $(ROOT)/selftests/progs/*.c))

clients := $(patsubst $(ROOT)/selftests/clients/%.c,$(BUILD)/clients/%,$(wildcard $(ROOT)/selftests/clients/*.c))

comma := ,
CLANG ?= clang
# The alternative that benchmarks compare with, where it is installed.
LUAJIT := $(shell pkg-config --exists luajit && echo -DHAVE_LUAJIT $$(pkg-config --cflags luajit))
LUAJIT_LIBS := $(shell pkg-config --libs luajit 2>/dev/null)
BENCH_LIBS := -libverbs -lmlx5 -lrdmacm $(PKG_LIBS) -lpthread
# Compiled and linked in one step, where gcc would name the dependencies of an
# object that never is.
DEPS = -MF $@.d -MT $@
INCLUDES := -I$(ROOT)/selftests/lib -I$(ROOT)/selftests

all: unit bench
unit: $(unit)
bench: $(bench) $(host_bench) $(progs) $(multi:%=$(BUILD)/%)
fuzz: $(fuzz)
clients: $(clients)

host-bench: $(host_bench)

# In archives, so that a test takes from the libraries only what it names.
$(BUILD)/user-asan/all.a: $(asan_objs)
$(BUILD)/user-fuzz/all.a: $(fuzz_objs)
# What is in them is said here.
$(BUILD)/user-asan/all.a $(BUILD)/user-fuzz/all.a: $(ROOT)/selftests/progs.mk
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $(filter %.o,$^)

$(BUILD)/clients/%: $(ROOT)/selftests/clients/%.c
	@mkdir -p $(@D)
	@echo "  MPI     $*"
	@mpicc $(ALL_CFLAGS) $(DEPS) $< -o $@

$(BUILD)/unit/%: $(ROOT)/selftests/unit/%.c $(BUILD)/user-asan/all.a
	@mkdir -p $(@D)
	@echo "  UNIT    $*"
	@$(CC) $(ALL_CFLAGS) $(SANITIZE) $(DEPS) $(INCLUDES) -DTOP='"$(ROOT)"' $< $(BUILD)/user-asan/all.a $(PKG_LIBS) $(EXPORTER_LIBS) -lcmocka -o $@

$(BUILD)/fuzz/%: $(ROOT)/selftests/fuzz/%.c $(BUILD)/user-fuzz/all.a
	@mkdir -p $(@D)
	@echo "  FUZZ    $*"
	@$(CLANG) $(ALL_CFLAGS) $(FUZZ) -fsanitize=fuzzer $(DEPS) $(INCLUDES) $< $(BUILD)/user-fuzz/all.a $(PKG_LIBS) -o $@

$(BUILD)/bench/%: $(ROOT)/selftests/bench/%.c $(common_objs)
	@mkdir -p $(@D)
	@echo "  BENCH   $*"
	@$(CC) $(ALL_CFLAGS) $(DEPS) $(INCLUDES) $< $(common_objs) $(BENCH_LIBS) -o $@

$(host_bench): $(BUILD)/bench/%: $(ROOT)/selftests/bench/host/%.c $(shipped)
	@mkdir -p $(@D)
	@echo "  BENCH   $*"
	@$(CC) $(ALL_CFLAGS) $(LUAJIT) $(DEPS) $(INCLUDES) -DTOP='"$(ROOT)"' $< $(WRAP) -Wl,--start-group $(shipped) -Wl,--end-group $(PKG_LIBS) $(EXPORTER_LIBS) $(LUAJIT_LIBS) -o $@
# What this program measures, and the socket that it makes up.
$(BUILD)/bench/agent_tick: WRAP := $(addprefix -Wl$(comma)--wrap=,srdma_exchange srdma_call io_snapshot io_act \
	signals_reserve signals_update policy_eval)
# The reading that this program makes up.
$(BUILD)/bench/top_10k: WRAP := -Wl,--wrap=io_snapshot

$(BUILD)/progs/%: $(ROOT)/selftests/progs/%.c $(common_objs)
	@mkdir -p $(@D)
	@echo "  PROG    $*"
	@$(CC) $(ALL_CFLAGS) $(DEPS) $(INCLUDES) $< $(common_objs) $(BENCH_LIBS) -o $@

# It names its job itself. The library comes before libibverbs, or it would not see the program.
$(BUILD)/progs/linked: BENCH_LIBS := -L$(BUILD)/lib -lswiftrdma $(BENCH_LIBS)
$(BUILD)/progs/linked: $(BUILD)/lib/libswiftrdma.so

define multi_rule
$(BUILD)/$(1): $(patsubst $(ROOT)/%.c,$(BUILD)/%.o,$(wildcard $(ROOT)/selftests/$(1)/*.c)) $(common_objs)
	@mkdir -p $$(@D)
	@echo "  PROG    $(notdir $(1))"
	@$$(CC) $$(ALL_CFLAGS) $$^ $$(BENCH_LIBS) -o $$@
endef
$(foreach name,$(multi),$(eval $(call multi_rule,$(name))))

# What swiftrdma-agent is made of, but for main().
$(BUILD)/bench/agent.a: $(patsubst $(ROOT)/user/%.c,$(BUILD)/user/%.o,$(filter-out %/main.c,$(wildcard $(ROOT)/user/agent/*.c)))
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^

# What libswiftrdma.so.1 is made of.
$(BUILD)/bench/runtime.a: $(patsubst $(ROOT)/user/%.c,$(BUILD)/user/%.o,$(runtime_srcs))
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^
# The command without its main() and what needs a terminal.
$(BUILD)/bench/cli.a: $(patsubst $(ROOT)/user/%.c,$(BUILD)/user/%.o,$(cli_srcs))
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^
# The exporter without its main().
$(BUILD)/bench/exporter.a: $(patsubst $(ROOT)/user/%.c,$(BUILD)/user/%.o,$(exporter_srcs))
	@mkdir -p $(@D) && rm -f $@ && ar rcs $@ $^
$(BUILD)/user-asan/lib/api.o $(BUILD)/user-fuzz/lib/api.o: ALL_CFLAGS += -DVERSION='"test"'

$(BUILD)/user-asan/%.o: $(ROOT)/user/%.c $(ROOT)/user/flags.mk
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(SANITIZE) -c $< -o $@

$(BUILD)/user-fuzz/%.o: $(ROOT)/user/%.c $(ROOT)/user/flags.mk
	@mkdir -p $(@D)
	@$(CLANG) $(ALL_CFLAGS) $(FUZZ) -c $< -o $@

$(BUILD)/selftests/%.o: $(ROOT)/selftests/%.c
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) $(INCLUDES) -c $< -o $@

-include $(wildcard $(BUILD)/user-asan/*/*.d $(BUILD)/user-fuzz/*/*.d $(BUILD)/unit/*.d $(BUILD)/fuzz/*.d $(BUILD)/bench/*.d $(BUILD)/progs/*.d $(BUILD)/clients/*.d \
	$(BUILD)/selftests/*/*.d $(BUILD)/selftests/*/*/*.d)
.PHONY: all unit bench host-bench fuzz
.SECONDARY:
.DELETE_ON_ERROR:
