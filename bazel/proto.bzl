"""Protobuf and gRPC code with the system's protoc."""

load("//bazel:cc.bzl", "weir_cc_library")

def weir_cc_proto(name, src, grpc = False, messages = None, deps = [], **kwargs):
    """A C++ library of one .proto file: its messages, or with `grpc` its service stubs.

    Headers are included as "weir/PACKAGE/VERSION/FILE.pb.h", free of the folder `proto/`.

    Args:
      name: of the library.
      src: the .proto file, relative to this package; imports are relative to it, too.
      grpc: generate and compile the service stubs, and only them.
      messages: with `grpc`: the weir_cc_proto library of the same file's messages.
      deps: other weir_cc_proto libraries whose files it imports.
      **kwargs: as for cc_library.
    """
    suffix = ".grpc.pb" if grpc else ".pb"
    base = src[:-len(".proto")] + suffix
    package = native.package_name()
    if grpc:
        flags = ("--grpc_out=generate_mock_code=false:$(RULEDIR)" +
                 " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin")
        libs = [messages, "//third_party:grpc"]
    else:
        flags = "--cpp_out=$(RULEDIR)"
        libs = ["//third_party:protobuf"]
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = [base + ".h", base + ".cc"],
        cmd = "protoc -I %s %s $(location %s)" % (package, flags, src),
    )
    weir_cc_library(
        name = name,
        srcs = [base + ".cc"],
        hdrs = [base + ".h"],
        copts = ["-w"],
        includes = ["."],
        deps = deps + libs,
        **kwargs
    )
