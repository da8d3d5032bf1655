# Debian's packages, one a component of what is installed, by `cpack` in a build of the preset `package` (./dev package).
if(NOT ATTUNE_DEBIAN)
  return()
endif()
set(ATTUNE_PACKAGE_CONTACT "attune authors <attune@noreply.invalid>" CACHE STRING "Maintainer that the packages name: NAME <MAIL>")
set(revision 1)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attune)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/StripArchives.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program probe counters sink dev doc)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${revision})
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${ATTUNE_PACKAGE_CONTACT})
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY =)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})

# attune_package(COMPONENT NAME SECTION SUMMARY TEXT): its names, and what Debian has in every package's doc folder.
set(same_version "(= ${PROJECT_VERSION}-${revision})")
string(TIMESTAMP package_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(cmake/debian/changelog.in debian/changelog @ONLY)
execute_process(COMMAND gzip -9nc ${CMAKE_BINARY_DIR}/debian/changelog OUTPUT_FILE ${CMAKE_BINARY_DIR}/debian/changelog.Debian.gz)
execute_process(COMMAND gzip -9nc ${CMAKE_SOURCE_DIR}/CHANGELOG.md OUTPUT_FILE ${CMAKE_BINARY_DIR}/debian/changelog.gz)
macro(attune_package component name section summary text)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${text}")
  install(FILES ${CMAKE_SOURCE_DIR}/cmake/debian/copyright ${CMAKE_BINARY_DIR}/debian/changelog.Debian.gz ${CMAKE_BINARY_DIR}/debian/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component})
endmacro()

attune_package(program attune utils "watcher of running parallel programs"
"attune watches a running parallel program (its hardware, its operating
system, its own code), finds what holds it back, and keeps all of it in one
recording that can be queried, plotted and handed on.

This package has the program with its page, manual pages and completions.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libattune-probe0 ${same_version}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "attune-sink-influxdb")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "attune-doc, libattune-dev")

attune_package(probe libattune-probe0 libs "library of attune inside observed programs"
"attune preloads this library into the programs that it observes; programs
that set markers for attune are linked with it. It needs the C library
alone.")

attune_package(counters libattune-counters0 libs "library of attune for programs that count events"
"Programs that count events of their regions, as cycles and page faults, are
linked with this library. It needs no attune that runs.")

attune_package(sink attune-sink-influxdb utils "sink of attune for InfluxDB and other databases"
"This plug-in hands what attune samples to InfluxDB, and to whatever else
reads its line protocol, while it is recorded.")
set(CPACK_DEBIAN_SINK_PACKAGE_DEPENDS "attune ${same_version}")

attune_package(dev libattune-dev libdevel "markers and plug-ins for attune, for development"
"Headers and libraries for programs that set markers for attune or count
events with it, for static programs that it shall observe, and for sensors
and sinks as plug-ins, with examples.")
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libattune-probe0 ${same_version}, libattune-counters0 ${same_version}")
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libattune-dev/examples COMPONENT dev
  PATTERN ${CMAKE_CURRENT_SOURCE_DIR}/examples/CMakeLists.txt EXCLUDE)

attune_package(doc attune-doc doc "documentation of attune"
"What attune measures and how, each format and interface, and how a slow
program is made faster with it.")
set(CPACK_DEBIAN_DOC_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOC_PACKAGE_SHLIBDEPS OFF)

include(CPack)
