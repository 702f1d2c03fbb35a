# All of the library but for its bindings. Compiles loops.cpp once per instruction set. Sets
# MULTIPLANE_SOURCES, MULTIPLANE_LOOPS (objects) and MULTIPLANE_LEVELS (definitions for dispatch.cpp).
# Expects MULTIPLANE_FLAGS.
set(MULTIPLANE_LOOPS)
set(MULTIPLANE_SOURCES)
foreach(name budget centres check deform dispatch hyperplanes inverse kernel_learner kernel_machine learner
             libsvm merging projectron scoring support tiles)
  list(APPEND MULTIPLANE_SOURCES ${CMAKE_CURRENT_LIST_DIR}/${name}.cpp)
endforeach()

function(add_loops level)
  add_library(loops_${level} OBJECT ${CMAKE_CURRENT_LIST_DIR}/loops.cpp)
  target_compile_definitions(loops_${level} PRIVATE MP_LEVEL=${level})
  target_compile_options(loops_${level} PRIVATE ${MULTIPLANE_FLAGS} ${ARGN})
  set(MULTIPLANE_LOOPS ${MULTIPLANE_LOOPS} $<TARGET_OBJECTS:loops_${level}> PARENT_SCOPE)
endfunction()

# A Mac builds for another processor than its own, if asked to.
set(processor ${CMAKE_SYSTEM_PROCESSOR})
if(CMAKE_OSX_ARCHITECTURES)
  set(processor ${CMAKE_OSX_ARCHITECTURES})
endif()
if(processor MATCHES "^(x86_64|amd64|AMD64)$")
  add_loops(baseline)
  add_loops(avx2 -mavx2 -mfma)
  # GCC's own AVX-512 header trips over these warnings.
  add_loops(avx512 -mavx2 -mfma -mavx512f -Wno-uninitialized -Wno-maybe-uninitialized)
  set(MULTIPLANE_LEVELS MP_HAVE_X86)
elseif(processor MATCHES "^(aarch64|arm64|ARM64)$")
  add_loops(neon)
  set(MULTIPLANE_LEVELS MP_ONLY_LEVEL=loops_neon)
else()
  add_loops(baseline)
  set(MULTIPLANE_LEVELS MP_ONLY_LEVEL=loops_baseline)
endif()
