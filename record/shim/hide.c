/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/hide.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calls_generated.h"

#define CALL_NAME(name, number, base, large, parameters) "MPI_" #name,
static const char *const call_names[] = {RW_CALLS(CALL_NAME)};

struct file {
    const unsigned char *bytes;
    uint64_t size;
};

/* The list of calls is sorted. */
static int call_number(const char *name) {
    int low = 0, high = RW_CALL_COUNT - 1;
    while (low <= high) {
        int middle = (low + high) / 2, order = strcmp(name, call_names[middle]);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return -1;
}

static struct file map_file(const char *path) {
    struct file file = {NULL, 0};
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return file;
    if (fstat(descriptor, &status) == 0 && status.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes != MAP_FAILED)
            file = (struct file){bytes, (uint64_t)status.st_size};
    }
    close(descriptor);
    return file;
}

static int inside(const struct file *file, uint64_t offset, uint64_t bytes) {
    return offset <= file->size && bytes <= file->size - offset;
}

/* Mark the calls that a library defines under either name; 0 if the file cannot be understood. */
static int find_defined(const struct file *file, unsigned char defined[RW_CALL_COUNT]) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file->bytes;
    int found = 0;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shentsize != sizeof(ElfW(Shdr)) ||
        !inside(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(ElfW(Shdr))))
        return 0;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file->bytes + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const ElfW(Shdr) *section = &sections[i];
        if (section->sh_type != SHT_DYNSYM || section->sh_link >= header->e_shnum)
            continue;
        const ElfW(Shdr) *strings = &sections[section->sh_link];
        if (!inside(file, section->sh_offset, section->sh_size) ||
            !inside(file, strings->sh_offset, strings->sh_size) || strings->sh_size == 0 ||
            file->bytes[strings->sh_offset + strings->sh_size - 1] != 0)
            return 0;
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(file->bytes + section->sh_offset);
        for (uint64_t s = 0; s < section->sh_size / sizeof *symbols; s++) {
            if (symbols[s].st_shndx == SHN_UNDEF || symbols[s].st_name >= strings->sh_size)
                continue;
            const char *name = (const char *)file->bytes + strings->sh_offset + symbols[s].st_name;
            int call = call_number(name[0] == 'P' ? name + 1 : name);
            if (call >= 0)
                found = defined[call] = 1;
        }
    }
    return found;
}

/* A symbol with value 0 is not found by the loader. */
static void hide(const struct link_map *own, const unsigned char defined[RW_CALL_COUNT]) {
    ElfW(Sym) *symbols = NULL;
    const char *strings = NULL;
    const ElfW(Word) *hash = NULL;
    for (const ElfW(Dyn) *entry = own->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB)
            symbols = (ElfW(Sym) *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_STRTAB)
            strings = (const char *)entry->d_un.d_ptr;
        else if (entry->d_tag == DT_HASH)
            hash = (const ElfW(Word) *)entry->d_un.d_ptr;
    }
    if (!symbols || !strings || !hash)
        return;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)symbols & ~(page - 1);
    uint64_t count = hash[1]; /* as many chains as symbols */
    uintptr_t end = (uintptr_t)(symbols + count);
    if (mprotect((void *)first, end - first, PROT_READ | PROT_WRITE) != 0)
        return;
    for (uint64_t s = 0; s < count; s++) {
        const char *name = strings + symbols[s].st_name;
        int call = call_number(name[0] == 'P' ? name + 1 : name);
        if (call >= 0 && !defined[call])
            symbols[s].st_value = 0;
    }
    mprotect((void *)first, end - first, PROT_READ);
}

void rw_hide_missing(const void *own, const char *library_path) {
    unsigned char defined[RW_CALL_COUNT] = {0};
    Dl_info where;
    struct link_map *map = NULL;
    if (!dladdr1(own, &where, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return;
    struct file file = library_path ? map_file(library_path) : (struct file){NULL, 0};
    if (file.bytes) {
        int understood = find_defined(&file, defined);
        munmap((void *)(uintptr_t)file.bytes, file.size);
        if (!understood)
            memset(defined, 0, sizeof defined);
    }
    hide(map, defined);
}
