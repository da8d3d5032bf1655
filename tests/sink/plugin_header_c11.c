#include "plugin_header.h"
