#pragma once
/// attune::Idle, for threads of the runtime that wait for something to do. A program is not linked with the probe:
/// attune preloads it.

#ifndef ATTUNE_OPTIONAL
#define ATTUNE_OPTIONAL
#endif
#include "attune/probe.h"
