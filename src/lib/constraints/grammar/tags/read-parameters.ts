// Parameters between tags in a structural tag, as Qwen3-Coder writes the arguments of a call: the schema of an object as
// tags of its properties.
import {
  parametersRefusal,
  parametersTag,
  type ParameterMarks,
} from "../../../../base/domain/parameters/parameter-tags.ts";
import type { JsonObject } from "../../../../base/domain/text/json.ts";
import { escaped, isObject } from "../schema/document.ts";
import type { Format } from "./formats.ts";
import { malformed, notExact, type Members, type Placed } from "./members.ts";

const qwenMarks: ParameterMarks = {
  open: "<parameter=",
  middle: ">",
  behindKind: null,
  close: "</parameter>",
  // As many as may stand between the signs of JSON.
  blanks: "[ \\t\\n]{0,31}",
};

/** @param readFormat reads the formats that the schema becomes */
export function readParameters(members: Members, readFormat: (placed: Placed) => Format): Format {
  const wanted = "a JSON Schema of an object";
  const { value, pointer } = members.required("json_schema", wanted);
  if (!isObject(value) || (value["type"] !== undefined && value["type"] !== "object"))
    throw malformed(pointer, wanted, value);
  // Its numbers, which keep their digits, stand only where a schema is passed on.
  const schema = value as unknown as JsonObject;
  const refusal = parametersRefusal(schema);
  if (refusal !== null) {
    const why = "speaks of all parameters together, and each is written by itself";
    throw notExact(refusal.keyword, `${pointer}/${escaped(refusal.keyword)}`, why);
  }
  return placed(readFormat({ value: parametersTag(qwenMarks, schema), pointer }), pointer);
}

/** The format with the places of its schemas in the schema that it was made of. */
function placed(format: Format, place: string): Format {
  switch (format.kind) {
    case "constrained":
      return { ...format, place };
    case "sequence":
    case "choice":
      return { ...format, parts: format.parts.map((part) => placed(part, place)) };
    case "repeat":
      return { ...format, part: placed(format.part, place) };
    case "tag": {
      const name = format.begin.slice(qwenMarks.open.length, -qwenMarks.middle.length);
      return { ...format, content: placed(format.content, `${place}/properties/${escaped(name)}`) };
    }
    default:
      return format;
  }
}
