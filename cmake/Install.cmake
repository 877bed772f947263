# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: headers and libraries by component, what find_package and pkg-config read, and the program.
include(CMakePackageConfigHelpers)

get_property(made GLOBAL PROPERTY MILLRACE_MADE)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)
set(generated ${PROJECT_BINARY_DIR}/package)  # with headers.txt and needs.json, which tests/consumer reads

# A header comes with the last component that names it, else with core.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/include/millrace CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/millrace/*.h)
set(lines)
foreach(header ${headers})
  set(home core)
  foreach(component ${millrace_all})
    get_property(patterns GLOBAL PROPERTY MILLRACE_HEADERS_${component})
    foreach(pattern ${patterns})
      if(header MATCHES "${pattern}")
        set(home ${component})
      endif()
    endforeach()
  endforeach()
  if(home IN_LIST made)
    cmake_path(GET header PARENT_PATH folder)
    cmake_path(APPEND CMAKE_INSTALL_INCLUDEDIR millrace ${folder} OUTPUT_VARIABLE place)
    install(FILES ${PROJECT_SOURCE_DIR}/include/millrace/${header} DESTINATION ${place} COMPONENT millrace_${home})
    string(APPEND lines "${header} ${home}\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${generated}/headers.txt CONTENT "${lines}" @ONLY)

# pkg-config's file of a component: its own library, then what it stands on. A shared library carries what it stands on itself.
function(millrace_pkg_config component)
  get_property(needs GLOBAL PROPERTY MILLRACE_NEEDS_${component})
  list(TRANSFORM needs PREPEND millrace-)
  list(TRANSFORM needs REPLACE "_" "-")
  string(REPLACE "_" "-" name millrace-${component})
  set(requires ${needs})
  set(libs "-L\${libdir} -lmillrace_${component}")
  if(NOT BUILD_SHARED_LIBS)
    get_target_property(foreign millrace_component_${component} MILLRACE_FOREIGN)
    foreach(target ${foreign})
      millrace_known(${target} PC module)
      millrace_known(${target} LIBS flags)
      if(NOT module AND NOT flags)
        message(FATAL_ERROR "cmake/Libraries.cmake says of ${target} neither PC nor LIBS, so that nobody could link millrace::${component} by pkg-config")
      endif()
      list(APPEND requires ${module})
      string(APPEND libs " ${flags}")
    endforeach()
  endif()
  if(MILLRACE_SANITIZE)
    set(sanitize " -fsanitize=${MILLRACE_SANITIZE}")
  endif()
  list(REMOVE_DUPLICATES requires)
  list(JOIN requires " " requires)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE to_include)
  file(GENERATE OUTPUT ${generated}/${name}.pc CONTENT "libdir=\${pcfiledir}/..
includedir=\${pcfiledir}/${to_include}

Name: ${name}
Description: ${PROJECT_DESCRIPTION}: millrace::${component}
Version: ${PROJECT_VERSION}
Requires: ${requires}
Libs: ${libs}${sanitize}
Cflags: -I\${includedir}${sanitize}
")
  install(FILES ${generated}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT millrace_${component})
endfunction()

# What millraceConfig.cmake knows of each component.
set(records)
set(lines)
foreach(component ${millrace_all})
  get_property(needs GLOBAL PROPERTY MILLRACE_NEEDS_${component})
  set(libraries)
  if(component IN_LIST made)
    install(TARGETS millrace_component_${component} EXPORT millrace_${component}
      ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millrace_${component}
      LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT millrace_${component})
    install(EXPORT millrace_${component} NAMESPACE millrace:: FILE millrace_${component}.cmake DESTINATION ${package} COMPONENT millrace_${component})
    millrace_pkg_config(${component})
    if(NOT BUILD_SHARED_LIBS)
      get_target_property(libraries millrace_component_${component} MILLRACE_FOREIGN)
    endif()
  endif()
  millrace_with_needs(reachable ${component})
  list(JOIN reachable "\", \"" reachable)
  list(APPEND lines "\"${component}\": [\"${reachable}\"]")
  string(APPEND records "set(_millrace_${component}_needs ${needs})\nset(_millrace_${component}_libraries ${libraries})\n")
endforeach()
list(JOIN lines ",\n" lines)
file(CONFIGURE OUTPUT ${generated}/needs.json CONTENT "{${lines}}\n" @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/millraceConfig.cmake.in ${generated}/millraceConfig.cmake @ONLY)
set(compatible SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatible SameMinorVersion)
endif()
write_basic_package_version_file(${generated}/millraceConfigVersion.cmake COMPATIBILITY ${compatible})
install(FILES ${generated}/millraceConfig.cmake ${generated}/millraceConfigVersion.cmake DESTINATION ${package} COMPONENT millrace_base)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/Libraries.cmake RENAME millraceLibraries.cmake DESTINATION ${package} COMPONENT millrace_base)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT millrace_base)
