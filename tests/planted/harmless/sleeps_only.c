// The program sleeps for its whole life.
// planted: class=none

#include "planted.h"

int main(void) {
  rest_us(1300000);
  return 0;
}
