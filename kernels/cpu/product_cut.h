// How a product is cut into the items that threads take. A result does not depend on it.
#pragma once

#include "kernels/cpu/matmul.h"

namespace kernels::cpu {

// Blocks of rows by blocks of tiles; those of the same tiles come one after the other.
struct ProductCut {
  int numRows = 0, numTiles = 0;
  int rowsPerItem = 1, tilesPerItem = 1;

  int numRowBlocks() const { return (numRows + rowsPerItem - 1) / rowsPerItem; }

  int numItems() const { return numRowBlocks() * ((numTiles + tilesPerItem - 1) / tilesPerItem); }

  MatmulRange range(int item) const;
};

// Tiles first: few rows want many blocks of them; more than maxRows are cut into blocks of rows
// too. numInputs: of a row, and as many times as much as an item takes longer than its product.
ProductCut cutProduct(int numThreads, int numRows, int numTiles, int numInputs, int maxRows);

// Tiles in units that cannot be cut, of which there are few in all parts together: numUnits. Their
// rows are cut so that no thread waits long for the last item: to leastRows at least, where there
// are as many, and 16 or maxRows at most.
ProductCut cutUnits(int numThreads,
                    int numRows,
                    int numTiles,
                    int unitTiles,
                    int numUnits,
                    int leastRows,
                    int maxRows);

}  // namespace kernels::cpu
