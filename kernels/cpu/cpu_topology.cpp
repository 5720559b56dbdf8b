#include "kernels/cpu/cpu_topology.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <sched.h>

namespace kernels::cpu {

namespace {

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Lowest cpu of the core that `cpu` belongs to.
int coreOf(const std::string& root, int cpu) {
  const std::string topology =
      root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  for (const char* name : {"core_cpus_list", "thread_siblings_list"}) {
    const std::vector<int> siblings = parseCpuList(firstLine(topology + name));
    if (!siblings.empty()) return *std::min_element(siblings.begin(), siblings.end());
  }
  return cpu;
}

// "quota period" in microseconds as whole cpus; 0 when there is no limit.
int cpusOf(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return 0;
  return static_cast<int>(std::clamp(std::ceil(quota / period), 1.0, 65536.0));
}

int quotaIn(const std::string& folder) {
  std::istringstream v2(firstLine(folder + "/cpu.max"));
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period) return quota == "max" ? 0 : cpusOf(std::atof(quota.c_str()), period);
  return cpusOf(std::atof(firstLine(folder + "/cpu.cfs_quota_us").c_str()),
                std::atof(firstLine(folder + "/cpu.cfs_period_us").c_str()));
}

// The tightest limit on the way from this process's group up to the root of the hierarchy.
int readQuota(const std::string& root) {
  int tightest = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos)
      continue;
    const std::string mount = root + "/sys/fs/cgroup" + (controllers.empty() ? "" : "/cpu");
    std::string path = line.substr(second + 1);
    for (;;) {
      if (const int cpus = quotaIn(mount + path); cpus > 0) {
        tightest = tightest == 0 ? cpus : std::min(tightest, cpus);
      }
      if (path.empty()) break;
      path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
    }
  }
  return tightest;
}

std::vector<int> affinityCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace

int CpuTopology::usefulThreads() const {
  const int cores = std::max(physicalCores, 1);
  return quotaCpus > 0 ? std::min(cores, quotaCpus) : cores;
}

std::vector<int> parseCpuList(const std::string& text) {
  constexpr long kMaxCpu = 65535;
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    char* end = nullptr;
    const long first = std::strtol(part.c_str(), &end, 10);
    if (end == part.c_str()) continue;
    const long last = *end == '-' ? std::strtol(end + 1, nullptr, 10) : first;
    for (long cpu = std::max(first, 0l); cpu <= std::min(last, kMaxCpu); ++cpu) {
      cpus.push_back(static_cast<int>(cpu));
    }
  }
  return cpus;
}

CpuTopology readCpuTopology(const std::string& root, const std::vector<int>& allowedCpus) {
  CpuTopology topology;
  topology.logicalCpus = static_cast<int>(allowedCpus.size());
  std::set<int> cores;
  for (const int cpu : allowedCpus) cores.insert(coreOf(root, cpu));
  topology.physicalCores = static_cast<int>(cores.size());
  topology.quotaCpus = readQuota(root);
  return topology;
}

CpuTopology readCpuTopology() {
  return readCpuTopology("", affinityCpus());
}

NumaNodes readNumaNodes(const std::string& root, const std::vector<int>& allowedCpus) {
  const std::set<int> allowed(allowedCpus.begin(), allowedCpus.end());
  NumaNodes nodes;
  const std::string folder = root + "/sys/devices/system/node/";
  for (const int node : parseCpuList(firstLine(folder + "online"))) {
    std::vector<int> cpus =
        parseCpuList(firstLine(folder + "node" + std::to_string(node) + "/cpulist"));
    std::erase_if(cpus, [&allowed](int cpu) { return !allowed.contains(cpu); });
    if (!cpus.empty()) nodes.push_back(std::move(cpus));
  }
  return nodes;
}

NumaNodes readNumaNodes() {
  return readNumaNodes("", affinityCpus());
}

std::vector<std::vector<int>> cpusOfThreads(const NumaNodes& nodes, int numThreads) {
  if (nodes.size() < 2 || numThreads < 2) return {};
  std::size_t numCpus = 0;
  for (const std::vector<int>& node : nodes) numCpus += node.size();
  std::vector<std::vector<int>> cpus;
  std::size_t node = 0, before = 0;  // cpus of the nodes before this one
  for (int thread = 0; thread < numThreads; ++thread) {
    // the middle of the thread's share of all cpus, in halves of a cpu of numThreads
    const std::size_t middle = (2 * static_cast<std::size_t>(thread) + 1) * numCpus;
    while (middle >= 2 * static_cast<std::size_t>(numThreads) * (before + nodes[node].size())) {
      before += nodes[node++].size();
    }
    cpus.push_back(nodes[node]);
  }
  return cpus;
}

}  // namespace kernels::cpu
