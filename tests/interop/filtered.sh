#!/bin/bash
# filtered.sh TEST: runs it with filters that pass every call (tests/support/pass_only.h).
WEIR_TEST_FILTERED=1 exec "$@"
