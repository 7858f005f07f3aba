// A FilterServer to be killed: filter_process ADDRESS
#include <unistd.h>

#include <cstdio>

#include "tests/faults/filter_server.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const weir::testing::FilterServer server(argv[1]);
  printf("ready\n");
  fflush(stdout);
  for (;;) pause();
}
