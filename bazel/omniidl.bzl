"""omniORB stubs and skeletons from IDL, for the real peers in the tests."""

load("//bazel:cc.bzl", "weir_cc_library")

def omniidl_cc_library(name, src, **kwargs):
    """Generates BASE.hh and BASESK.cc with omniidl and compiles them."""
    base = src[:-len(".idl")]
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = [base + ".hh", base + "SK.cc"],
        cmd = "omniidl -bcxx -Wba -C$(@D) -Wbh=.hh -Wbs=SK.cc $(location %s) && rm -f $(@D)/%sDynSK.cc" % (src, base),
    )
    weir_cc_library(
        name = name,
        srcs = [base + "SK.cc"],
        hdrs = [base + ".hh"],
        copts = ["-w"],
        includes = ["."],
        deps = ["//third_party:omniorb"],
        **kwargs
    )
