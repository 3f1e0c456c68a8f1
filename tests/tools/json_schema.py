# SPDX-License-Identifier: Apache-2.0
"""As much of JSON schema (draft 7) as the schemas of this project use; an unknown keyword is an error, so that none is passed over."""

KEYWORDS = {"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "enum", "minimum"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}


def is_type(value, name):
    if isinstance(name, list):
        return any(is_type(value, one) for one in name)
    if name == "null":
        return value is None
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, where="$"):
    """A list of what is wrong."""
    unknown = set(schema) - KEYWORDS
    if unknown:
        return ["%s: keywords %s of the schema are not known" % (where, sorted(unknown))]
    if "type" in schema and not is_type(value, schema["type"]):
        return ["%s: %r is no %s" % (where, value, schema["type"])]
    wrong = []
    if "enum" in schema and value not in schema["enum"]:
        wrong.append("%s: %r is none of %s" % (where, value, schema["enum"]))
    if "minimum" in schema and value is not None and value < schema["minimum"]:
        wrong.append("%s: %r is below %r" % (where, value, schema["minimum"]))
    if isinstance(value, dict):
        known = schema.get("properties", {})
        wrong += ["%s: \"%s\" is missing" % (where, key) for key in schema.get("required", []) if key not in value]
        if schema.get("additionalProperties") is False:
            wrong += ["%s: \"%s\" is not in the schema" % (where, key) for key in value if key not in known]
        for key in value:
            if key in known:
                wrong += check(value[key], known[key], "%s.%s" % (where, key))
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            wrong += check(item, schema["items"], "%s[%d]" % (where, i))
    return wrong
