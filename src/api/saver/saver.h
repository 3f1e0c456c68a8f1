/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder behind libQnnSaver.so (private to api/saver). A call becomes a function of a C program, tensor data a piece
 * of a second file. One lock is held from saver_begin to saver_end; the program is complete after every call, so that a
 * client that dies leaves what it did up to then. */
#ifndef API_SAVER_H
#define API_SAVER_H

#include "QNN/QnnTypes.h"
#include "QNN/Saver/QnnSaver.h"
#include "api/errors.h"
#include "api/saver/saver_types.h"
#include "base/handle.h"
#include "base/str.h"

/* ---- the two files (saver_store.c) ------------------------------------------------------------------------------------ */

enum { SAVER_PATH_MAX = 4096, SAVER_NAME_MAX = 256, SAVER_GROUP = 64 /* calls of one function of the program */ };

struct saver_settings {
    char folder[SAVER_PATH_MAX];
    char program[SAVER_NAME_MAX], data[SAVER_NAME_MAX];
    bool timestamp, header, footer;
    uint32_t backend; /* whose custom settings are meant */
};

/* Numbers of what the program has, for its arrays. */
struct saver_numbers {
    unsigned calls, recording, tensors, buffers, objects[HANDLE_TYPE_COUNT];
};
extern struct saver_numbers saver_numbers;

void saver_default_settings(struct saver_settings *s);
const struct saver_settings *saver_settings(void);
enum status saver_open(const struct saver_settings *s); /* new files; a recording in progress goes on in them */
enum status saver_ready(void);                          /* opens the files with default settings unless there are some */
void saver_forget(void);                                /* the next recording begins anew */
void saver_close(void);
/* `former`: the numbers of the program without the call, which it has again when the call cannot be written. */
enum status saver_add_call(const char *text, const struct saver_numbers *former);
/* Where in the data file these bytes are; they are stored once. */
enum status saver_blob(const void *bytes, uint64_t size, uint64_t *offset);

void saver_program_head(struct str *s, const struct saver_settings *settings);
void saver_program_foot(struct str *s);
const char *saver_array(enum handle_type type); /* the array of the program that has these handles */

/* ---- objects (saver_objects.c) ---------------------------------------------------------------------------------------- */

/* What registered memory stands for: a part of one of the program's buffers. */
struct saver_memory {
    int fd; /* of the recorder, since clients may close theirs */
    unsigned buffer;
    uint64_t size;          /* of the buffer */
    uint64_t offset, bytes; /* the part */
    uint64_t device, file;  /* by which a buffer that is registered again is known */
};

/* Memory that a client asked the library for. */
struct saver_room {
    struct saver_room *next;
    max_align_t bytes[];
};

struct saver_object {
    enum handle_type type;
    unsigned number, recording;
    bool from_binary; /* ids of its tensors are those in the binary */
    bool fresh;       /* made by a call that is not recorded yet */
    void *handle, *log;
    struct saver_memory memory; /* HANDLE_MEM */
    struct saver_room *rooms;   /* HANDLE_GRAPH */
    struct saver_object *parent, *next;
};

/* `handle`: one that is there already, NULL to make one. */
struct saver_object *saver_object_new(enum handle_type type, struct saver_object *parent, void *handle);
void saver_objects_settle(bool recorded);                                          /* what is fresh stays, or goes */
struct saver_object *saver_object_find(const void *handle, enum handle_type type); /* NULL: none */
struct saver_object *saver_object_in_file(const struct saver_memory *m);           /* registered memory in the same file */
void saver_object_free(struct saver_object *o); /* and what was made from it */
bool saver_has_backends(void);

/* ---- one call (saver_call.c, saver_text.c) ---------------------------------------------------------------------------- */

enum saver_role { ROLE_DEFINE, ROLE_INPUT, ROLE_OUTPUT };

struct saver_call {
    const char *name;
    enum component component;
    enum status status;
    unsigned number, names, depth;
    struct str before, args, after;
    struct saver_numbers former; /* for a call that is not recorded */
    void *log, **ret, *ret_handle;
    bool question; /* its answer may be an error */
    unsigned wait; /* for so many contexts */
    /* of the tensors that are being written */
    enum saver_role role;
    bool foreign_ids;
    const Qnn_TensorV1_t *tensor;
    const struct saver_type *owner; /* of a custom config */
    const struct saver_memory *memory; /* of the next descriptor */
    Qnn_ContextHandle_t context;
    Qnn_GraphHandle_t graph;
};

void saver_begin(struct saver_call *c, const char *name, enum component component);
/* The handle of the object that the call is made on; NULL, and a status, unless it is one. */
struct saver_object *saver_on(struct saver_call *c, enum handle_type type, const void *handle);
struct saver_object *saver_maybe(struct saver_call *c, enum handle_type type, const void *handle); /* NULL is allowed */
void saver_text(struct saver_call *c, const char *text);  /* a string argument */
void saver_arg(struct saver_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void saver_value(struct saver_call *c, const struct saver_type *type, const void *object);
void saver_array_arg(struct saver_call *c, const struct saver_type *type, const void *objects, uint64_t n);
void saver_list_arg(struct saver_call *c, const struct saver_type *type, const void *list, uint64_t n);
void saver_configs(struct saver_call *c, const struct saver_type *type, const void *list); /* NULL-terminated */
void saver_bytes(struct saver_call *c, const void *bytes, uint64_t size);
/* A new object, whose handle goes to *handle when the call succeeds; the program gets its own. */
struct saver_object *saver_new(struct saver_call *c, enum handle_type type, struct saver_object *parent, void **handle);
struct saver_object *saver_add(struct saver_call *c, enum handle_type type, struct saver_object *parent, void *handle);
void saver_need(struct saver_call *c, const void *pointer, const char *name); /* an argument that cannot be NULL */
void saver_fail(struct saver_call *c, enum status st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Qnn_ErrorHandle_t saver_end(struct saver_call *c);
Qnn_ErrorHandle_t saver_end_free(struct saver_call *c, struct saver_object *o);
Qnn_ErrorHandle_t saver_end_dummy(struct saver_call *c); /* what was asked for is not known */

/* ---- memory (saver_memory.c) ------------------------------------------------------------------------------------------ */

/* The program's memory gets what is in the client's now. */
void saver_memory_in(struct saver_call *c, const struct saver_memory *m);
void saver_memory_close(struct saver_memory *m);

/* ---- text (saver_text.c) ---------------------------------------------------------------------------------------------- */

void saver_write(struct saver_call *c, struct str *out, const struct saver_type *type, const void *object);
void saver_write_array(struct saver_call *c, struct str *out, const struct saver_type *type, const void *objects,
                       uint64_t n);
void saver_write_list(struct saver_call *c, struct str *out, const struct saver_type *type, const void *list, uint64_t n);
void saver_write_string(struct str *out, const char *text);
void saver_write_handle(struct str *out, const void *handle);
void saver_write_blob(struct saver_call *c, struct str *out, const void *bytes, uint64_t size);

/* ---- sizes (saver_sizes.c) -------------------------------------------------------------------------------------------- */

enum { SAVER_RANK_MAX = 64 };

uint64_t saver_count_of(struct saver_call *c, const struct saver_field *f, const void *object);
uint64_t saver_bytes_of(uint32_t rank, const uint32_t *dims, Qnn_DataType_t type); /* 0: no such shape */
uint64_t saver_tensor_bytes(const Qnn_TensorV1_t *t);

#endif
