# SPDX-License-Identifier: Apache-2.0
# Runs PROGRAM with ARGS in the empty FOLDER, which must exit 0, and compares what it prints with EXPECTED.out and
# EXPECTED.err. With SORTED the lines of stdout are compared without their order, for programs whose lanes print as they
# come.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} ${ARGS} WORKING_DIRECTORY ${FOLDER} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code)
# ASan is told of the simulator's stacks and warns of them all the same.
string(REGEX REPLACE "==[0-9]+==WARNING: ASan doesn't fully support makecontext[^\n]*\n" "" err "${err}")
file(READ ${EXPECTED}.out expected_out)
file(READ ${EXPECTED}.err expected_err)
if(SORTED)
  foreach(text out expected_out)
    string(STRIP "${${text}}" lines)
    string(REPLACE "\n" ";" lines "${lines}")
    list(SORT lines)
    string(REPLACE ";" "\n" ${text} "${lines}")
  endforeach()
endif()
if(NOT code EQUAL 0 OR NOT "${out}" STREQUAL "${expected_out}" OR NOT "${err}" STREQUAL "${expected_err}")
  message(FATAL_ERROR "exit ${code}\nstdout:\n${out}\nexpected:\n${expected_out}\nstderr:\n${err}\nexpected:\n${expected_err}")
endif()
