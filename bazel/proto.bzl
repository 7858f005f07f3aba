"""Protobuf and gRPC code with the system's protoc."""

load("//bazel:cc.bzl", "weir_cc_library")

def weir_cc_proto(name, src, grpc = False, deps = [], **kwargs):
    """A C++ library of one .proto file, with its gRPC stubs if asked.

    Args:
      name: of the library.
      src: the .proto file; imports are relative to the workspace.
      grpc: also generate and compile the service stubs.
      deps: other weir_cc_proto libraries whose files it imports.
      **kwargs: as for cc_library.
    """
    base = src[:-len(".proto")]
    outs = [base + ".pb.h", base + ".pb.cc"]
    cmd = "protoc -I . --cpp_out=$(GENDIR) $(location %s)" % src
    libs = ["//third_party:protobuf"]
    if grpc:
        outs += [base + ".grpc.pb.h", base + ".grpc.pb.cc"]
        cmd += (" && protoc -I . --grpc_out=generate_mock_code=false:$(GENDIR)" +
                " --plugin=protoc-gen-grpc=/usr/bin/grpc_cpp_plugin $(location %s)" % src)
        libs = ["//third_party:grpc"]
    native.genrule(name = name + "_gen", srcs = [src], outs = outs, cmd = cmd)
    weir_cc_library(
        name = name,
        srcs = [o for o in outs if o.endswith(".cc")],
        hdrs = [o for o in outs if o.endswith(".h")],
        copts = ["-w"],
        deps = deps + libs,
        **kwargs
    )
