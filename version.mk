# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# The one version of all parts is in the module's source, which DKMS builds from
# without this Makefile.

VERSION := $(shell sed -n 's/^MODULE_VERSION("\(.*\)");$$/\1/p' $(ROOT)/kmod/main.c)
