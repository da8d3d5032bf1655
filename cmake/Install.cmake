# What `cmake --install BUILD --prefix WHERE` adds to what each folder installs of its own: completions, manual pages,
# documentation, what programs and plug-ins are built with.

# Everything that is installed: `./dev demo`, `./dev install` and `./dev package` build this, and no tests.
add_custom_target(product DEPENDS attune influxdb module_speedup module_energy module_resctrl module_topdown module_group attune_sqlite attune_counters attune_probe_shared attune_probe_static attune_flow)

# Completions and manual pages, which the program writes itself.
if(ATTUNE_RUNS_HERE)
  # Debian's zsh looks for the completions of packages elsewhere.
  set(zsh_folder ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  if(ATTUNE_DEBIAN)
    set(zsh_folder ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  endif()
  set(completions ${CMAKE_BINARY_DIR}/completions)
  add_custom_command(OUTPUT ${completions}/attune ${completions}/_attune ${completions}/attune.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND attune completion bash > ${completions}/attune
    COMMAND attune completion zsh > ${completions}/_attune
    COMMAND attune completion fish > ${completions}/attune.fish
    DEPENDS attune VERBATIM)
  install(FILES ${completions}/attune DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_attune DESTINATION ${zsh_folder})
  install(FILES ${completions}/attune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

  set(manuals ${CMAKE_BINARY_DIR}/manuals)
  add_custom_command(OUTPUT ${manuals}/attune.1.gz
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${manuals}
    COMMAND attune man --out ${manuals}
    COMMAND sh -c "gzip -9n ${manuals}/*.1"
    DEPENDS attune VERBATIM)
  install(DIRECTORY ${manuals}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  add_custom_target(attune_texts ALL DEPENDS ${completions}/attune ${manuals}/attune.1.gz)
  add_dependencies(product attune_texts)
endif()

install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT doc)
# Debian's packages have a file `copyright` instead.
if(NOT ATTUNE_DEBIAN)
  install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT dev)
endif()

# cc program.c $(pkg-config --cflags --libs attune-probe)
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/attune-probe.pc.in attune-probe.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/attune-probe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

# find_package(attune), then attune::probe, attune::probe_static, attune::counters or attune::flow, and attune_add_p2g()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/attune-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT attune FILE attune-targets.cmake NAMESPACE attune:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attune COMPONENT dev)
file(RELATIVE_PATH config_to_bin /${CMAKE_INSTALL_LIBDIR}/cmake/attune /${CMAKE_INSTALL_BINDIR})
configure_file(cmake/attune-config.cmake.in attune-config.cmake @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/attune-config.cmake ${CMAKE_BINARY_DIR}/attune-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attune COMPONENT dev)
