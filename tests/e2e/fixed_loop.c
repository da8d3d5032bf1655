// Executes ROUNDS times two instructions of arm64, and hardly any besides: there is no C library that starts it.
void _start(void) {
  unsigned long left = ROUNDS;
  __asm__ volatile("1: subs %0, %0, #1\n  b.ne 1b" : "+r"(left) : : "cc");
  __asm__ volatile("mov x0, #0\n  mov x8, #93\n  svc #0");  // exit(0)
}
