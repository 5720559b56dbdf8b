// Tiny models of every decoder family and rope scaling, each with what must show in its answers.
#pragma once

#include <string>
#include <vector>

#include "tests/support/tiny_model.h"

namespace test_support {

struct TinyFamily {
  std::string name;
  TinyModelSpec spec;
  int promptLength = 64;              // beyond the window and the original context
  int maxContext = 0;                 // served; 0 = as trained
  std::vector<std::string> features;  // without any one of these the answers are others
};

// Float weights, wide enough that the twenty likeliest tokens span three nats.
std::vector<TinyFamily> tinyFamilies();

}  // namespace test_support
