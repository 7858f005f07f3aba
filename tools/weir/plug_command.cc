#include "tools/weir/plug_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tools/weir/beta.h"
#include "tools/weir/settings.h"

namespace weir::tools {
namespace {

struct PlugFlags {
  std::string plug;
  std::string filter;
  std::string selector;
  std::vector<std::string> parameters;
  std::string timeout, on_failure;
  int32_t priority = 0;
  std::optional<int32_t> down_priority;
  std::vector<std::string> before, after, conditions;
  std::optional<uint64_t> expected_revision;
};

absl::Status RunPlug(const PlugFlags& flags, CommandContext* context) {
  control::v1::ApplyRequest request;
  if (flags.expected_revision) request.set_expected_revision(*flags.expected_revision);
  control::v1::Plug* plug = request.mutable_change_set()->add_changes()->mutable_plug();
  plug->set_name(flags.plug);
  plug->set_filter(flags.filter);
  plug->set_selector(flags.selector);
  plug->set_priority(flags.priority);
  if (flags.down_priority) plug->set_down_priority(*flags.down_priority);
  plug->mutable_before()->Add(flags.before.begin(), flags.before.end());
  plug->mutable_after()->Add(flags.after.begin(), flags.after.end());
  plug->mutable_conditions()->Add(flags.conditions.begin(), flags.conditions.end());
  const auto parameters = ParseSettings(absl::StrCat("plug ", flags.plug, ": "), flags.parameters);
  if (!parameters.ok()) return parameters.status();
  plug->mutable_parameters()->insert(parameters->begin(), parameters->end());
  for (const auto& [key, value] :
       {std::pair<const char*, std::string>{"timeout", flags.timeout},
        std::pair<const char*, std::string>{"on-failure", flags.on_failure}}) {
    if (value.empty()) continue;
    if (!plug->mutable_parameters()->insert({key, value}).second) {
      return absl::InvalidArgumentError(absl::StrCat("plug ", flags.plug, ": --", key,
                                                     " and --set ", key, "=... are both given"));
    }
  }
  return Commit(request, absl::StrCat("plug ", flags.plug), context);
}

struct UnplugFlags {
  std::string plug;
  bool drain = false;
  double drain_timeout = 30;
  std::optional<uint64_t> expected_revision;
};

absl::Status RunUnplug(const UnplugFlags& flags, CommandContext* context) {
  control::v1::ApplyRequest request;
  if (flags.expected_revision) request.set_expected_revision(*flags.expected_revision);
  request.mutable_change_set()->add_changes()->mutable_unplug()->set_name(flags.plug);
  if (flags.drain) {
    request.mutable_drain()->set_timeout_ms(static_cast<uint32_t>(flags.drain_timeout * 1000));
  }
  return Commit(request, absl::StrCat("unplug ", flags.plug), context);
}

}  // namespace

void AddPlugCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand("plug", "Plug a filter onto a target");
  auto flags = std::make_shared<PlugFlags>();
  command->add_option("plug", flags->plug, "A name for the plug, used by all later commands")
      ->required()
      ->type_name("PLUG");
  command
      ->add_option("--filter", flags->filter,
                   "The kind of filter: log, deny, grpc for one in another process; 'weir filter "
                   "list' shows all")
      ->required()
      ->type_name("KIND");
  command
      ->add_option("--on", flags->selector,
                   "The target: key:NAME, key:PREFIX*, interface:REPOSITORY_ID (derived interfaces "
                   "included) or all")
      ->required()
      ->type_name("SELECTOR");
  command
      ->add_option("--set", flags->parameters,
                   "A parameter of the filter (weir filter describe KIND); may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command
      ->add_option("--priority", flags->priority,
                   "Requests meet plugs in ascending priority, replies in descending")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option_function<int32_t>(
          "--down-priority", [flags](int32_t priority) { flags->down_priority = priority; },
          "Takes the priority's place for replies")
      ->type_name("N");
  command
      ->add_option("--before", flags->before,
                   "Another plug that requests meet later than this one, and replies earlier, "
                   "whatever the priorities; no effect until it is plugged; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PLUG");
  command
      ->add_option("--after", flags->after,
                   "Another plug that requests meet earlier than this one, and replies later; as "
                   "--before")
      ->allow_extra_args(false)
      ->type_name("PLUG");
  command
      ->add_option("--if", flags->conditions,
                   "Only calls of which this is so: peer=10.0.0.0/8 (or an address, or unix), "
                   "identity=uid:1000 (or pid:N), operation=get_* (or a name), context=0x41434d45 "
                   "(a service context; ID:HEX with these octets, ID:HEX* beginning so); may be "
                   "repeated")
      ->allow_extra_args(false)
      ->type_name("CONDITION");
  command
      ->add_option("--timeout", flags->timeout,
                   "Filters in other processes: how long an answer may take (1s), as in 200ms")
      ->type_name("TIME");
  command
      ->add_option("--on-failure", flags->on_failure,
                   "Filters in other processes: what a call gets without an answer: open (it goes "
                   "on), closed (NO_PERMISSION, the default), answer=EXCEPTION, answer=result:HEX, "
                   "answer=user:IDL:...")
      ->type_name("POLICY");
  AddExpectRevisionOption(command, &flags->expected_revision);
  AddClientOptions(command, context, /*own_timeout=*/true);
  AddExamples(
      command,
      "weir plug audit --filter log --on key:NameService\n"
      "weir plug guard --filter deny --on 'key:billing/*' --set exception=TRANSIENT "
      "--priority -10\n"
      "weir plug keep --filter grpc --set at=unix:/run/keep.sock --on key:NameService "
      "--timeout 200ms --on-failure open\n"
      "weir plug names --filter count --on interface:IDL:omg.org/CosNaming/NamingContext:1.0\n"
      "weir plug check --filter access --set allow=10.0.0.0/8 --on all --before audit --before "
      "guard\n"
      "weir plug slow --filter rate-limit --set rate=10 --on all --if 'operation=get_*' "
      "--if 'peer!=10.0.0.0/8'",
      "Calls do not meet the filter before a method of it is mapped and enabled (weir map).\n"
      "Conditions of different kinds must all hold; of one kind any of those with = suffices, and\n"
      "all of those with != must hold. For other calls it is as if there were no plug.\n"

      "The same plug again changes nothing; another one of that name is a conflict.\n"
      "Objects are asked once of which interfaces they are (_is_a); if one does not answer, its\n"
      "calls fail rather than pass unfiltered.");
  command->callback([flags, context] { context->status = RunPlug(*flags, context); });
}

void AddUnplugCommand(CLI::App* app, CommandContext* context) {
  CLI::App* command = app->add_subcommand("unplug", "Take a plug away, with all its mappings");
  auto flags = std::make_shared<UnplugFlags>();
  command->add_option("plug", flags->plug, "The plug's name")->required()->type_name("PLUG");
  command->add_flag("--drain", flags->drain,
                    "Wait until no call holds the plug; exit 5 if that takes too long");
  command->add_option("--drain-timeout", flags->drain_timeout, "How long --drain waits")
      ->check(CLI::Range(0.001, 600.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  AddExpectRevisionOption(command, &flags->expected_revision);
  AddClientOptions(command, context);
  AddExamples(
      command, "weir unplug audit\nweir unplug audit --drain --drain-timeout 5",
      "Calls that began before keep the plug to their end. A plug that does not exist is no\n"
      "error: it is unplugged.");
  command->callback([flags, context] { context->status = RunUnplug(*flags, context); });
}

}  // namespace weir::tools
