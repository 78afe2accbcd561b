# SPDX-License-Identifier: BSD-3-Clause
# The commands people type; CMake and scripts/ do the work. `make help` lists them.
PREFIX       ?= /usr/local
JOBS         ?= $(shell nproc 2>/dev/null || echo 2)
FUZZ_SECONDS ?= 60
DAMAGE_RUNS  ?= 20000
export JOBS FUZZ_SECONDS DAMAGE_RUNS

BUILD := build/release
CMAKE ?= cmake

.DEFAULT_GOAL := build
.PHONY: help build demo check check-all quick coverage bench campaign install uninstall bundle deb python docs site fuzz damage format clean

help:
	@echo 'make                    build an optimised lull: $(BUILD)/lull'
	@echo 'make demo               install what is missing, build, record an example, analyse it'
	@echo 'make check              install what is missing, run what must hold, in 7 minutes'
	@echo 'make check-all          that and all else that must hold before a release, in hours'
	@echo 'make quick              a part of check: unit tests, properties, goldens'
	@echo 'make coverage           how many lines of src the tests of check execute'
	@echo 'make bench              measure speed and memory against other tools, side by side'
	@echo 'make campaign           record real programs of Debian, and of source trees (SOURCES=DIR),'
	@echo '                        compare with them alone'
	@echo 'make install PREFIX=DIR install; no root needed for a DIR of your own ($(PREFIX))'
	@echo 'make uninstall PREFIX=DIR remove what make install has put there'
	@echo 'make bundle             build a folder with all libraries, for every Linux with glibc 2.31 or newer:'
	@echo '                        build/lull-VERSION-linux-ARCH.tar.zst and .tar.gz (root, debootstrap)'
	@echo 'make deb                build packages for the Debian that this is, and their source: build/*.deb'
	@echo 'make python             build the wheel and sdist of the Python package: build/python'
	@echo 'make docs               draw all pictures of the manual anew (browser, Open MPI), and write the site'
	@echo 'make site               write the manual as a site: build/site/index.html'
	@echo 'make fuzz               run every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make damage             give lull 20,000 damaged inputs of every kind (DAMAGE_RUNS)'
	@echo 'make format             lay out all sources with clang-format'
	@echo 'make clean              remove build/'
	@echo 'JOBS=N                  processes to build and test with ($(JOBS))'

$(BUILD)/build.ninja: | CMakePresets.json
	$(CMAKE) --preset release

build: $(BUILD)/build.ninja
	@$(CMAKE) --build $(BUILD) --parallel $(JOBS)

demo:
	@scripts/install-deps build demo
	@scripts/demo

check:
	@scripts/install-deps --may-lack build demo test docs
	@scripts/check

check-all:
	@scripts/install-deps --may-lack build demo test docs
	@scripts/check all

coverage:
	@scripts/install-deps --may-lack build demo test
	@scripts/coverage

quick:
	@scripts/install-deps --may-lack build test
	@scripts/check quick

bench:
	@scripts/install-deps build test bench
	@$(MAKE) --no-print-directory build
	@bench/run.py $(BUILD)

campaign:
	@scripts/install-deps build test campaign
	@$(MAKE) --no-print-directory build
	@tests/campaign/run.py --lull $(BUILD)/lull $(if $(SOURCES),--sources '$(SOURCES)') --write docs/campaign.md

# The folder is made absolute here, because not every shell expands the tilde behind PREFIX=.
prefix = $(abspath $(patsubst ~/%,$(HOME)/%,$(PREFIX)))
install: build
	@CMAKE='$(CMAKE)' scripts/install $(BUILD) '$(prefix)'

uninstall:
	@scripts/install --remove '$(prefix)'

bundle:
	@scripts/bundle

deb:
	@scripts/install-deps build deb
	@scripts/deb

python:
	@scripts/python-package build/python
	@ls build/python/*

# Charts of models and simulations come out as they are kept; pictures of recorded runs are other ones each time: look at them.
docs:
	@scripts/install-deps build test docs
	@$(MAKE) --no-print-directory build
	@scripts/chart-pictures $(BUILD)/lull
	@scripts/report-pictures $(BUILD)/lull
	@scripts/diagnosis-pictures $(BUILD)/lull
	@$(MAKE) --no-print-directory site

site:
	@scripts/install-deps --may-lack docs
	@scripts/site build/site
	@echo build/site/index.html

fuzz:
	@scripts/install-deps build test
	@scripts/fuzz

damage:
	@scripts/install-deps build test
	@scripts/damage

format:
	@scripts/format --fix

clean:
	rm -rf build
