/* Built with ATTUNE_OPTIONAL and not linked with the library. Prints the level. */
#include <attune/probe.h>
#include <stdio.h>

int main(void) {
  ATTUNE_REGION("optional");
  printf("%u\n", attune_level());
  return 0;
}
