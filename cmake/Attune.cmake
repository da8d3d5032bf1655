# Helpers that every folder's CMakeLists.txt uses.

add_library(attune_flags INTERFACE)
target_compile_options(attune_flags INTERFACE -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> -Wno-missing-field-initializers
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
# g++ notes of each function with a pair of floating-point numbers that it was called otherwise before GCC 10.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  target_compile_options(attune_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-psabi>)
endif()
target_include_directories(attune_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)

# The standard library's and fmt's headers, and GoogleTest's for tests, precompiled: reading them is half of the time that a
# file takes to compile. Files still include what they use: clang-tidy and the presets dev and tsan go without, and find what
# was forgotten.
option(ATTUNE_PRECOMPILED_HEADERS "Precompile the headers of the standard library and fmt, and GoogleTest's for tests" ON)
find_package(fmt REQUIRED)
add_library(attune_precompiled_flags INTERFACE)
target_link_libraries(attune_precompiled_flags INTERFACE attune_flags fmt::fmt)
# What ccache needs to know a precompiled header again: for g++ in the preprocessed text; clang keeps times of files in it.
target_compile_options(attune_precompiled_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
  "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# attune_precompiled_headers(NAME KIND HEADER FLAGS...): a header of cmake/, compiled as targets of this kind (LIBRARY or PROGRAM)
# with these flags are.
function(attune_precompiled_headers name kind header)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cpp.new "int main() { return 0; }\n")
  file(COPY_FILE ${CMAKE_BINARY_DIR}/precompiled.cpp.new ${CMAKE_BINARY_DIR}/precompiled.cpp ONLY_IF_DIFFERENT)
  if(kind STREQUAL LIBRARY)
    add_library(${name} STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cpp)
  else()
    add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/precompiled.cpp)
  endif()
  target_link_libraries(${name} PRIVATE ${ARGN} attune_precompiled_flags)
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/${header})
endfunction()
# attune_use_precompiled(TARGET HEADERS): HEADERS as attune_precompiled_headers names them.
function(attune_use_precompiled target headers)
  if(ATTUNE_PRECOMPILED_HEADERS)
    target_link_libraries(${target} PRIVATE attune_precompiled_flags)
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
endfunction()
if(ATTUNE_PRECOMPILED_HEADERS)
  attune_precompiled_headers(attune_headers LIBRARY standard_headers.h attune_flags)
endif()

# Files of a module or test are compiled several at a time: their headers are read and their templates made once, which is
# most of the work. Names in unnamed namespaces are thereby a module's. The presets dev and tsan and clang-tidy compile each file
# by itself, and find what a file forgot to include. attune_alone(FILES...): files that are, so that each has names of its own:
# rows of a folder, which are alike.
option(ATTUNE_UNITY "Compile several files of a module at a time" ON)
function(attune_unity target)
  if(ATTUNE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    # Classes that a source file defines may have members of types in its unnamed namespace.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(attune_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# Whether programs that are built here run here, or by an emulator (CMAKE_CROSSCOMPILING_EMULATOR).
set(ATTUNE_RUNS_HERE TRUE)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(ATTUNE_RUNS_HERE FALSE)
endif()

# Programs of ours are linked by gold where it is there, in half the time. It is in Debian 12's binutils.
find_program(ATTUNE_GOLD ld.gold)
function(attune_quick_link target)
  if(ATTUNE_GOLD)
    target_link_options(${target} PRIVATE -fuse-ld=gold)
  endif()
endfunction()

# attune_list(OUTPUT FILES EACH ITEM TEXT): TEXT as generated/OUTPUT of the build folder, a list of the files in this folder that
# fit FILES. In TEXT, @each@ is EACH of all files, and @items@ is ITEM of all with commas between; in both, @type@ is the name of a
# type for the file (CpuSample for tables/cpu_sample.h), @name@ its name in words (cpu-sample), and @file@ its path in src/.
function(attune_list output files each_file item text)
  file(GLOB found CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/${files})
  set(each "")
  set(items "")
  foreach(file ${found})
    get_filename_component(words ${file} NAME_WE)
    string(REPLACE "_" "-" name ${words})
    string(REPLACE "_" ";" words ${words})
    set(type "")
    foreach(word ${words})
      string(SUBSTRING ${word} 0 1 first)
      string(SUBSTRING ${word} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND type ${first}${rest})
    endforeach()
    string(CONFIGURE "${each_file}\n" line @ONLY)
    string(APPEND each "${line}")
    string(CONFIGURE "${item}" line @ONLY)
    list(APPEND items "${line}")
  endforeach()
  list(JOIN items ", " items)
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${output} @ONLY CONTENT "// Made by ${folder}/CMakeLists.txt of ${files}.\n${text}")
endfunction()

