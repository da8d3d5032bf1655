// Precompiled for every test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "standard_headers.h"
