# Toolchain of the preset arm64: Debian's cross compiler, and Debian's libraries for arm64 in a folder of their own, which
# `./dev build --preset arm64` fills. What runs while building (Python, node, clang for eBPF) is the host's.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH attune_top)
set(CMAKE_SYSROOT ${attune_top}/build/debian/arm64/sysroot)
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
  message(FATAL_ERROR "There are no libraries of arm64 in ${CMAKE_SYSROOT}: ./dev build --preset arm64 fetches them")
endif()
# The project's own folders are no parts of a system whose libraries would have to be looked for below the sysroot.
set(CMAKE_FIND_ROOT_PATH ${attune_top})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# Compilers that build for the host only: what tests build with them is left out.
foreach(compiler ATTUNE_CLANG_OPENMP ATTUNE_gfortran MPICC_openmpi MPICC_mpich)
  set(${compiler} "" CACHE FILEPATH "Not for arm64")
endforeach()
foreach(compiler mpicc mpifort)
  foreach(library openmpi mpich)
    set(ATTUNE_${compiler}_${library} "" CACHE FILEPATH "Not for arm64")
  endforeach()
endforeach()
