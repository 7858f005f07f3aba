#!/bin/sh
# Runs remote_filter_test.py with Debian's Python, which has python3-grpcio.
exec /usr/bin/python3 -B tests/interop/remote_filter_test.py
