#!/bin/sh
# Runs control_test.py with Debian's Python, which has python3-grpcio.
exec /usr/bin/python3 -B tests/control/control_test.py
