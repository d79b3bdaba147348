/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls by the place they came from: the return address, as an offset into the file it lies in. What function
 * and line that is, is found out after the run.
 */
#include "thread/sites.h"

#include <link.h>
#include <string.h>

#include "process/process.h"
#include "store/storage.h"
#include "thread/tables.h"

#define FIRST_SITE_SLOTS 1024u
#define MOST_SITE_SLOTS 65536u /* code that is made while it runs has no end of places */
#define MOST_MODULES 64u

/* The files known so far, for the whole process; the log of each thread names them in the same order. */
static struct {
    uintptr_t base, begin, end;
    char path[256];
} modules[MOST_MODULES];
static uint32_t module_count;
static int lock;

struct search {
    uintptr_t address, base, begin, end;
    const char *path;
};

static int look_into(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size;
    struct search *search = data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || search->address < begin || search->address - begin >= part->p_memsz)
            continue;
        search->base = info->dlpi_addr;
        search->begin = begin;
        search->end = begin + part->p_memsz;
        search->path = info->dlpi_name;
        return 1;
    }
    return 0;
}

static uint32_t module_of(uintptr_t address) {
    for (uint32_t i = 0; i < module_count; i++)
        if (address >= modules[i].begin && address < modules[i].end)
            return i;
    struct search search = {.address = address};
    if (module_count == MOST_MODULES || !dl_iterate_phdr(look_into, &search))
        return RW_MODULE_UNKNOWN;
    const char *path = search.path[0] ? search.path : rw_process.rank.executable;
    const size_t length = strnlen(path, sizeof modules->path - 1);
    memcpy(modules[module_count].path, path, length);
    modules[module_count].base = search.base;
    modules[module_count].begin = search.begin;
    modules[module_count].end = search.end;
    return module_count++;
}

const char *rw_file_of_code(const void *address) {
    rw_lock(&lock);
    const uint32_t module = module_of((uintptr_t)address);
    rw_unlock(&lock);
    return module == RW_MODULE_UNKNOWN ? NULL : modules[module].path;
}

/* Name in the thread's log the modules that it does not have yet. */
static void log_modules(struct rw_thread *thread) {
    while (thread->modules_logged < module_count) {
        const char *path = modules[thread->modules_logged].path;
        const uint64_t padded = (strlen(path) + 8) / 8 * 8, bytes = sizeof(struct rw_module) + padded;
        struct rw_chunk_header *run = thread->module_run;
        if (!run) {
            run = thread->full || !thread->stored ? NULL : rw_storage_take(RW_CHUNK_MODULES, 1, 0, NULL);
            if (!run)
                return;
            run->rank_chunk = thread->rank_chunk;
            rw_storage_publish(run);
            thread->module_run = run;
        }
        struct rw_module *module = (struct rw_module *)((char *)(run + 1) + run->used);
        module->path_bytes = (uint32_t)strlen(path);
        memcpy(module + 1, path, module->path_bytes);
        __atomic_store_n(&run->used, run->used + bytes, __ATOMIC_RELEASE);
        thread->modules_logged++;
    }
}
_Static_assert(MOST_MODULES * (sizeof(struct rw_module) + 264) <=
                   RW_CHUNK_BYTES - sizeof(struct rw_chunk_header),
               "all modules fit one chunk");

/* Where a place belongs: a direct-mapped memory of addresses in front of the table, which is keyed by file
 * and offset. */
static uint64_t hash_of(uint32_t module, uint32_t call, uint64_t offset) {
    return rw_mix(rw_mix(offset ^ (uint64_t)module << 48) ^ call) >> 20;
}

static struct rw_site_entry *find(struct rw_site_entry *table, uint64_t mask, uint32_t module, uint32_t call,
                                  uint64_t offset) {
    for (uint64_t slot = hash_of(module, call, offset);; slot++) {
        struct rw_site_entry *entry = &table[slot & mask];
        if (entry->count == 0 || (entry->module == module && entry->call == call && entry->offset == offset))
            return entry;
    }
}

static int grow(struct rw_thread *thread) {
    const uint64_t slots = thread->sites ? 2 * (thread->site_mask + 1) : FIRST_SITE_SLOTS;
    struct rw_chunk_header *run =
        slots > MOST_SITE_SLOTS
            ? NULL
            : rw_take_table(thread, RW_CHUNK_SITES, slots, sizeof(struct rw_site_entry), thread->site_tables);
    if (!run)
        return -1;
    struct rw_site_entry *table = (struct rw_site_entry *)(run + 1);
    for (uint64_t i = 0; thread->sites && i <= thread->site_mask; i++) {
        const struct rw_site_entry *old = &thread->sites[i];
        if (old->count)
            *find(table, slots - 1, old->module, old->call, old->offset) = *old;
    }
    rw_replace_table(thread->site_run, run);
    memset(thread->recent_sites, 0, sizeof thread->recent_sites); /* the old table is no longer mapped */
    thread->site_run = run;
    thread->sites = table;
    thread->site_mask = slots - 1;
    thread->site_tables++;
    return 0;
}

static struct rw_site_entry *entry_of(struct rw_thread *thread, unsigned call, uintptr_t address) {
    rw_lock(&lock);
    const uint32_t module = module_of(address);
    const uint64_t offset = module == RW_MODULE_UNKNOWN ? address : address - modules[module].base;
    log_modules(thread);
    rw_unlock(&lock);
    if ((!thread->sites || 4 * (thread->site_entries + 1) > 3 * (thread->site_mask + 1)) && grow(thread) != 0)
        return NULL;
    struct rw_site_entry *entry = find(thread->sites, thread->site_mask, module, call, offset);
    if (entry->count == 0) {
        entry->module = module;
        entry->call = (uint16_t)call;
        entry->offset = offset;
        thread->site_entries++;
    }
    return entry;
}

void rw_settle_site(struct rw_thread *thread) {
    struct rw_site_entry *site = thread->last_site;
    if (!site)
        return;
    site->bytes += thread->totals[site->call].bytes - thread->bytes_before_last;
    thread->last_site = NULL;
}

void rw_count_site(struct rw_thread *thread, unsigned call, uint64_t ticks) {
    rw_settle_site(thread);
    /* The frame of the outermost call: the caller's frame, and behind it where to return to. */
    const uintptr_t address = ((const uintptr_t *)thread->busy)[1];
    struct rw_recent_site *recent = &thread->recent_sites[rw_mix(address ^ (uint64_t)call << 48) >> 58];
    if (RW_UNLIKELY(recent->address != address || recent->call != call)) {
        struct rw_site_entry *entry = entry_of(thread, call, address);
        if (!entry)
            return;
        *recent = (struct rw_recent_site){address, call, entry};
    }
    recent->entry->ticks += ticks;
    recent->entry->count++;
    /* A call's bytes are counted after it has returned, which is now. */
    thread->last_site = recent->entry;
    thread->bytes_before_last = thread->totals[call].bytes;
}
