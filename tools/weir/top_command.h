// weir top: what plugs do, live.
//
// Thread safety: as command.h.

#ifndef WEIR_TOOLS_WEIR_TOP_COMMAND_H_
#define WEIR_TOOLS_WEIR_TOP_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

#include "filters/histogram.h"
#include "tools/weir/command.h"
#include "weir/control/v1/control.pb.h"

namespace weir::tools {

void AddTopCommand(CLI::App* app, CommandContext* context);

// What happened between two answers of the node.
struct TopScreen {
  // One plug and phase; operations are added up.
  struct Row {
    std::string plug;
    control::v1::Phase phase = control::v1::PHASE_UP;
    control::v1::StepCounts counts;  // in this interval
    filters::HistogramCounts took;   // in this interval
  };

  uint64_t revision = 0;
  double seconds = 0;     // the interval's length
  std::vector<Row> rows;  // most calls first
};

// A plug that `before` does not have, or that was plugged anew since, counts from 0.
TopScreen Compare(const control::v1::MeasureResponse& before,
                  const control::v1::MeasureResponse& now);
// A table, and one line of JSON; both end in a newline.
std::string RenderTop(const TopScreen& screen);
std::string RenderTopJson(const TopScreen& screen);

}  // namespace weir::tools

#endif  // WEIR_TOOLS_WEIR_TOP_COMMAND_H_
