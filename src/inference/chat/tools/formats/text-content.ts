// Returns formats that constrain a tool's text input to its rule, in each notation in which call formats write a text.
import { textArgument } from "../../../../base/domain/chat.ts";
import type { ConstraintRule } from "../../../../base/domain/constraint.ts";
import type { Json } from "../../../../base/domain/text/json.ts";

/** Returns a format for the text as it is, without quotes or escapes. */
export function plainTextContent(rule: ConstraintRule): Json {
  if (rule.kind === "grammar") return { type: "grammar", grammar: rule.text };
  return { type: "regex", pattern: patternOf(rule) };
}

/** Returns a format for a JSON object with the text as its only member. */
export function jsonTextContent(rule: ConstraintRule): Json {
  const begin = `{${JSON.stringify(textArgument)}: `;
  return { type: "tag", begin, content: jsonStringContent(rule), end: "}" };
}

/** Returns a format for the text as a JSON string. */
export function jsonStringContent(rule: ConstraintRule): Json {
  if (rule.kind === "grammar") {
    const content = { type: "grammar", grammar: rule.text, in_json_string: true };
    return { type: "tag", begin: '"', content, end: '"' };
  }
  const schema = { type: "string", pattern: `^(?:${patternOf(rule)})$` };
  return { type: "json_schema", json_schema: schema };
}

function patternOf(rule: ConstraintRule): string {
  return rule.kind === "regex" ? rule.pattern : "[\\s\\S]*";
}
