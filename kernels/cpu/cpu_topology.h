// How many threads are worth starting, and where: physical cores that this process may really use.
#pragma once

#include <string>
#include <vector>

namespace kernels::cpu {

struct CpuTopology {
  int logicalCpus = 0;    // that this process may run on
  int physicalCores = 0;  // distinct cores among them; hyper-threads of one core count once
  int quotaCpus = 0;      // of the control group, rounded up; 0 = no limit

  // physicalCores held to the quota, at least 1.
  int usefulThreads() const;
};

// What the kernel says under `root` (its sys/ and proc/ folders; "" is the real machine) about the
// logical cpus in `allowedCpus`. A cpu whose core is not told counts as a core of its own.
CpuTopology readCpuTopology(const std::string& root, const std::vector<int>& allowedCpus);

// The real machine with this process's affinity.
CpuTopology readCpuTopology();

// The cpus of each NUMA node, those of `allowedCpus` alone, nodes without any left out; empty when
// nothing under `root` tells of nodes.
using NumaNodes = std::vector<std::vector<int>>;
NumaNodes readNumaNodes(const std::string& root, const std::vector<int>& allowedCpus);
// The real machine with this process's affinity.
NumaNodes readNumaNodes();

// The cpus for each of numThreads threads: neighbours share a node, and a node has threads as it
// has cpus. What a thread touches first then lies in its own node's memory, and the items of a
// later job that read it fall to it again. Empty where all memory is equally near.
std::vector<std::vector<int>> cpusOfThreads(const NumaNodes& nodes, int numThreads);

// "0-3,8,10-11" as numbers; what cannot be read is left out.
std::vector<int> parseCpuList(const std::string& text);

}  // namespace kernels::cpu
