#include "orb/core/system_exception.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weir::orb {
namespace {

TEST(SystemException, EveryIdHasAnEntryAndANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kExceptionCount; ++i) {
    const auto id = static_cast<ExceptionId>(i);
    const std::string_view name = ExceptionName(id);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(ExceptionIdFromName(name), id);
    EXPECT_EQ(ExceptionRepositoryId(id), "IDL:omg.org/CORBA/" + std::string(name) + ":1.0");
  }
  EXPECT_EQ(ExceptionName(ExceptionId::kUnknown), "UNKNOWN");
  EXPECT_EQ(ExceptionName(ExceptionId::kObjectNotExist), "OBJECT_NOT_EXIST");
  EXPECT_EQ(ExceptionName(ExceptionId::kActivityRequired), "ACTIVITY_REQUIRED");
  EXPECT_EQ(ExceptionIdFromName("NO_SUCH"), std::nullopt);
}

TEST(SystemException, SurvivesTheWireInBothOrders) {
  for (const cdr::ByteOrder order : {cdr::ByteOrder::kBig, cdr::ByteOrder::kLittle}) {
    cdr::ByteBuffer buffer;
    cdr::Encoder out(&buffer, order);
    Encode({ExceptionId::kTransient, OmgMinor(2), Completion::kNo}, &out);
    cdr::Decoder in(buffer.view(), order);
    const SystemException e = DecodeSystemException(&in);
    EXPECT_EQ(e.id, ExceptionId::kTransient);
    EXPECT_EQ(e.minor, 0x4f4d0002u);
    EXPECT_EQ(e.completed, Completion::kNo);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.remaining(), 0u);
  }
}

SystemException Decoded(std::string_view repository_id, uint32_t completed) {
  cdr::ByteBuffer buffer;
  cdr::Encoder out(&buffer);
  out.WriteString(repository_id);
  out.WriteULong(7);
  out.WriteULong(completed);
  cdr::Decoder in(buffer.view(), cdr::kNativeOrder);
  return DecodeSystemException(&in);
}

TEST(SystemException, UnknownRepositoryIdBecomesUnknown) {
  for (const std::string_view id :
       {"IDL:omg.org/CORBA/NO_SUCH:1.0", "IDL:omg.org/CORBA/TRANSIENT:2.0",
        "IDL:omg.org/CORBA/:1.0", "IDL:omg.org/CORBA:1.0", "TRANSIENT", ""}) {
    const SystemException e = Decoded(id, 1);
    EXPECT_EQ(e.id, ExceptionId::kUnknown) << id;
    EXPECT_EQ(e.minor, OmgMinor(2));
    EXPECT_EQ(e.completed, Completion::kNo);
  }
}

TEST(SystemException, MalformedBodyBecomesMarshal) {
  const SystemException e = Decoded("IDL:omg.org/CORBA/TRANSIENT:1.0", 3);
  EXPECT_EQ(e.id, ExceptionId::kMarshal);
  EXPECT_EQ(e.completed, Completion::kMaybe);
  cdr::Decoder nothing("", cdr::kNativeOrder);
  EXPECT_EQ(DecodeSystemException(&nothing).id, ExceptionId::kMarshal);
}

TEST(SystemException, StatusCarriesItWhole) {
  for (int i = 0; i < kExceptionCount; ++i) {
    const SystemException e(static_cast<ExceptionId>(i), 0x89abcdef, Completion::kYes);
    const absl::Status status = ToStatus(e, "what happened");
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.message(), "what happened");
    const SystemException back = FromStatus(status);
    EXPECT_EQ(back.id, e.id);
    EXPECT_EQ(back.minor, e.minor);
    EXPECT_EQ(back.completed, e.completed);
  }
}

TEST(SystemException, OrdinaryStatusIsMappedByItsCode) {
  EXPECT_EQ(FromStatus(absl::DeadlineExceededError("")).id, ExceptionId::kTimeout);
  EXPECT_EQ(FromStatus(absl::NotFoundError("")).id, ExceptionId::kObjectNotExist);
  EXPECT_EQ(FromStatus(absl::PermissionDeniedError("")).id, ExceptionId::kNoPermission);
  EXPECT_EQ(FromStatus(absl::UnavailableError("")).id, ExceptionId::kTransient);
  EXPECT_EQ(FromStatus(absl::UnknownError("")).id, ExceptionId::kUnknown);
}

TEST(SystemException, TextNamesMinorAndCompletion) {
  EXPECT_EQ(ToString({ExceptionId::kTransient, OmgMinor(2), Completion::kNo}),
            "TRANSIENT (minor 0x4f4d0002, completed NO)");
}

}  // namespace
}  // namespace weir::orb
