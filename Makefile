# SPDX-License-Identifier: GPL-2.0-only
#
# The front door. The module's own make file is Kbuild, which the kernel's build
# prefers over this one; everything built goes below build/.

KDIR ?= /lib/modules/$(shell uname -r)/build
PREFIX ?= /usr/local
UDEVDIR ?= /usr/lib/udev/rules.d
KVER ?= 6.1

vm := tools/testing/vm
farm := build/host
destdir := $(if $(DESTDIR),$(abspath $(DESTDIR)))
sources := $(shell find Kbuild module uapi -name '*.[ch]' -o -name Kbuild)

all: module tools ## module for the running kernel (or KDIR=) and tool; what plain make does

help: ## this list
	@echo "kverbs: RDMA Write from inside the kernel"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | \
		while IFS="	" read -r target text; do \
			printf '  make %-12s %s\n' "$$target" "$$text"; \
		done
	@echo
	@echo "KDIR=$(KDIR)"
	@echo "PREFIX=$(PREFIX)"

# The module is built in a folder of links, so that no object lands between
# the sources and none is shared with the builds for other kernels.
module:
	@test -e $(KDIR)/Makefile || { \
		echo "no kernel headers at $(KDIR):" >&2; \
		echo "install linux-headers-$$(uname -r), or give KDIR=" >&2; \
		exit 1; }
	@mkdir -p $(addprefix $(farm)/,$(sort $(dir $(sources))))
	@find $(farm) -xtype l -delete
	@$(foreach file,$(sources),ln -sf $(CURDIR)/$(file) $(farm)/$(file) &&) :
	@echo $(KDIR) >$(farm)/kdir
	$(MAKE) -C $(KDIR) M=$(CURDIR)/$(farm) modules

tools: ## the tool kverbs and its library
	$(MAKE) -C tools

# The module goes to the kernel that it was built for.
install: ## what was built, below PREFIX= and DESTDIR=
	@test -e $(farm)/kverbs.ko || { \
		echo "no module here yet: make (KDIR=...) comes first" >&2; \
		exit 1; }
	$(MAKE) -C tools install PREFIX=$(PREFIX) DESTDIR=$(destdir)
	install -d $(destdir)$(UDEVDIR)
	install -m 644 tools/udev/60-kverbs.rules $(destdir)$(UDEVDIR)
	$(MAKE) -C $$(cat $(farm)/kdir) M=$(CURDIR)/$(farm) \
		INSTALL_MOD_PATH=$(destdir) modules_install

modules: ## the module for KVER=6.1, 6.12 or 7.2, fetched headers, W=1
	$(vm)/modules $(KVER)

demo: ## a real file goes from A to B by RDMA Write; TWO=1: between two guests
	tools/testing/demo

check: ## lint, builds, all tests on all kernels; TEST='glob' picks by name
	tools/testing/check

check-fast: ## the same in user-mode Linux only, in small
	tools/testing/check --fast

bench-compare: ## kverbs beside the provider alone and ib_write_bw; KERNELS= ROUNDS=
	tools/testing/bench/compare

lint: ## read the sources over
	tools/lint/run

clean: ## forget what was built here; fetched kernels stay in the cache
	rm -rf build

.PHONY: all help module tools install modules demo check check-fast bench-compare lint clean
