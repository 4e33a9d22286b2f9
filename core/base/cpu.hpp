// The instruction sets that this processor supports, by the names of the modules built for them.
#pragma once

#include <string>
#include <vector>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/isa.hpp"

namespace linnet::inline LINNET_ISA {

// Names as in core/isas.txt, the best last. "generic" is the compiler's own default for the architecture and runs
// everywhere; v2, v3 and v4 are the x86-64 levels. This function may itself be compiled for v2, so call it only from a
// module that runs wherever any of the others does.
inline std::vector<std::string> supported_isas() {
  std::vector<std::string> names{"generic"};
#if defined(__x86_64__)
  // __builtin_cpu_supports also asks whether the operating system saves the wide registers. Features that some
  // compilers cannot name there are read from cpuid itself; they need no support by the operating system.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __get_cpuid(1, &eax, &ebx, &ecx, &edx);
  const bool cmpxchg16b = ecx & bit_CMPXCHG16B, movbe = ecx & bit_MOVBE, f16c = ecx & bit_F16C;
  ecx = 0;
  __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx);
  const bool lahf = ecx & bit_LAHF_LM, lzcnt = ecx & bit_ABM;

  const bool v2 = cmpxchg16b && lahf && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("sse3") &&
                  __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                  __builtin_cpu_supports("sse4.2");
  const bool v3 = v2 && movbe && f16c && lzcnt && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
                  __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  if (v2) names.push_back("v2");
  if (v3) names.push_back("v3");
  if (v4) names.push_back("v4");
#endif
  return names;
}

}  // namespace linnet::inline LINNET_ISA
