// A library that calls itself a sanitizer's, and a program that needs it.

int attune_fake_sanitizer(void);

#ifdef ATTUNE_PROGRAM
int main(void) { return attune_fake_sanitizer(); }
#else
int attune_fake_sanitizer(void) { return 0; }
#endif
