# cmake -DINPUT=file -DOUTPUT=file.cpp -DNAME=kName -DNAMESPACE=a::b -P EmbedFile.cmake: a file's bytes as a C++ array.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "// Made from a build product. Do not edit.
#include <cstddef>
namespace ${NAMESPACE} {
extern const unsigned char ${NAME}[];
extern const std::size_t ${NAME}Size;
alignas(8) const unsigned char ${NAME}[] = {${bytes}};
const std::size_t ${NAME}Size = sizeof ${NAME};
}  // namespace ${NAMESPACE}
")
