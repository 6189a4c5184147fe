# SPDX-License-Identifier: GPL-2.0
#
# Packet pair for Linux. "make help" lists what can be made.

SHELL := /bin/bash
.DEFAULT_GOAL := all

# For the modules of the running kernel; the lab has kernels of its own.
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
DESTDIR ?=
MODDIR ?= /lib/modules/$(KVER)/updates/pktpair
TC_LIB_DIR ?= /usr/lib/$(shell $(CC) -print-multiarch 2>/dev/null)/tc
MANDIR ?= /usr/share/man
# transfers: a revision, or a folder with modules, to compare with
BASE ?=
BESIDE = $(if $(BASE),--base '$(BASE)')

BUILT_FOR = build/$(KVER)
PLUGIN := build/tc/q_fq_rr.so
PLUGIN_SOURCES := $(wildcard tc-plugin/*.c)
PLUGIN_HEADERS := $(wildcard tc-plugin/*.h include/uapi/linux/*.h)
MAN_PAGE := tc-plugin/tc-fq_rr.8

.PHONY: help all bootstrap check-bootstrap modules plugin lab-modules demo \
	transfers transfers-quick real-networks router vptfrc overload reproduce reproduce-quick cost cost-native cost-ack tdc torture torture-short hostile hostile-short \
	mutants simulate test check unit lint install uninstall clean distclean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18
	@echo
	@echo "Variables: KVER or KDIR (kernel to build and install for), DESTDIR,"
	@echo "MODDIR, TC_LIB_DIR, MANDIR (where things are installed), BASE (of make"
	@echo "transfers: a revision or folder whose modules are measured beside), FULL=1"
	@echo "(of make vptfrc, overload and reproduce: as much as the paper has)"

all: modules plugin ## modules for the running kernel, and the tc plugin

bootstrap: ## install and unpack what demo and test need, touching no kernel
	@scripts/bootstrap

check-bootstrap: ## only say what bootstrap would do
	@scripts/bootstrap --check

demo: lab-modules ## the main job: packet pair beside its peers, in a virtual machine
	@scripts/lab demo

transfers: lab-modules ## the nine file transfer benchmarks, for pktpair and its peers
	@scripts/lab transfers $(BESIDE)

transfers-quick: lab-modules ## the same with one seed, hosts with open buffers
	@scripts/lab transfers --quick $(BESIDE)

real-networks: lab-modules ## packet pair on real networks: bunched ACKs, new routes, FIFOs, policers
	@scripts/lab real-networks

router: lab-modules ## fq_rr as a router's only queue: everybody's flows over it, fq_codel and CAKE
	@scripts/lab router

overload: lab-modules ## overload as published in 1995: packet pair beside sources without control
	@scripts/lab overload $(if $(FULL),--full)

reproduce: lab-modules ## four papers re-run: every check of theirs in one report
	@scripts/lab reproduce $(if $(FULL),--full)

reproduce-quick: lab-modules ## the same with one seed and a part of each curve
	@scripts/lab reproduce --quick

vptfrc: lab-modules ## the paper on packet sizes: small packets beside full ones, on links that lose by chance
	@scripts/lab vptfrc $(if $(FULL),--seeds 6)

# the second has 2 for its status where it cannot be, and has said why
cost: lab-modules ## instructions and nanoseconds per packet, fq_rr beside its peers
	@status=0; scripts/lab cost || status=$$?; \
		scripts/lab cost-native || [[ $$? -eq 2 ]] || status=1; exit $$status

cost-native: bootstrap plugin ## nanoseconds alone, in User Mode Linux
	@scripts/lab cost-native

cost-ack: lab-modules ## instructions per acknowledgment and per byte, pktpair's and bbr's
	@scripts/lab cost-ack

tdc: lab-modules ## the kernel's own tests of tc, on our cases; the last line counts
	@scripts/lab tdc

torture: bootstrap plugin ## the modules in kernels that watch themselves
	@scripts/lab torture

torture-short: bootstrap plugin ## a minute of guest time of that, on one CPU, and a part of it again
	@scripts/lab torture --short

hostile: lab-modules ## a tenant and a peer who mean harm, in a kernel that watches itself
	@scripts/lab hostile

hostile-short: lab-modules ## some minutes of that
	@scripts/lab hostile --short

test: lab-modules ## all tests; the last line counts them
	@scripts/bootstrap --browser --cluster --tc
	@scripts/test

check: bootstrap ## within a minute: unit tests without fuzzers, quick checkers, tests that need no guest
	@scripts/bootstrap --cluster
	@scripts/test --quick

unit: ## unit tests and fuzzers of the formula headers, in 64 and 32 bits
	@scripts/unit
	@scripts/unit-32bit

mutants: bootstrap ## change formula headers line by line: how much of it tests notice
	@scripts/lab mutants

simulate: bootstrap ## the law over whole grids of simulated networks, beside goals
	@scripts/simulate

lint: ## compilers, sparse, checkpatch, kernel-doc, ruff, mypy, shellcheck, sphinx
	@scripts/lint

modules: ## kernel modules for the running kernel, or KVER/KDIR
	@[[ -f $(KDIR)/Makefile ]] || { \
		echo "make: no kernel headers in $(KDIR)." >&2; \
		echo "Install them (Debian: apt install linux-headers-$(KVER))," >&2; \
		echo "or name them: make modules KDIR=/path/to/headers" >&2; \
		exit 1; }
	@scripts/build-modules --kdir $(KDIR)

plugin: $(PLUGIN) ## the tc plugin, which teaches tc about fq_rr

# moved to its place when it is whole: a guest may be about to read it
$(PLUGIN): $(PLUGIN_SOURCES) $(PLUGIN_HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -shared -fPIC -O2 -g -ffile-prefix-map=$(CURDIR)=. -Wall -Wextra $(CFLAGS) \
		-Iinclude -Iinclude/uapi -Itc-plugin -o $@.$$$$ $(PLUGIN_SOURCES) && mv $@.$$$$ $@

# for the kernel that the lab boots
lab-modules: bootstrap plugin ## what the lab needs: packages, a kernel, the modules for it, the tc plugin
	@scripts/build-modules --quiet

install: modules plugin ## install modules, tc plugin and man page
	install -d $(DESTDIR)$(MODDIR) $(DESTDIR)$(TC_LIB_DIR) $(DESTDIR)$(MANDIR)/man8
	install -m 644 $(BUILT_FOR)/kmod/*.ko $(BUILT_FOR)/qdisc/*.ko $(DESTDIR)$(MODDIR)
	install -m 644 $(PLUGIN) $(DESTDIR)$(TC_LIB_DIR)
	install -m 644 $(MAN_PAGE) $(DESTDIR)$(MANDIR)/man8
	$(if $(DESTDIR),@echo "DESTDIR is set: run depmod $(KVER) where it is installed",depmod $(KVER))

uninstall: ## remove what install installed
	rm -rf $(DESTDIR)$(MODDIR)
	rm -f $(DESTDIR)$(TC_LIB_DIR)/$(notdir $(PLUGIN))
	rm -f $(DESTDIR)$(MANDIR)/man8/$(notdir $(MAN_PAGE))
	$(if $(DESTDIR),,depmod $(KVER))

clean: ## remove what was built and measured
	rm -rf build out

distclean: clean ## also the caches: kernels, packages, Python environment
	@du -sch .cache .venv 2>/dev/null | sed -n 's/\ttotal$$/ of cache to be freed/p'
	rm -rf .cache .venv
