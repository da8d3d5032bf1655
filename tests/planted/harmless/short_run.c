// A program that adds up a few numbers and ends.
// planted: class=none

#include "planted.h"

int main(void) {
  volatile long sum = 0;
  for (int i = 0; i < 1000; ++i) sum = sum + i;
  return sum != 499500;
}
