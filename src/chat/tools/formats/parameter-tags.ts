// What holds the parameters of a tool's calls to its schema, or the one text of a tool that takes a text to its rule.
import { textArgument } from "../../../domain/chat.ts";
import { parametersTag, wholeParameter } from "../../../domain/parameters/parameter-tags.ts";
import type { Json } from "../../../domain/trajectory.ts";
import type { CallableTool } from "../call-format.ts";
import { parameterMarks } from "./read-parameters.ts";
import { plainTextContent } from "./text-content.ts";

/** @param layout of one parameter, with its slots */
export function toolParameters(layout: string, { schema, textRule }: CallableTool): Json {
  const marks = parameterMarks(layout);
  if (textRule === undefined) return parametersTag(marks, schema);
  const content = plainTextContent(textRule);
  return wholeParameter(marks, { name: textArgument, isText: true, content });
}
