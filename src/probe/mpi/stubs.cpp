/// The symbols that programs call. Assembly, for one symbol serves both binary interfaces of MPI: all arguments are
/// whole numbers or addresses, which pass through as they came.
///
/// Their version is hidden (one @) and the first of the library: a program's reference, which asks for no version, is
/// bound to them, and dlsym does not find them.

#include <stdint.h>

__asm__(R"(
  .macro ATTUNE_SYMBOL name
  .balign 16
  .globl attune_stub_\name
  .type attune_stub_\name, %function
  .symver attune_stub_\name, \name@ATTUNE_MPI, remove
attune_stub_\name:
  .cfi_startproc
  .endm
  .macro ATTUNE_SYMBOL_END name
  .cfi_endproc
  .size attune_stub_\name, . - attune_stub_\name
  .endm
)");

// Initial target of each slot: asks the resolver, with the caller's registers kept, and jumps where that says.
#if defined(__x86_64__)
__asm__(R"(
  .pushsection .text
  .balign 16
  .type attune_mpi_first, @function
attune_mpi_first:
  .cfi_startproc
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rdi
  pushq %rsi
  pushq %rdx
  pushq %rcx
  pushq %r8
  pushq %r9
  andq $-16, %rsp
  movl %r11d, %edi
  movq 8(%rbp), %rsi
  call attune_mpi_resolve
  movq %rax, %r11
  movq -8(%rbp), %rdi
  movq -16(%rbp), %rsi
  movq -24(%rbp), %rdx
  movq -32(%rbp), %rcx
  movq -40(%rbp), %r8
  movq -48(%rbp), %r9
  leave
  .cfi_def_cfa %rsp, 8
  jmpq *%r11
  .cfi_endproc
  .size attune_mpi_first, . - attune_mpi_first
  .popsection
)");
#elif defined(__aarch64__)
__asm__(R"(
  .pushsection .text
  .balign 16
  .type attune_mpi_first, %function
attune_mpi_first:
  .cfi_startproc
  stp x29, x30, [sp, #-96]!
  .cfi_def_cfa_offset 96
  .cfi_offset 29, -96
  .cfi_offset 30, -88
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  mov w0, w17
  mov x1, x30
  bl attune_mpi_resolve
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp x29, x30, [sp], #96
  .cfi_def_cfa_offset 0
  br x16
  .cfi_endproc
  .size attune_mpi_first, . - attune_mpi_first
  .popsection
)");
#endif

#include "mpi_stubs.inc"
