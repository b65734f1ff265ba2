# What a person types. Everything begins with the distribution's own Python; see docs/install/one-machine.md.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help up down status reset restore support console audit ansible test test-all test-hosts test-repairs test-servers test-kube test-kube-ci bench bench-backups bench-hostile crash sure bundle lock python

CLEAN := env -u PYTHONPATH -u PYTHONHOME -u VIRTUAL_ENV
BOOTSTRAP := $(CLEAN) /usr/bin/python3 -B -m worker.bootstrap

# PORT=8471 HOST=192.168.1.20 YES=1 KEEP=1 TRAINING=no, in front of make or behind it.
# HOST counts only when it is typed behind make: some shells carry the machine's name in that variable.
ARGUMENTS = $(if $(PORT),--port $(PORT)) $(if $(filter command line,$(origin HOST)),--host $(HOST)) \
  $(if $(filter 1 yes,$(YES)),--yes) $(if $(filter 1 yes,$(KEEP)),--keep) $(if $(filter 0 no,$(TRAINING)),--no-first-training)

# WRITE=1 FIRST=1 for make bench-hostile
# QUICK=1 ANYWAY=1 ONLY=P1,P3 DATABASE=sqlite for make bench; AGAIN=1 with ONLY keeps the other measures of the run before;
# TAIL_SECONDS=600 follows logs for so long
MEASURED = $(if $(filter 1 yes,$(QUICK)),--quick) $(if $(filter 1 yes,$(ANYWAY)),--anyway) $(if $(ONLY),--only=$(ONLY)) \
  $(if $(filter 1 yes,$(AGAIN)),--again) $(if $(TAIL_SECONDS),--tail-seconds=$(TAIL_SECONDS)) \
  $(if $(DATABASE),--database=$(DATABASE))

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  make up PORT=8471     another port          make down YES=1    do not ask"
	@echo "  make up HOST=ADDRESS  by TLS on an address of this machine"
	@echo "  make up TRAINING=no   without a training    make down KEEP=1   leave trainings running"

up: python  ## install what is missing, start, print the address, run a first training
	@$(BOOTSTRAP) up $(ARGUMENTS)

down: python  ## stop; running jobs are named first and go back to the queue
	@$(BOOTSTRAP) down $(ARGUMENTS)

status: python  ## processes, address, versions, running jobs
	@$(BOOTSTRAP) status $(ARGUMENTS)

reset: python  ## delete the state of this clone, after asking
	@$(BOOTSTRAP) reset $(ARGUMENTS)

restore: python  ## put a backup back (FILE=backups/groundcrew-….sql.zst), the services stopped
	@$(BOOTSTRAP) restore "$(FILE)" $(if $(filter 1 yes,$(GO_ON)),--go-on) $(if $(IDENTITY),--identity "$(IDENTITY)")

support: python  ## one file for whoever helps: versions, settings without secrets, the last logs
	@$(BOOTSTRAP) support

console: python  ## repairs in this terminal, for when the portal does not load
	@$(BOOTSTRAP) console

audit: python  ## is the access log as it was sealed? (LOG=FILE: with seals that a log has written down)
	@$(BOOTSTRAP) audit verify $(if $(LOG),--log $(LOG))

ansible: python  ## the environment that installs machines by site.yml; prints where it is
	@$(BOOTSTRAP) ansible $(if $(filter 1 yes,$(QUIET)),--path)

test: python  ## everything that a change must pass
	@$(BOOTSTRAP) with-test-machine python -m tests.run all

test-all: python  ## that, the long cases, a newcomer on a bare machine, site.yml on hosts; writes docs/measurements
	@$(BOOTSTRAP) with-test-machine python -m tests.run --whole all hosts servers hosts/kube kube-scale hostile

test-hosts: python  ## site.yml on bare systemd hosts (containers; needs root)
	@$(BOOTSTRAP) with-test-machine python -m tests.run hosts/appliance

test-repairs: python  ## each repair of servers on a host that was broken for it (containers; needs root)
	@$(BOOTSTRAP) with-test-machine python -m tests.run repairs

test-servers: python  ## both of these with one installation: hosts, and then the repairs of what stands on one of them
	@$(BOOTSTRAP) with-test-machine python -m tests.run servers

test-kube: python  ## Kubernetes from an offline bundle on three hosts without a way out (root; compiles it once: 1.5 h)
	@GROUNDCREW_BUILD_KUBERNETES=1 $(BOOTSTRAP) with-test-machine python -m tests.run --long hosts/kube

test-kube-ci: python  ## its short half, where this machine has compiled Kubernetes; else it says so and passes
	@$(BOOTSTRAP) with-test-machine python -m tests.hosts.kube.compiled

bench: python  ## the queue beside Slurm, HyperQueue and RQ, the portal at full size (1 h, idle machine; QUICK=1: 15 min)
	@$(BOOTSTRAP) with-test-machine python -m tests.bench $(MEASURED)

bench-backups: python  ## a backup under load on both databases (10 min, idle machine); writes docs/measurements
	@$(BOOTSTRAP) with-test-machine python -m tests.bench.backups

bench-hostile: python  ## what others notice of attackers, on loopback (10 min, idle machine; QUICK=1: 2 min; WRITE=1: docs)
	@$(BOOTSTRAP) with-test-machine python -m tests.bench.hostile $(if $(filter 1 yes,$(QUICK)),--quick) $(if $(ONLY),--only=$(ONLY)) \
	  $(if $(filter 1 yes,$(WRITE)),--write) $(if $(filter 1 yes,$(FIRST)),--first)

crash: python  ## a death at every commit and outside call, on both databases; writes docs/measurements
	@$(BOOTSTRAP) with-test-machine python -m tests.crash

bundle: python  ## an offline bundle of all that site.yml installs, in FOLDER=… (1.5 h the first time; BY=download, verify, diff)
	@$(BOOTSTRAP) with-tools python -m worker.bundle $(or $(BY),build) "$(or $(FOLDER),/srv/groundcrew-bundle)" $(OPTIONS)

sure: python  ## what to run before a push: ansible-lint, yamllint, ruff, mypy, import contracts, unit tests
	@$(BOOTSTRAP) with-tools python -m tests.run sure unit

lock: python  ## pin the newest versions that pyproject.toml allows, with hashes
	@$(BOOTSTRAP) with-tools python -m tests.lock

python:
	@test -x /usr/bin/python3 || { \
	  echo "Installing python3 by apt"; \
	  if [ "$$(id -u)" = 0 ]; then apt-get -q update && apt-get install -q -y --no-install-recommends python3; \
	  else sudo apt-get -q update && sudo apt-get install -q -y --no-install-recommends python3; fi >/dev/null || { \
	  echo "python3 could not be installed. By hand: apt-get install python3"; exit 1; }; }
