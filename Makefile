# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_DIR ?= .demo
DOCS ?=
PYTEST_ARGS ?= -n 2 --dist loadfile --durations 15

.DEFAULT_GOAL := help
.PHONY: help setup system demo test lint format bench lock clean

help:
	@echo "make demo            the main job on real documents (DOCS=path takes your own)"
	@echo "make test            all tests, on a real broker"
	@echo "make lint            what CI checks besides: ruff, mypy, schemas"
	@echo "make bench           measurements (bench/README.md)"
	@echo "make lock            resolve requirements-dev.lock anew"
	@echo "make clean           remove the virtual environment and the demo's data"

# System packages, by apt where this user may; elsewhere it says what to install.
system:
	@missing=""; \
	ldconfig -p 2>/dev/null | grep -q 'libmagic\.so' || [ -e /opt/homebrew/lib/libmagic.dylib ] \
	  || [ -e /usr/local/lib/libmagic.dylib ] || missing="$$missing libmagic1"; \
	java -version >/dev/null 2>&1 || missing="$$missing default-jre-headless"; \
	[ -f "$${XDG_CACHE_HOME:-$$HOME/.cache}/canonry/kafka-4.3.1/complete" ] || command -v mvn >/dev/null \
	  || missing="$$missing maven"; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing python3-venv"; \
	command -v tesseract >/dev/null || missing="$$missing tesseract-ocr"; \
	extra=""; command -v unrar >/dev/null || command -v unar >/dev/null || command -v bsdtar >/dev/null \
	  || extra=" libarchive-tools"; \
	if [ -n "$(FOR_TESTS)" ]; then \
	  command -v chromium >/dev/null || extra="$$extra chromium"; \
	  command -v promtool >/dev/null || extra="$$extra prometheus"; \
	  command -v soffice >/dev/null || extra="$$extra libreoffice-writer-nogui libreoffice-impress-nogui libreoffice-calc-nogui"; \
	fi; \
	[ -z "$$missing$$extra" ] && exit 0; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then sudo=""; \
	elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then sudo="sudo"; \
	elif [ -z "$$missing" ]; then exit 0; \
	else echo "Please install:$$missing (then run this again)"; exit 1; fi; \
	install() { $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$$@" >/dev/null; }; \
	echo "Installing$$missing$$extra"; \
	$$sudo apt-get update -qq; \
	[ -z "$$missing" ] || install $$missing || exit 1; \
	for package in $$extra; do \
	  install --no-install-recommends $$package || echo "Without $$package what needs it is left out."; \
	done

$(VENV)/.ready: requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install -q --no-deps -e .
	@touch $@

setup: system $(VENV)/.ready

demo: setup
	@$(BIN)/python -m demo --work $(DEMO_DIR) $(if $(DOCS),--docs "$(DOCS)")

test: FOR_TESTS := yes
test: setup
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/canonry schemas check

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m bench

lock:
	$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/pip install -q uv
	$(VENV)/lock/bin/uv pip compile pyproject.toml --group dev --extra embedded --universal --generate-hashes \
	  --no-header -q --upgrade -o requirements-dev.lock

clean:
	rm -rf $(VENV) $(DEMO_DIR) .mypy_cache .ruff_cache .pytest_cache
