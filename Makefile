# The project's commands. `make` alone lists them; the work is done by the scripts in Scripts/.

PREFIX ?= /usr/local
export PREFIX DESTDIR JSON ONLY PLOTS ROUNDS SEED

.PHONY: help demo examples test test-web test-deb stress soak survival fuzz bench allocations build docs format check install sizes deb release clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## a background download that survives its app and its daemon
	@Scripts/demo

examples: ## every example against a local server; ONLY="DataTask Uploads"
	@Scripts/examples $(ONLY)

test: ## install what is missing, check, run every test
	@Scripts/test

test-web: ## the web page of the command, in Chromium
	@Scripts/test-web

stress: ## 20,000 tasks from 8 threads at random, under the thread sanitizer
	@Scripts/stress

soak: ## the service for 20 minutes, while processes are killed and networks, disks and the queue go; SECONDS=60
	@Scripts/soak $(or $(SECONDS),1200) $(TASKS) $(SEED)

survival: ## one download through kills, logout, a cut network, a lost queue and a reboot
	@Scripts/survival

fuzz: ## every parser under libFuzzer; SECONDS=60 for each, TARGETS="heads dates", SEED=1
	@Scripts/fuzz $(or $(SECONDS),60) $(TARGETS)

bench: ## ours beside its peers; JSON=out.json, ONLY=small-32, PLOTS=dir, ROUNDS=3
	@Scripts/bench

allocations: ## what ten paths take from the heap; fails where one takes more than is written down
	@Scripts/check-allocations

build: ## build everything, debug
	@Scripts/bootstrap build
	swift build

docs: ## the documentation as a website (DocC), without a warning
	@Scripts/docs

format: ## lay out every Swift file as .swift-format says
	@Scripts/format

check: ## coverage table, lint, file lengths, imports
	@Scripts/check

install: ## release build to PREFIX (default /usr/local), with units and completions
	@Scripts/install

sizes: ## how large small programs and ours get; TIMES=1 with the time of first builds
	@Scripts/sizes $(if $(TIMES),--times)

deb: ## the .deb and the source archive of this commit, in .build/release-*
	@Scripts/release --dry-run

test-deb: ## install the .deb of `make deb` in a new system and use it; as root
	@Scripts/test-deb "$$(ls -t .build/release-*/*.deb | head -n 1)"

release: ## changelog, tag, archives; VERSION=1.0.0, ALLOW=file with changes that may break code
	@Scripts/release $(VERSION) $(if $(ALLOW),--allow-breaking $(ALLOW))

clean: ## remove what was built
	swift package clean
	rm -rf Benchmarks/.build Benchmarks/Peers/*/.build
