# Compile settings shared by all our targets, and one function that makes a library of a folder.
find_package(Threads REQUIRED)

add_library(tessera_settings INTERFACE)
target_include_directories(tessera_settings INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(tessera_settings INTERFACE -Wall -Wextra -Wpedantic -Wno-gnu-statement-expression
  $<$<BOOL:${TESSERA_WERROR}>:-Werror> $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi> -fno-omit-frame-pointer
  # a result's bits must not depend on how the compiler joins multiplies and adds
  -ffp-contract=off)
target_link_libraries(tessera_settings INTERFACE Threads::Threads)
if(TESSERA_SANITIZE)
  target_compile_options(tessera_settings INTERFACE -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all
    # GCC sees uninitialised reads in std::optional and std::variant once the sanitizer has rewritten them
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(tessera_settings INTERFACE -fsanitize=${TESSERA_SANITIZE})
endif()

# tessera_folder_library(NAME FOLDER [LINK target...]): every .cpp of FOLDER (not of its subfolders)
# becomes static library NAME; its headers are checked to compile alone.
function(tessera_folder_library name folder)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.h)
  if(sources)
    add_library(${name} STATIC ${sources})
    target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${headers})
    target_link_libraries(${name} PUBLIC tessera_settings ${ARG_LINK})
  else()
    add_library(${name} INTERFACE)
    target_sources(${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${headers})
    target_link_libraries(${name} INTERFACE tessera_settings ${ARG_LINK})
  endif()
endfunction()