# attune_shipped_files(OUTPUT HEADER FUNCTION FILES): the files of catalog/ that fit FILES as text, given by a function
# (a::b::F) that HEADER declares: std::span<const ShippedFile> F().
function(attune_shipped_files output header function files)
  file(GLOB found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/catalog/${files})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${found})
  set(items "")
  foreach(file ${found})
    cmake_path(GET file FILENAME name)
    file(READ ${file} text)
    string(APPEND items "    {\"${name}\", R\"shipped(${text})shipped\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/${output} @ONLY CONTENT
[[// Made of catalog/@files@.
#include "@header@"

std::span<const attune::ShippedFile> @function@() {
  static constexpr attune::ShippedFile kFiles[] = {
@items@  };
  return kFiles;
}
]])
endfunction()

# attune_module(NAME SOURCES ... DEPS ...): the static library attune_NAME of one folder of src/.
function(attune_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(attune_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(attune_${name} PUBLIC ${ARG_DEPS} PRIVATE attune_flags)
    target_include_directories(attune_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    attune_use_precompiled(attune_${name} attune_headers)
    attune_unity(attune_${name})
    # g++ 12 gives these falsely of std::string (GCC bugs 105329, 105651) where its header was precompiled.
    target_compile_options(attune_${name} PRIVATE
      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
  else()
    add_library(attune_${name} INTERFACE)
    target_link_libraries(attune_${name} INTERFACE ${ARG_DEPS})
    target_include_directories(attune_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  endif()
endfunction()

# attune_test(NAME SOURCES ... DEPS ... [LABELS ...]): one GoogleTest program, run by ctest as one test. The limit of its time ends
# what hangs, on a machine that hardly has a CPU for it, too.
# LABELS sanitize: also run under the address (`./dev test`) and thread sanitizer (`./dev test --full`); sanitize-full:
# under both in `./dev test --full` only. The targets `sanitize_tests` and `sanitize_full_tests` build them.
# LABELS soak: only in `./dev test --full`.
# Those that run under a sanitizer are a fifth of what there is to compile: the preset release leaves them out.
option(ATTUNE_UNIT_TESTS "Build the tests that also run under a sanitizer" ON)
if(ATTUNE_UNIT_TESTS)
  set(ATTUNE_NO_UNIT_TESTS OFF)
else()
  set(ATTUNE_NO_UNIT_TESTS ON)
endif()
add_custom_target(sanitize_tests)
add_custom_target(sanitize_full_tests DEPENDS sanitize_tests)
add_custom_target(fuzz_targets)
if(ATTUNE_TESTS)
  find_package(GTest REQUIRED)
  # What is tested is optimised, and in the asan preset checked and watched by the fuzzer. The tests themselves are not: that
  # halves the time they take to compile.
  add_library(attune_test_flags INTERFACE)
  target_link_libraries(attune_test_flags INTERFACE attune_flags GTest::gmock_main)
  target_compile_options(attune_test_flags INTERFACE -O0 $<$<BOOL:${ATTUNE_FUZZ}>:-fno-sanitize=fuzzer-no-link>)
  if(ATTUNE_PRECOMPILED_HEADERS)
    attune_precompiled_headers(attune_test_headers PROGRAM test_headers.h attune_test_flags)
  endif()
endif()
function(attune_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ATTUNE_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} attune_test_flags)
  attune_use_precompiled(${name} attune_test_headers)
  attune_unity(${name})
  attune_quick_link(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 3600 LABELS "${ARG_LABELS}"
    ENVIRONMENT "ATTUNE_BIN=${CMAKE_BINARY_DIR}/bin/attune;ATTUNE_SOURCE=${CMAKE_SOURCE_DIR};ATTUNE_BUILD=${CMAKE_BINARY_DIR}")
  if("sanitize" IN_LIST ARG_LABELS)
    add_dependencies(sanitize_tests ${name})
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${ATTUNE_NO_UNIT_TESTS})
    set_tests_properties(${name} PROPERTIES DISABLED ${ATTUNE_NO_UNIT_TESTS})
  elseif("sanitize-full" IN_LIST ARG_LABELS)
    add_dependencies(sanitize_full_tests ${name})
  endif()
endfunction()

# attune_bench(NAME SOURCES ... DEPS ...): one benchmark program that reports through bench/harness/figure.h; `./dev bench`
# runs everything in <build>/bench.
function(attune_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ATTUNE_BENCH)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} attune_bench_harness attune_flags)
  attune_quick_link(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()

# attune_fuzz(NAME SOURCES ... DEPS ...): one libFuzzer target, and a test of that name with the label fuzz; only under the asan
# preset. It starts from tests/fuzz/corpus/NAME, runs for ATTUNE_FUZZ_SECONDS (4), and keeps what it finds in build/fuzz.
function(attune_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ATTUNE_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} attune_flags)
  attune_quick_link(${name})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzz_targets ${name})
  set(found ${CMAKE_SOURCE_DIR}/build/fuzz)
  set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name})
  add_test(NAME ${name} COMMAND sh -c "mkdir -p ${found}/found/${name} ${found}/crashes ${corpus} && exec $<TARGET_FILE:${name}> \
    -max_total_time=\${ATTUNE_FUZZ_SECONDS:-4} -timeout=120 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix=${found}/crashes/${name}- ${found}/found/${name} ${corpus}")
  set_tests_properties(${name} PROPERTIES LABELS fuzz)
