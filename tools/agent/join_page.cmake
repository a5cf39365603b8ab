# Puts the agent's page into a C++ source. Run by the build: cmake -DINPUT=<page> -DOUTPUT=<file> -P join_page.cmake
cmake_minimum_required(VERSION 3.25)
file(READ "${INPUT}" text)
if(text MATCHES "\\)ashlar_page")
  message(FATAL_ERROR "the page holds ')ashlar_page', which ends the C++ string that it is put into")
endif()
file(WRITE "${OUTPUT}" "// Made by tools/agent/join_page.cmake from tools/agent/page/agent.html.
#include \"tools/agent/fleet_page.hpp\"

namespace ashlar::agent {
const std::string_view agent_page = R\"ashlar_page(${text})ashlar_page\";
}  // namespace ashlar::agent
")
