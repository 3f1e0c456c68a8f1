/* SPDX-License-Identifier: Apache-2.0 */
/* Values with names, in one piece of bytes. */
#include "base/named_list.h"

#include <string.h>

struct entry {
    uint32_t bytes, value;
    uint16_t name;
    uint8_t type, elsewhere;
    uint32_t zero;
};
_Static_assert(sizeof(struct entry) == 16, "as in the header");

static uint32_t up8(uint32_t n)
{
    return (n + 7) / 8 * 8;
}

static struct entry entry_of(const struct named_value *v)
{
    uint32_t name = (uint32_t)strlen(v->name) + 1, value = v->elsewhere ? 0 : v->bytes;
    return (struct entry){ .bytes = (uint32_t)sizeof(struct entry) + up8(name) + up8(value),
                           .value = value,
                           .name = (uint16_t)name,
                           .type = v->type,
                           .elsewhere = v->elsewhere };
}

uint32_t named_list_size(const struct named_value *list, uint32_t n)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += entry_of(&list[i]).bytes;
    return bytes;
}

void named_list_pack(const struct named_value *list, uint32_t n, void *dst)
{
    uint8_t *at = dst;
    for (uint32_t i = 0; i < n; i++) {
        struct entry e = entry_of(&list[i]);
        memset(at, 0, e.bytes);
        memcpy(at, &e, sizeof(e));
        memcpy(at + sizeof(e), list[i].name, e.name);
        if (e.value)
            memcpy(at + sizeof(e) + up8(e.name), list[i].data, e.value);
        at += e.bytes;
    }
}

static const char *read_entry(const uint8_t *at, size_t size, struct named_value *ret, uint32_t *bytes)
{
    struct entry e;
    if (size < sizeof(e))
        return "ends in the middle of an entry";
    memcpy(&e, at, sizeof(e));
    uint64_t head = sizeof(e) + up8(e.name), want = head + ((uint64_t)e.value + 7) / 8 * 8;
    if (e.bytes > size || want != e.bytes)
        return "has an entry that is longer than the list, or than what it says";
    const char *name = (const char *)at + sizeof(e);
    if (e.name < 2 || name[e.name - 1] || strlen(name) + 1 != e.name)
        return "has an entry without a name";
    if (e.elsewhere > 1 || (e.elsewhere && e.value) || e.zero)
        return "has an entry that is of no kind";
    *ret = (struct named_value){
        .name = name, .type = e.type, .elsewhere = e.elsewhere, .bytes = e.value, .data = e.elsewhere ? NULL : at + head
    };
    *bytes = e.bytes;
    return NULL;
}

const char *named_list_read(const void *bytes, size_t size, struct named_value *ret, uint32_t most, uint32_t *n)
{
    const char *wrong = NULL;
    size_t at = 0;
    for (*n = 0; at < size && !wrong; ++*n) {
        uint32_t step = 0;
        if (*n == most)
            return "has too many entries";
        wrong = read_entry((const uint8_t *)bytes + at, size - at, &ret[*n], &step);
        at += step;
    }
    return wrong;
}
