# What `cmake --install BUILD --prefix WHERE` adds to what each folder installs of its own: completions, licences, pkg-config.
if(TARGET attune)
  set(completions ${CMAKE_BINARY_DIR}/completions)
  add_custom_command(OUTPUT ${completions}/attune ${completions}/_attune ${completions}/attune.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND attune completion bash > ${completions}/attune
    COMMAND attune completion zsh > ${completions}/_attune
    COMMAND attune completion fish > ${completions}/attune.fish
    DEPENDS attune VERBATIM)
  add_custom_target(attune_completions ALL DEPENDS ${completions}/attune)
  install(FILES ${completions}/attune DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completions}/_attune DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${completions}/attune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES LICENSE THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# cc program.c $(pkg-config --cflags --libs attune-probe)
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/attune-probe.pc.in attune-probe.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/attune-probe.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
