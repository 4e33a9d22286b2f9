// The instruction set the sources are compiled for, as a name: LINNET_ISA is one of core/isas.txt, set by the
// build. All of the core is in namespace linnet::v3 and so on: two modules in one process must not share a symbol.
// Otherwise the loader would merge what both call linnet::lanes, although its value differs. The namespace is inline,
// so that code within one module can write just linnet.
#pragma once

#ifndef LINNET_ISA
#define LINNET_ISA native  // programs of one instruction set, such as tests
#endif
