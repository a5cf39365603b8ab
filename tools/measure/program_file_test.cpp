#include "tools/measure/program_file.hpp"

#include <bit>
#include <cstring>
#include <string_view>
#include <tests/support/test_folder.hpp>

#include <elf.h>
#include <gtest/gtest.h>

namespace ashlar::measure {
namespace {

using StaticProgram = support::TestFolder;

/// A program that no loader runs, with one note.
std::string program_with_note(std::string_view owner, std::uint32_t type) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Nhdr note{};
    char owner[4] = {};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  file.header.e_type = ET_EXEC;
  file.header.e_phoff = sizeof file.header;
  file.header.e_phentsize = sizeof file.segment;
  file.header.e_phnum = 1;
  file.segment.p_type = PT_NOTE;
  file.segment.p_offset = sizeof file.header + sizeof file.segment;
  file.note.n_type = type;
  file.note.n_namesz = sizeof file.owner;
  std::memcpy(file.owner, owner.data(), owner.size());
  return {reinterpret_cast<const char*>(&file), sizeof file};
}

TEST_F(StaticProgram, OfGoIsToldFromOthers) {
  constexpr std::uint32_t go_build = 4;
  const std::string go = program_with_note("Go", go_build);
  const auto effect_of = [&](const std::string& bytes) {
    support::write_file(path("program"), bytes);
    return effect_of_preload(path("program"), "/no/such/library.so");
  };
  EXPECT_EQ(effect_of(go), preload_effect::ignored_go);
  EXPECT_EQ(effect_of(program_with_note("Go", NT_GNU_BUILD_ID)), preload_effect::ignored_static);
  EXPECT_EQ(effect_of(program_with_note("GNU", go_build)), preload_effect::ignored_static);
  EXPECT_EQ(effect_of(go.substr(0, go.size() - 1)), preload_effect::ignored_static);
  EXPECT_NE(describe(preload_effect::ignored_go).find("does not call malloc"), std::string::npos);
}

/// A program that a loader runs, which has one symbol of that name, in that section.
std::string program_with_symbol(std::string_view name, Elf64_Section section) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Shdr sections[2] = {};
    Elf64_Sym symbol{};
    char name[16] = {};
  } file;
  const std::string head = program_with_note("", 0);
  std::memcpy(&file.header, head.data(), sizeof file.header);
  file.header.e_shoff = sizeof file.header + sizeof file.segment;
  file.header.e_shentsize = sizeof file.sections[0];
  file.header.e_shnum = 2;
  file.segment.p_type = PT_INTERP;
  file.sections[0].sh_type = SHT_DYNSYM;
  file.sections[0].sh_offset = file.header.e_shoff + sizeof file.sections;
  file.sections[0].sh_size = sizeof file.symbol;
  file.sections[0].sh_link = 1;
  file.sections[1].sh_offset = file.sections[0].sh_offset + sizeof file.symbol;
  file.symbol.st_shndx = section;
  std::memcpy(file.name, name.data(), name.size());
  return {reinterpret_cast<const char*>(&file), sizeof file};
}

using DynamicProgram = support::TestFolder;

TEST_F(DynamicProgram, ItsOwnMallocComesFirst) {
  const auto effect_of = [&](std::string_view name, Elf64_Section section) {
    support::write_file(path("program"), program_with_symbol(name, section));
    return effect_of_preload(path("program"), "/no/such/library.so");
  };
  EXPECT_EQ(effect_of("malloc", 1), preload_effect::ignored_own_malloc);
  EXPECT_EQ(effect_of("malloc", SHN_UNDEF), preload_effect::works);
  EXPECT_EQ(effect_of("malloc_trim", 1), preload_effect::works);
  EXPECT_NE(describe(preload_effect::ignored_own_malloc).find("malloc of its own"),
            std::string::npos);
}

}  // namespace
}  // namespace ashlar::measure
