#!/usr/bin/env python3
"""A filter for naming services: names that begin with `keep` cannot be unbound.

    keep_names.py --listen unix:/tmp/keep.sock

    weir plug keep --filter grpc --set at=unix:/tmp/keep.sock --on key:NameService
    weir map keep unbind --up check --enable

It reads the body of `unbind(in Name n)`, where Name is a sequence of (id, kind), both strings.
"""

import argparse
import struct
import sys

import weir_filter


class Reader:
    """CDR (CORBA 3.3 part 2, 9.3), as far as names need it."""

    def __init__(self, body):
        self._data = body.data
        self._order = "<" if body.little_endian else ">"
        self._base = body.alignment
        self._at = 0

    def ulong(self):
        self._at += -(self._base + self._at) % 4
        (value,) = struct.unpack_from(self._order + "I", self._data, self._at)
        self._at += 4
        return value

    def string(self):
        length = self.ulong()
        if length == 0 or length > len(self._data) - self._at:
            raise ValueError("a string that is longer than the body")
        value = self._data[self._at:self._at + length - 1]
        self._at += length
        return value.decode("latin-1")


class KeepNames(weir_filter.Filter):
    help = "Refuses to unbind names that begin with a prefix."
    timeout_ms = 500
    on_failure = "closed"  # what is to be kept is kept while nobody looks
    methods = [("check", weir_filter.UP, weir_filter.BODY, False, "refuses to unbind kept names")]

    def __init__(self, prefix):
        self._prefix = prefix

    def judge(self, question):
        if question.header.operation != "unbind":
            return weir_filter.pass_()
        reader = Reader(question.body)
        if reader.ulong() == 0:
            return weir_filter.pass_()  # the servant knows what to say of an empty name
        name = reader.string()
        if not name.startswith(self._prefix):
            return weir_filter.pass_()
        print("refused: unbind %s, asked by %s" % (name, question.header.peer), flush=True)
        return weir_filter.system_exception("NO_PERMISSION")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", required=True, help="a gRPC address: unix:PATH or HOST:PORT")
    parser.add_argument("--prefix", default="keep", help="what names to keep begin with")
    arguments = parser.parse_args()
    server = weir_filter.serve(KeepNames(arguments.prefix), arguments.listen)
    print("ready", arguments.listen, flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    sys.exit(main())
