// Reads the format of a structural tag that writes each parameter between tags. Qwen3-Coder writes the arguments of a
// tool call in this form. Turns an object's schema into one tag per property.
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
  // The same amount of whitespace as between JSON tokens.
  blanks: "[ \\t\\n]{0,31}",
};

/**
 * Reads an object's schema and returns the format of its parameters.
 *
 * @param readFormat reads the structural tag that the schema is turned into
 */
export function readParameters(members: Members, readFormat: (placed: Placed) => Format): Format {
  const wanted = "a JSON Schema of an object";
  const { value, pointer } = members.required("json_schema", wanted);
  if (!isObject(value) || (value["type"] !== undefined && value["type"] !== "object"))
    throw malformed(pointer, wanted, value);
  // Safe cast: exact numbers occur only in schemas that are passed on unchanged.
  const schema = value as unknown as JsonObject;
  const refusal = parametersRefusal(schema);
  if (refusal !== null) {
    const why = "constrains all parameters together, but each is written separately";
    throw notExact(refusal.keyword, `${pointer}/${escaped(refusal.keyword)}`, why);
  }
  return placed(readFormat({ value: parametersTag(qwenMarks, schema), pointer }), pointer);
}

/** Replaces the locations in a format by locations in the original schema. */
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
