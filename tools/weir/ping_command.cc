#include "tools/weir/ping_command.h"

#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/strings.h"
#include "tools/weir/orb_setup.h"

namespace weir::tools {
namespace {

struct PingSettings {
  std::string reference;
  int count = 5;
  Nanos interval = 200 * kMillisecond;
};

class Ping : public orb::Invocation {
 private:
  void Done() override {}
};

// The object's own answer to `_non_existent`, which every CORBA object gives.
absl::Status PingOnce(orb::Orb* orb, const std::shared_ptr<orb::Target>& target, Nanos deadline) {
  orb::Request request;
  request.operation = "_non_existent";
  request.deadline = deadline;
  Ping ping;
  ping.request = &request;
  if (absl::Status s = orb->invoker().Invoke(target, &ping); !s.ok()) return s;
  const orb::Body& body = ping.reply.body;
  cdr::Decoder in = body.decoder();
  if (ping.reply.status == orb::ReplyStatus::kSystemException) {
    const orb::SystemException e = orb::DecodeSystemException(&in);
    return ToStatus(e, StrCat("the server answered ", orb::ToString(e)));
  }
  if (ping.reply.status != orb::ReplyStatus::kNoException) {
    return absl::UnknownError("the server answered with an exception it may not raise");
  }
  const bool gone = in.ReadBoolean();
  if (!in.ok()) return absl::DataLossError("the server's answer cannot be decoded");
  if (gone) return absl::NotFoundError("the server says that the object no longer exists");
  return absl::OkStatus();
}

absl::Status RunPing(const PingSettings& settings, CommandContext* context) {
  SystemClock clock;
  NullLogger logger;
  const std::unique_ptr<orb::Orb> orb = NewOrb({}, &clock, &logger, nullptr);
  if (absl::Status s = orb->Start(); !s.ok()) return s;
  absl::StatusOr<std::shared_ptr<orb::Target>> target = orb->Resolve(settings.reference);
  if (!target.ok()) return target.status();

  absl::Status last;
  std::vector<double> times;
  const Nanos timeout = static_cast<Nanos>(context->timeout * kSecond);
  for (int i = 1; i <= settings.count; ++i) {
    if (i > 1) {
      timespec pause{settings.interval / kSecond, static_cast<long>(settings.interval % kSecond)};
      nanosleep(&pause, nullptr);
    }
    const Nanos began = clock.Now();
    const absl::Status s = PingOnce(orb.get(), *target, began + timeout);
    const double micros = static_cast<double>(clock.Now() - began) / kMicrosecond;
    const std::string peer = (*target)->pools()[(*target)->preferred.load()]->name();
    if (s.ok()) {
      times.push_back(micros);
      if (!context->json) {
        context->out << "reply from " << peer << ": seq=" << i
                     << absl::StrFormat(" time=%.1f us", micros) << std::endl;
      }
    } else {
      last = s;
      if (!context->json) {
        context->out << "no reply from " << peer << ": seq=" << i << " " << s.message()
                     << std::endl;
      }
    }
  }
  const int lost = settings.count - static_cast<int>(times.size());
  double sum = 0, square = 0;
  for (const double t : times) {
    sum += t;
    square += t * t;
  }
  const double n = times.empty() ? 1 : static_cast<double>(times.size());
  const double mean = sum / n;
  const double deviation = std::sqrt(std::max(0.0, square / n - mean * mean));
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  const double low = times.empty() ? 0 : *least, high = times.empty() ? 0 : *most;
  if (context->json) {
    context->out << absl::StrFormat(
        "{\"calls\":%d,\"replies\":%d,\"min_us\":%.1f,\"avg_us\":%.1f,\"max_us\":%.1f,"
        "\"stddev_us\":%.1f}\n",
        settings.count, times.size(), low, mean, high, deviation);
  } else {
    context->out << absl::StrFormat("%d calls, %d replies, %d%% lost\n", settings.count,
                                    times.size(), 100 * lost / settings.count);
    if (!times.empty()) {
      context->out << absl::StrFormat("min/avg/max/stddev = %.1f/%.1f/%.1f/%.1f us\n", low, mean,
                                      high, deviation);
    }
  }
  const absl::Status stopped = orb->Shutdown(clock.Now() + kSecond);
  return last.ok() ? stopped : last;
}

}  // namespace

void AddPingCommand(CLI::App* app, CommandContext* context) {
  CLI::App* const command =
      app->add_subcommand("ping", "Is a CORBA object there, and how fast does it answer?");
  const auto settings = std::make_shared<PingSettings>();
  command->add_option("reference", settings->reference, "The object: a corbaloc or IOR")
      ->required()
      ->type_name("CORBALOC|IOR");
  command->add_option("-n,--count", settings->count, "Calls to make")
      ->check(CLI::Range(1, 1000000000))
      ->capture_default_str();
  AddDurationOption(command, "-i,--interval", &settings->interval, "Pause between calls");
  AddOutputOption(command, context);
  AddTimeoutOption(command, context);
  AddExamples(
      command,
      "weir ping corbaloc::1.2@127.0.0.1:2809/NameService\n"
      "weir ping -n 1000 -i 0 IOR:...",
      "Calls `_non_existent`, which every CORBA object answers; one line for each reply, then "
      "a summary.\n");
  command->callback([settings, context] { context->status = RunPing(*settings, context); });
}

}  // namespace weir::tools
