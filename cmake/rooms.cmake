# SPDX-License-Identifier: BSD-3-Clause

# unite_rooms(TARGET DIRECTORY APART SOURCE...): each room (directory) below DIRECTORY is compiled as one file, and standard
# headers once. Files that match APART are compiled alone.
function(unite_rooms target top apart)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <functional> <map> <numeric> <optional>
                            <span> <string> <unordered_map> <vector>)
  foreach(source ${ARGN})
    get_filename_component(room ${source} DIRECTORY)
    file(RELATIVE_PATH room ${top} ${room})
    if(NOT source MATCHES "${apart}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${room}")
    endif()
  endforeach()
endfunction()
