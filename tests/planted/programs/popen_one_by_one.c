// A tool is run by popen for each item, and its answer is read before the next one is started.
// planted: class=child-wait function=ask_tool tolerance=10

#include "planted.h"

static int ask_tool(int item) {
  char command[128], line[80] = "";
  snprintf(command, sizeof command, "exec awk 'BEGIN { for (i = 0; i < 300000; i++) s += i %% %d; print s }'",
           item + 3);
  const long long before_ns = now_ns();
  FILE* tool = popen(command, "r");  // <- cause
  if (tool == NULL) return -1;
  const char* answer = fgets(line, sizeof line, tool);  // <- cause
  pclose(tool);                                         // <- cause
  lost_since(before_ns);
  return answer == NULL ? -1 : line[0];
}

int main(void) {
  for (int item = 0; item < 50; ++item) {
    if (ask_tool(item) < 0) return 1;
  }
  return write_truth();
}
