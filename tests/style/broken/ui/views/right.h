// What the break reaches for.
#pragma once

#include "engine/api/snapshot.h"
