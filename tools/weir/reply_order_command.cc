#include "tools/weir/reply_order_command.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "tools/weir/beta.h"

namespace weir::tools {
namespace {

struct Flags {
  std::string selector;
  control::v1::ReplyOrder order = control::v1::REPLY_ORDER_UNSPECIFIED;
  std::optional<uint64_t> expected_revision;
};

absl::Status Run(const Flags& flags, CommandContext* context) {
  control::v1::ApplyRequest request;
  if (flags.expected_revision) request.set_expected_revision(*flags.expected_revision);
  control::v1::SetReplyOrder* const change =
      request.mutable_change_set()->add_changes()->mutable_set_reply_order();
  change->set_selector(flags.selector);
  change->set_order(flags.order);
  return Commit(request, absl::StrCat("reply-order ", flags.selector), context);
}

}  // namespace

void AddReplyOrderCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command =
      app->add_subcommand("reply-order", "Set in which order replies meet the plugs of a target");
  auto flags = std::make_shared<Flags>();
  command->add_option("selector", flags->selector, "The target: key:NAME, key:PREFIX* or all")
      ->required()
      ->type_name("SELECTOR");
  const std::map<std::string, control::v1::ReplyOrder> orders = {
      {"reversed", control::v1::REPLY_ORDER_REVERSED},
      {"plug-order", control::v1::REPLY_ORDER_PLUG_ORDER},
      {"inherited", control::v1::REPLY_ORDER_INHERITED}};
  command
      ->add_option("order", flags->order,
                   "reversed (first the plug that the request met last), plug-order (as requests "
                   "do) or inherited (as wider targets say)")
      ->required()
      ->transform(CLI::CheckedTransformer(orders))
      ->type_name("ORDER");
  AddExpectRevisionOption(command, &flags->expected_revision);
  AddClientOptions(command, context);
  AddExamples(
      command,
      "weir reply-order key:NameService plug-order\nweir reply-order key:NameService inherited",
      "For an object, what is set for its key holds; else for the longest prefix; else for all;\n"
      "else replies go reversed. 'weir list' shows what is set.");
  command->callback([flags, context] { context->status = Run(*flags, context); });
}

}  // namespace weir::tools
