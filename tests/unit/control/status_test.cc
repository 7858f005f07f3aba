#include "control/status.h"

#include <gtest/gtest.h>

namespace weir::control {
namespace {

TEST(StatusTest, EveryCodeAndTextComesBackUnchanged) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "a t\xc3\xa4xt");
    const grpc::Status out = ToGrpc(status);
    EXPECT_EQ(static_cast<int>(out.error_code()), code);
    EXPECT_EQ(FromGrpc(out), status);
  }
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(StatusTest, ACodeThatGrpcDoesNotDefineIsUnknown) {
  // The largest value that the enumeration can hold at all.
  EXPECT_EQ(FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(31), "x")).code(),
            absl::StatusCode::kUnknown);
}

TEST(StatusTest, TextThatIsNotUtf8IsMadeSo) {
  EXPECT_EQ(ToGrpc(absl::NotFoundError("a\xff"
                                       "b"))
                .error_message(),
            "a?b");
  EXPECT_EQ(ToGrpc(absl::NotFoundError("a\xc3")).error_message(), "a?");
}

}  // namespace
}  // namespace weir::control
