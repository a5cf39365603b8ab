# Writes the manual page of the ashlar command from what `ashlar --help` says. Part of the installation of the package.
# Needs: ashlar_command, the built program; ashlar_manual, the page to write; ashlar_version; ashlar_gzip.
execute_process(COMMAND ${ashlar_command} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\\" "\\e" help "${help}")
string(REPLACE "-" "\\-" help "${help}")
foreach(control . ')  # at the start of a line it would be a request
  string(REPLACE "\n${control}" "\n\\&${control}" help "${help}")
endforeach()
file(WRITE ${ashlar_manual} ".TH ASHLAR 1 \"\" \"ashlar ${ashlar_version}\" \"User Commands\"
.SH NAME
ashlar \\- run, record and tune programs on the ashlar allocator
.SH SYNOPSIS
.B ashlar
.I command
.RI [ options ]
.SH DESCRIPTION
.nf
${help}
.fi
.PP
.B ashlar
.I command
.B \\-\\-help
tells of one command and its options.
")
execute_process(COMMAND ${ashlar_gzip} -9nf ${ashlar_manual} COMMAND_ERROR_IS_FATAL ANY)
