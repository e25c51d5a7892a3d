// Attributes of a span. Each convention takes the values that it understands. Values that no convention takes stay
// attributes of the stored call.
import {
  isExactList,
  isExactObject,
  parseExactJson,
  type ExactJson,
  type ExactJsonObject,
} from "../../base/domain/text/exact-json.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";

/** Maximum number of parts of a key that become nested objects. Conventions use at most eight. */
const partsMax = 12;

export class SpanAttributes {
  readonly #rest: Map<string, ExactJson>;

  constructor(attributes: JsonObject) {
    this.#rest = new Map(Object.entries(attributes));
  }

  has(key: string): boolean {
    return this.#rest.has(key);
  }

  /** Returns a value without taking it. */
  see(key: string): ExactJson | undefined {
    return this.#rest.get(key);
  }

  /** Takes the values of all these keys. Returns the value of the first key that exists; undefined if none does. */
  take(...keys: readonly string[]): ExactJson | undefined {
    const found = keys.map((key) => this.#rest.get(key)).find((value) => value !== undefined);
    for (const key of keys) this.#rest.delete(key);
    return found;
  }

  /** Takes a text; null if there is none. */
  text(...keys: readonly string[]): string | null {
    const value = this.take(...keys);
    return typeof value === "string" && value !== "" ? value : null;
  }

  number(...keys: readonly string[]): number | null {
    const value = this.take(...keys);
    return typeof value === "number" ? value : null;
  }

  /** Takes a value that a client may have written as JSON text. A text that is not JSON is returned unchanged. */
  parsed(...keys: readonly string[]): ExactJson | undefined {
    return parsedValue(this.take(...keys));
  }

  /** Takes the attributes below a prefix as nested objects and lists: `a.0.b` becomes `[{ b: … }]`. */
  nested(prefix: string): ExactJson | undefined {
    const entries: [readonly string[], ExactJson][] = [];
    for (const [key, value] of this.#rest) {
      if (!key.startsWith(`${prefix}.`)) continue;
      entries.push([key.slice(prefix.length + 1).split(".", partsMax), value]);
      this.#rest.delete(key);
    }
    return entries.length === 0 ? undefined : nest(entries);
  }

  /** Takes the list below a prefix; empty if there is none. */
  list(prefix: string): readonly ExactJsonObject[] {
    const value = this.nested(prefix);
    return value !== undefined && isExactList(value) ? value.filter((item) => isExactObject(item)) : [];
  }

  /** Attributes that were not taken. */
  get rest(): ExactJsonObject {
    return Object.fromEntries(this.#rest);
  }
}

/**
 * Parses a text that is a JSON object or list. Returns other values, and texts that are nested too deeply, unchanged.
 */
export function parsedValue(value: ExactJson | undefined): ExactJson | undefined {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value) || isDeep(value)) return value;
  try {
    return parseExactJson(value);
  } catch {
    // Not JSON, so the text itself is the value.
    return value;
  }
}

/** Maximum depth to which JSON in an attribute is nested; the same as that of request bodies. */
const depthMax = 64;

function isDeep(json: string): boolean {
  let depth = 0;
  let isText = false;
  for (let index = 0; index < json.length; index++) {
    const sign = json[index];
    if (isText && sign === "\\") index += 1;
    else if (sign === '"') isText = !isText;
    else if (!isText && (sign === "{" || sign === "[")) depth += 1;
    else if (!isText && (sign === "}" || sign === "]")) depth -= 1;
    if (depth > depthMax) return true;
  }
  return false;
}

function nest(entries: readonly (readonly [readonly string[], ExactJson])[]): ExactJson {
  const whole = entries.find(([parts]) => parts.length === 0);
  if (whole !== undefined) return whole[1];
  const groups = new Map<string, [readonly string[], ExactJson][]>();
  for (const [[first, ...others], value] of entries) {
    const group = groups.get(first) ?? [];
    groups.set(first, group);
    group.push([others, value]);
  }
  const names = [...groups.keys()];
  const valueOf = (name: string): ExactJson => nest(groups.get(name) ?? []);
  // The indices of a list may have gaps, so they only give the order.
  if (names.every((name) => /^\d+$/.test(name)))
    return names.toSorted((a, b) => Number(a) - Number(b)).map(valueOf);
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}
