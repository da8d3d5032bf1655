# Helpers that every folder's CMakeLists.txt uses.

add_library(attune_flags INTERFACE)
target_compile_options(attune_flags INTERFACE -Wall -Wextra -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast> -Wno-missing-field-initializers
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>)
target_include_directories(attune_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)

# attune_module(NAME SOURCES ... DEPS ...): the static library attune_NAME of one folder of src/.
function(attune_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(attune_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(attune_${name} PUBLIC ${ARG_DEPS} PRIVATE attune_flags)
    target_include_directories(attune_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  else()
    add_library(attune_${name} INTERFACE)
    target_link_libraries(attune_${name} INTERFACE ${ARG_DEPS})
    target_include_directories(attune_${name} INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  endif()
endfunction()

# attune_test(NAME SOURCES ... DEPS ... [LABELS ...] [TIMEOUT seconds]): one GoogleTest program, run by ctest as one test.
# LABELS sanitize: also run under the address (`./dev test`) and thread sanitizer (`./dev test --full`); sanitize-full:
# under both in `./dev test --full` only. The targets `sanitize_tests` and `sanitize_full_tests` build them.
# LABELS soak: only in `./dev test --full`.
add_custom_target(sanitize_tests)
add_custom_target(sanitize_full_tests DEPENDS sanitize_tests)
add_custom_target(fuzz_targets)
function(attune_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ATTUNE_TESTS)
    return()
  endif()
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} attune_flags GTest::gmock_main)
  if(ATTUNE_FUZZ)
    # What is tested is checked and watched by the fuzzer, not the tests: they take a third of the time to compile.
    target_compile_options(${name} PRIVATE -O0 -fno-sanitize=fuzzer-no-link)
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
    ENVIRONMENT "ATTUNE_BIN=${CMAKE_BINARY_DIR}/bin/attune;ATTUNE_SOURCE=${CMAKE_SOURCE_DIR};ATTUNE_BUILD=${CMAKE_BINARY_DIR}")
  if("sanitize" IN_LIST ARG_LABELS)
    add_dependencies(sanitize_tests ${name})
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
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
endfunction()

# attune_fuzz(NAME SOURCES ... DEPS ...): one libFuzzer target; only under the asan preset. Corpus: tests/fuzz/corpus/NAME.
function(attune_fuzz name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(NOT ATTUNE_FUZZ)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} attune_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_dependencies(fuzz_targets ${name})
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
