"""omniORB stubs and skeletons from IDL, for the real peers in the tests."""

load("//bazel:cc.bzl", "weir_cc_library")

def omniidl_cc_library(name, src, **kwargs):
    """Generates BASE.hh, BASESK.cc and BASEDynSK.cc with omniidl and compiles them.

    Include it by its path from the workspace.

    Args:
      name: of the library.
      src: the .idl file, in the package's own folder.
      **kwargs: as for cc_library.
    """
    base = src[:-len(".idl")]

    # By its full path: found as /bin/omniidl it looks for its modules in the wrong folder.
    native.genrule(
        name = name + "_gen",
        srcs = [src],
        outs = [base + ".hh", base + "SK.cc", base + "DynSK.cc"],
        cmd = "/usr/bin/omniidl -bcxx -Wba -C$(@D) -Wbh=.hh -Wbs=SK.cc -Wbd=DynSK.cc $(location %s)" % src,
    )
    weir_cc_library(
        name = name,
        srcs = [base + "SK.cc", base + "DynSK.cc"],
        hdrs = [base + ".hh"],
        copts = ["-w"],
        includes = ["."],
        deps = ["//third_party:omniorb"],
        **kwargs
    )
