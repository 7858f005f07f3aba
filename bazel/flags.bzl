"""The one list of compiler flags; every target of the tree is built with it."""

WEIR_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-missing-field-initializers",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wshadow",
    "-Wno-sign-compare",
    "-fno-strict-aliasing",
]
