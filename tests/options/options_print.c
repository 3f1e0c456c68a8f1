/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the tables of HTP options, a line per row with tabs between its columns, for options_doc.py. */
#include <stdio.h>

#include "backend/htp/htp_options.h"
#include "base/json.h"
#include "htp_extension/htp_params.h"

static const char *const moments[] = { "until finalize", "until the first execution", "any time" };

static void print_table(const struct htp_option_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct htp_option *row = &table->rows[i];

        printf("option\t%s\t%s\t%u\t%s\t%s\t%u\t%s\t%s\t%s\t%s\n", table->kind, table->prefix, row->number, row->name,
               row->allowed, row->arch, moments[row->moment],
               row->outcome == HTP_ACTS ? "acts"
                                        : "no "
                                          "effect",
               row->effect, row->test);
    }
}

static void print_limits(const struct json_field *field)
{
    if (field->kind == JSON_U32 || field->kind == JSON_F64 || field->kind == JSON_U32S)
        printf("%llu-%llu", (unsigned long long)field->min, (unsigned long long)field->max);
    for (size_t i = 0; field->names && field->names[i]; i++)
        printf("%s%s", i ? "," : "", field->names[i]);
}

static void print_fields(const struct json_field *fields, const char *path)
{
    static const char *const kinds[] = { "boolean", "integer", "integer", "number",   "string", "enum",
                                         "object",  "list",    "strings", "integers", "any" };
    char inner[128];

    for (; fields->key; fields++) {
        printf("json\t%s%s\t%s\t", path, fields->key, kinds[fields->kind]);
        print_limits(fields);
        printf("\t%s\t%s\n", fields->about ? fields->about : "", fields->test ? fields->test : "");
        if (!fields->sub)
            continue;
        snprintf(inner, sizeof inner, "%s%s/", path, fields->key);
        print_fields(fields->sub, inner);
    }
}

int main(void)
{
    print_table(&htp_device_options);
    print_table(&htp_context_options);
    print_table(&htp_graph_options);
    print_table(&htp_optimizations);
    print_table(&htp_power_options);
    print_table(&htp_memory_options);
    print_fields(htp_params_fields, "");
    return 0;
}
