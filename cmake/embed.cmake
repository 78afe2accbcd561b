# SPDX-License-Identifier: BSD-3-Clause
# Writes OUTPUT: the FILES as one C array with its digest. Used by lull_asset.
set(text "")
foreach(file IN LISTS FILES)
    file(READ "${file}" hex HEX)
    string(APPEND text "${hex}")
endforeach()
string(LENGTH "${text}" size)
math(EXPR size "${size} / 2")
# The digest is that of the joined bytes, so that they are joined in a file first.
file(WRITE "${OUTPUT}.txt" "")
foreach(file IN LISTS FILES)
    file(READ "${file}" part)
    file(APPEND "${OUTPUT}.txt" "${part}")
endforeach()
file(SHA256 "${OUTPUT}.txt" digest)
string(REGEX REPLACE "(................................)" "\\1\n    " text "${text}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
file(WRITE "${OUTPUT}" "#include \"report/asset.h\"\n\nstatic const unsigned char ${NAME}[] = {\n    ${text}0};\n\n"
     "const struct lull_asset lull_asset_${NAME} = {(const char *)${NAME}, ${size}, \"${digest}\"};\n")
