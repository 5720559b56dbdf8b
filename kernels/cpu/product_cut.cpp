#include "kernels/cpu/product_cut.h"

#include <algorithm>

namespace kernels::cpu {

namespace {

constexpr int kItemsPerThread = 10;       // the last item to end is what all others wait for
constexpr double kMinItemMacs = 65536;    // about a microsecond: less is not worth handing out
constexpr double kMaxItemMacs = 1 << 26;  // about a millisecond: cancel is looked at in between

// Few rows take as long as reading the weights: of so many, about ten microseconds. Cut finer, a
// large product of 8 rows ends more evenly; small ones lose more to the items than they gain.
constexpr int kFewRows = 32;
constexpr double kMaxItemWeights = 1 << 19;

constexpr int kBlock = QuantizedRows::kRowsPerBlock;

int quotientUp(int a, int b) {
  return (a + b - 1) / b;
}

// Rows in whole blocks, one at least, that there is room for.
int wholeBlocks(int maxRows) {
  return std::max(maxRows / kBlock, 1) * kBlock;
}

}  // namespace

MatmulRange ProductCut::range(int item) const {
  MatmulRange range;
  range.rowBegin = item % numRowBlocks() * rowsPerItem;
  range.rowEnd = std::min(numRows, range.rowBegin + rowsPerItem);
  range.tileBegin = item / numRowBlocks() * tilesPerItem;
  range.tileEnd = std::min(numTiles, range.tileBegin + tilesPerItem);
  return range;
}

ProductCut cutProduct(int numThreads, int numRows, int numTiles, int numInputs, int maxRows) {
  ProductCut cut{numRows, numTiles};
  cut.rowsPerItem = numRows <= maxRows ? numRows : wholeBlocks(maxRows);
  const int even = quotientUp(numTiles * cut.numRowBlocks(), numThreads * kItemsPerThread);
  const double tileMacs = static_cast<double>(cut.rowsPerItem) * kTileColumns * numInputs;
  const int least = static_cast<int>(std::min(kMinItemMacs / tileMacs, 1e6)) + 1;
  const double longest =
      numRows <= kFewRows ? kMaxItemWeights * cut.rowsPerItem : kMaxItemMacs;
  const int most = std::max(least, static_cast<int>(std::min(longest / tileMacs, 1e6)));
  cut.tilesPerItem = std::min(std::clamp(even, least, most), numTiles);
  return cut;
}

ProductCut cutUnits(int numThreads,
                    int numRows,
                    int numTiles,
                    int unitTiles,
                    int numUnits,
                    int leastRows,
                    int maxRows) {
  const int wanted = quotientUp(numThreads * kItemsPerThread, numUnits);
  const int numBlocks = std::max(std::min(wanted, numRows / leastRows), 1);
  // rows that tile registers take together stay together
  const int step = leastRows < kBlock ? 1 : leastRows;
  const int even = quotientUp(quotientUp(numRows, numBlocks), step) * step;
  return {numRows, numTiles, std::min(even, wholeBlocks(maxRows)), unitTiles};
}

}  // namespace kernels::cpu
