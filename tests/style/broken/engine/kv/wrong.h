// A layer break on purpose: the checker must find it.
#pragma once

#include "ui/views/right.h"
