// Fills the templates of graders: `{{ item.x }}`, `{{ sample.output_text }}`, `{{ sample.output_json.x }}`.
import { quoted } from "../../base/domain/service-error.ts";
import { isJson, type Json, type JsonObject } from "../../base/domain/text/json.ts";

/** An answer to be graded, together with its item from the file. */
export interface Sample {
  readonly text: string;
  /** Tool calls of the answer, as in a chat answer. */
  readonly tools: readonly Json[];
}

export interface TemplateInput {
  readonly item: JsonObject;
  readonly sample: Sample;
}

export type TemplateError = "sample_parse_error" | "invalid_variable_error";

/** The reason why a template cannot be filled. */
export class TemplateFault extends Error {
  readonly kind: TemplateError;

  constructor(kind: TemplateError, message: string) {
    super(message);
    this.kind = kind;
  }
}

const reference = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** Returns the references in a template, without braces. */
export function referencesIn(template: string): readonly string[] {
  return [...template.matchAll(reference)].map(([, path]) => path);
}

/**
 * Replaces each reference by its value. A text is inserted as it is, any other value as JSON.
 *
 * @throws TemplateFault
 */
export function fillTemplate(template: string, input: TemplateInput): string {
  return template.replaceAll(reference, (_, path: string) => {
    const value = valueAt(path, input);
    return typeof value === "string" ? value : JSON.stringify(value);
  });
}

/** Returns true if a reference begins with a known variable. */
export function isKnownReference(path: string): boolean {
  return /^(item(\b|$)|sample\.(output_text|output_json|output_tools)\b)/.test(path);
}

function valueAt(path: string, { item, sample }: TemplateInput): Json {
  const [root, ...keys] = path.replaceAll(/\[\s*(?:'([^']*)'|"([^"]*)"|(\d+))\s*\]/g, ".$1$2$3").split(".");
  if (root === "item") return descend(item, keys, path);
  if (root !== "sample") throw unknown(path);
  const [variable, ...rest] = keys;
  if (variable === "output_text") return descend(sample.text, rest, path);
  if (variable === "output_tools") return descend([...sample.tools], rest, path);
  if (variable === "output_json") return descend(outputJson(sample), rest, path);
  throw unknown(path);
}

function outputJson({ text }: Sample): Json {
  if (!isJson(text)) throw new TemplateFault("sample_parse_error", "The answer is not JSON.");
  // Safe cast: parsed from JSON.
  return JSON.parse(text) as Json;
}

function descend(value: Json, keys: readonly string[], path: string): Json {
  let found: Json | undefined = value;
  for (const key of keys) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) throw unknown(path);
    // Safe cast: items of lists and of objects can both be read with a string as key.
    found = (found as JsonObject)[key];
  }
  if (found === undefined) throw unknown(path);
  return found;
}

function unknown(path: string): TemplateFault {
  return new TemplateFault("invalid_variable_error", `There is no value for ${quoted(path)}.`);
}
