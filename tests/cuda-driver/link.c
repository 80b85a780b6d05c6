// Linking: code is put one behind the other. What programs need of each other is the function `twice`.

#include <elf.h>

#include "standin.h"

static const char SHARED[] = "twice";

static void append(struct object *state, const void *data, size_t size) {
  state->text = realloc(state->text, state->size + size);
  memcpy(state->text + state->size, data, size);
  state->size += size;
}

EXPORT CUresult cuLinkCreate_v2(unsigned count, unsigned *options, void **values, handle *state) {
  char *info, *error;
  CALL();
  CURRENT();
  option_texts(count, options, values, &info, &error);
  struct object *made = new_object(LINK);
  append(made, LINKED, sizeof LINKED);
  append(made, &made->size, sizeof made->size);
  made->errors = error;
  *state = made;
  return 0;
}

// What PTX needs and has.
static CUresult add_ptx(struct object *state, const char *text) {
  CUresult wrong = check_ptx(text, state->errors);
  if (wrong) return wrong;
  state->needs |= strstr(text, SHARED) != NULL;
  for (text = strstr(text, ".visible .func"); text; text = strstr(text + 1, ".visible .func")) {
    const char *end = strchr(text, '\n'), *found = strstr(text, SHARED);
    state->has |= found && end && found < end;
  }
  return 0;
}

// What a cubin needs and has. Only one that can be relocated can be linked.
static CUresult add_cubin(struct object *state, const char *data) {
  const Elf64_Ehdr *header = (const void *)data;
  if (memcmp(data, ELFMAG, SELFMAG) || header->e_machine != EM_CUDA) return INVALID_IMAGE;
  if (header->e_type != ET_REL) {
    if (state->errors) strcpy(state->errors, "fatal   : Input file is not relocatable");
    return INVALID_IMAGE;
  }
  const Elf64_Shdr *sections = (const void *)(data + header->e_shoff);
  for (int i = 0; i < header->e_shnum; i++) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const Elf64_Sym *symbols = (const void *)(data + sections[i].sh_offset);
    const char *names = data + sections[sections[i].sh_link].sh_offset;
    for (size_t n = 0; n < sections[i].sh_size / sizeof *symbols; n++)
      if (!strcmp(names + symbols[n].st_name, SHARED)) symbols[n].st_shndx ? (state->has = 1) : (state->needs = 1);
  }
  return 0;
}

EXPORT CUresult cuLinkAddData_v2(handle state, unsigned kind, void *data, size_t size, const char *name, unsigned count,
                                 unsigned *options, void **values) {
  CALL();
  CURRENT();
  (void)name, (void)count, (void)options, (void)values;
  if (kind > 1) return INVALID_VALUE;
  CUresult wrong = kind ? add_ptx(state, data) : add_cubin(state, data);
  if (!wrong) append(state, data, size);
  return wrong;
}

EXPORT CUresult cuLinkComplete(handle state, void **cubin, size_t *size) {
  CALL();
  CURRENT();
  if (state->needs && !state->has) {
    if (state->errors) sprintf(state->errors, "error   : Undefined reference to '%s'", SHARED);
    return INVALID_IMAGE;
  }
  memcpy(state->text + sizeof LINKED, &state->size, sizeof state->size);
  *cubin = state->text;
  *size = state->size;
  return 0;
}

EXPORT CUresult cuLinkDestroy(handle state) {
  END();
  return delete_object(state, LINK);
}