endfunction()

# ATTUNE_CLANG_OPENMP: a clang that builds OpenMP programs with LLVM's runtime; empty where there is none.
if(NOT DEFINED ATTUNE_CLANG_OPENMP)
  set(openmp_try ${CMAKE_BINARY_DIR}/CMakeFiles/openmp_try)
  file(WRITE ${openmp_try}.c "#include <omp.h>\nint main(void) {\n#pragma omp parallel\n  (void)omp_get_thread_num();\n  return 0;\n}\n")
  foreach(name clang-19 clang-14 clang)
    find_program(openmp_compiler ${name} NO_CACHE)
    if(openmp_compiler AND NOT ATTUNE_CLANG_OPENMP)
      execute_process(COMMAND ${openmp_compiler} -fopenmp=libomp ${openmp_try}.c -o ${openmp_try}
        RESULT_VARIABLE openmp_result OUTPUT_QUIET ERROR_QUIET)
      if(openmp_result EQUAL 0)
        set(ATTUNE_CLANG_OPENMP ${openmp_compiler} CACHE FILEPATH "clang with LLVM's OpenMP runtime")
      endif()
    endif()
    unset(openmp_compiler)
  endforeach()
endif()

# attune_clang_openmp(NAME SOURCE ... [OPTIONS ...]): a program or library of C or C++ that clang has compiled, with
# LLVM's OpenMP runtime, in the folder's build folder. Nothing where there is no such compiler.
function(attune_clang_openmp name)
  cmake_parse_arguments(ARG "" "" "SOURCES;OPTIONS" ${ARGN})
  if(NOT ATTUNE_CLANG_OPENMP)
    return()
  endif()
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${name})
  add_custom_command(OUTPUT ${file}
    COMMAND ${ATTUNE_CLANG_OPENMP} -fopenmp=libomp -Wall -Wextra -Werror ${ARG_OPTIONS} ${ARG_SOURCES} -o ${file} -lstdc++ -Wl,--build-id
    DEPENDS ${ARG_SOURCES} VERBATIM)
  string(MAKE_C_IDENTIFIER ${name} target)
  add_custom_target(clang_${target} ALL DEPENDS ${file})
endfunction()
