"""C++ rules with the project's flags."""

load("//bazel:flags.bzl", "WEIR_COPTS")

def weir_cc_library(name, copts = [], **kwargs):
    native.cc_library(name = name, copts = WEIR_COPTS + copts, **kwargs)

def weir_cc_binary(name, copts = [], **kwargs):
    native.cc_binary(name = name, copts = WEIR_COPTS + copts, **kwargs)

def weir_cc_test(name, copts = [], deps = [], **kwargs):
    native.cc_test(
        name = name,
        copts = WEIR_COPTS + copts,
        deps = deps + ["//third_party:gtest_main"],
        **kwargs
    )

def weir_fuzz_test(name, srcs, corpus, deps = [], **kwargs):
    """A fuzz target. Under --config=fuzz it links libFuzzer; otherwise a test that replays `corpus`.

    Args:
      name: of the test.
      srcs: the file that defines LLVMFuzzerTestOneInput.
      corpus: files to replay, each a seed or a past finding.
      deps: what the target needs.
      **kwargs: as for cc_test.
    """
    native.cc_test(
        name = name,
        srcs = srcs,
        copts = WEIR_COPTS,
        data = corpus,
        args = ["$(locations %s)" % c for c in corpus],
        deps = deps + select({
            "//bazel:is_fuzzing": [],
            "//conditions:default": ["//tests/fuzz:replay_main"],
        }),
        linkopts = select({
            "//bazel:is_fuzzing": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        **kwargs
    )
