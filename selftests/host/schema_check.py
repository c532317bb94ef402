#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""Policy files against Documentation/policy.schema.json: the part of JSON Schema
that it uses. Prints what does not fit; exit status 1 if anything does not."""
import json
import re
import sys

import yaml

TYPES = {"object": dict, "array": list, "string": str, "integer": int}


def check(value, schema, root, where, bad):
    """Append to bad what is wrong with value."""
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].rsplit("/", 1)[1]], **schema}
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) for t in types):
        bad.append(f"{where}: {value!r} is no {' or '.join(types)}")
        return
    if "enum" in schema and value not in schema["enum"]:
        bad.append(f"{where}: {value!r} is none of {schema['enum']}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        bad.append(f"{where}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        bad.append(f"{where}: {value} is out of range")
    if isinstance(value, list):
        for i, item in enumerate(value):
            check(item, schema.get("items", {}), root, f"{where}[{i}]", bad)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        more = schema.get("additionalProperties", True)
        for key in schema.get("required", []):
            if key not in value:
                bad.append(f"{where}: lacks {key}")
        for key, item in value.items():
            if key in known:
                check(item, known[key], root, f"{where}.{key}", bad)
            elif more is False:
                bad.append(f"{where}: unknown key {key}")
            elif isinstance(more, dict):
                check(item, more, root, f"{where}.{key}", bad)


def main():
    with open("Documentation/policy.schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    bad = []
    for name in sys.argv[1:]:
        with open(name, encoding="utf-8") as f:
            check(yaml.safe_load(f), schema, schema, name, bad)
    print("\n".join(bad))
    return bool(bad)


sys.exit(main())
