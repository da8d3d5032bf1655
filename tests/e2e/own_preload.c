// A library that a user preloads himself: it speaks before the program does.

#include <unistd.h>

__attribute__((constructor)) static void speak(void) { (void)!write(2, "own preload\n", 12); }
